/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a window's Python stacks, for its file's "proflaunch". */
#include "config/c_modules.h"
#include "writer/trace.h"

/* The counts of stacks; behind them is what is known of small objects. */
static const char *const names[PYTHON_OBJECTS] = {
	[PYTHON_CHECKED] = "checked",   [PYTHON_DISAGREED] = "disagreed",
	[PYTHON_CUT] = "cut",           [PYTHON_UNKNOWN] = "unknown",
	[PYTHON_UNPROVEN] = "unproven", [PYTHON_LINELESS] = "without the lock",
};

static uint64_t count_of(const struct trace *t, enum python_count what)
{
	return atomic_load(&((struct cycle_info *)t->info)->python[what]);
}

/* Since when they are recorded, from the window's begin on. */
static void put_objects(struct trace *t)
{
	const struct config *c = t->config;
	uint64_t since = count_of(t, PYTHON_OBJECTS);
	int64_t late = row_instant(&t->row, since) - t->row.begin_ns;

	if (!c->python_heap || c->malloc < MALLOC_SAMPLE)
		return;
	json_lit(&t->json, ", \"python objects\": ");
	if (!since) {
		json_text(&t->json,
			  count_of(t, PYTHON_UNSEEN) ? "{\"unseen\": true}" : "null");
		return;
	}
	json_text_number(&t->json, "{\"late_us\": ", late > 0 ? late / 1000 : 0);
	json_text(&t->json, count_of(t, PYTHON_EXCHANGED) ? ", \"exchanged\": true}"
							  : ", \"exchanged\": false}");
}

/* Nothing where no moment has two stacks. */
static void put_merges(struct json *j, const struct writer_merges *m)
{
	if (!(m->done + m->cut + m->unfit))
		return;
	json_text_unsigned(j, ", \"merged\": ", m->done);
	json_text_unsigned(j, ", \"apart, as one is cut\": ", m->cut);
	json_text_unsigned(j, ", \"apart, as they do not fit\": ", m->unfit);
}

/* Since when calls are recorded, from the window's begin on. */
static void put_functions(struct trace *t)
{
	uint64_t since = count_of(t, PYTHON_FUNCTIONS);
	int64_t late = row_instant(&t->row, since) - t->row.begin_ns;
	struct json *j = &t->json;

	if (t->config->python_stack != PYTHON_FULL)
		return;
	json_lit(j, ", \"python functions\": ");
	if (!since) {
		json_lit(j, "null");
		return;
	}
	json_text_unsigned(j, "{\"calls\": ", t->cycle.events[REC_FUNCTION]);
	json_text_number(j, ", \"late_us\": ", late > 0 ? late / 1000 : 0);
	json_text_unsigned(j, ", \"too deep\": ", count_of(t, PYTHON_DEEP));
	json_text_unsigned(j,
			   ", \"threads of another tool\": ", count_of(t, PYTHON_AWAY));
	json_lit(j, "}");
}

static void put_c_calls(struct trace *t)
{
	uint64_t since = count_of(t, PYTHON_C_CALLS);
	int64_t late = row_instant(&t->row, since) - t->row.begin_ns;
	struct json *j = &t->json;

	if (!*c_modules_of(t->config))
		return;
	json_lit(j, ", \"c calls\": ");
	if (!since) {
		json_lit(j, "null");
		return;
	}
	json_text_unsigned(j, "{\"calls\": ", t->cycle.events[REC_C_CALL]);
	json_text_number(j, ", \"late_us\": ", late > 0 ? late / 1000 : 0);
	json_lit(j, "}");
}

void python_counts(struct trace *t)
{
	struct json *j = &t->json;

	put_c_calls(t);
	if (!t->config->python_stack)
		return;
	json_lit(j, ", \"python stacks\": {");
	for (unsigned i = 0; i < PYTHON_OBJECTS; i++) {
		json_text(j, i ? ", \"" : "\"");
		json_text(j, names[i]);
		json_text_unsigned(j, "\": ", count_of(t, (enum python_count)i));
	}
	put_merges(j, &t->result->merges);
	json_lit(j, "}");
	put_objects(t);
	put_functions(t);
}
