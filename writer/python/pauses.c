/* SPDX-License-Identifier: Apache-2.0 */
/* A collection is written as torch.profiler writes it (record_python_gc_info), and says
 * what it found besides. The other two have categories of their own, which readers that
 * do not know them pass over. */
#include "writer/python/pauses.h"
#include "agent/core/names.h"
#include "writer/trace.h"

static enum pause_kind kind_of(const struct rec_python *r)
{
	return (enum pause_kind)(r->r.flags & PAUSE_KIND);
}

static void put_name(struct trace *t, const struct rec_python *r)
{
	const struct name *module;
	struct json *j = &t->json;

	switch (kind_of(r)) {
	case PAUSE_GC:
		json_lit(j, "python_function\",\"name\":\"Python GC");
		return;
	case PAUSE_IMPORT:
		json_lit(j, "python_import\",\"name\":\"import ");
		module = names_get(t->view, r->r.name);
		if (module)
			json_escaped(j, module->text, module->len);
		else
			json_lit(j, "?");
		return;
	default:
		json_lit(j, "python_gil\",\"name\":\"GIL wait");
	}
}

/* Nobody knows yet what one found that goes on behind the window. */
static void put_found(struct trace *t, const struct rec_python *r)
{
	json_text_unsigned(&t->json, "\"generation\":", r->generation);
	if (!read_is_open(&t->cycle, &r->r)) {
		json_text_unsigned(&t->json, ",\"collected\":", r->collected);
		json_text_unsigned(&t->json, ",\"uncollectable\":", r->uncollectable);
	}
	json_lit(&t->json, ",");
}

int pauses_put(struct trace *t, uint32_t tid, const struct rec_python *r)
{
	int64_t begin, end;
	struct json *j = &t->json;
	int err =
		row_place(&t->row, r->r.begin, read_end(&t->cycle, &r->r), &begin, &end);

	if (err)
		return err;
	json_lit(j, "{\"ph\":\"X\",\"cat\":\"");
	put_name(t, r);
	json_text_unsigned(j, "\",\"pid\":", t->pid);
	json_text_unsigned(j, ",\"tid\":", tid);
	slice_times(t, begin, end);
	json_lit(j, ",\"args\":{");
	if (kind_of(r) == PAUSE_GC)
		put_found(t, r);
	else if (r->r.flags & PAUSE_RAISED)
		json_lit(j, "\"raised\":true,");
	return 0;
}

static uint64_t count_of(const struct trace *t, enum python_count what)
{
	return atomic_load(&((struct cycle_info *)t->info)->python[what]);
}

/* null: it was asked for, and could not be had. */
static void put_count(struct trace *t, const char *key, enum pause_kind kind, bool known)
{
	json_text(&t->json, key);
	if (known)
		json_unsigned(&t->json, t->cycle.pauses[kind]);
	else
		json_lit(&t->json, "null");
}

void pauses_counts(struct trace *t)
{
	uint32_t wanted = t->config->python_events;
	uint64_t since = count_of(t, PYTHON_EVENTS);
	int64_t late = row_instant(&t->row, since) - t->row.begin_ns;
	struct json *j = &t->json;

	if (!wanted)
		return;
	json_lit(j, ", \"python events\": {\"late_us\": ");
	if (since)
		json_number(j, late > 0 ? late / 1000 : 0);
	else
		json_lit(j, "null");
	if (CONFIG_HAS(wanted, EVENTS_GC))
		put_count(t, ", \"collections\": ", PAUSE_GC, since);
	if (CONFIG_HAS(wanted, EVENTS_GIL))
		put_count(t, ", \"waits for the lock\": ", PAUSE_GIL,
			  count_of(t, PYTHON_LOCK));
	if (CONFIG_HAS(wanted, EVENTS_IMPORT))
		put_count(t, ", \"imports\": ", PAUSE_IMPORT, since);
	json_lit(j, "}");
}
