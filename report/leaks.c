/* SPDX-License-Identifier: Apache-2.0 */
#include "report/memory.h"
#include "report/out.h"

#include <inttypes.h>
#include <string.h>

/* One space while it is judged. */
struct judge {
	const struct memory_view *v;
	const struct memory_space *s;
	const struct leak_options *o;
	const char *path;
	FILE *out;
	size_t from; /* the first of the last steps */
};

static int64_t total_growth(const struct judge *j, const struct memory_row *r)
{
	return r->steps[j->s->steps_n - 1] - (j->from ? r->steps[j->from - 1] : 0);
}

/* Sampled: so much growth comes about by chance in one of twenty cases. A block counts
 * as at least one sampling distance, so N bytes are known to +- sqrt(N x distance). */
static bool beyond_chance(const struct judge *j, int64_t growth)
{
	return growth > 4 * j->v->model->heap->sample_bytes;
}

static bool leaks(const struct judge *j, const struct memory_row *r)
{
	int64_t growth;

	if (!r->steps)
		return false;
	for (size_t i = j->from; i < j->s->steps_n; i++) {
		growth = memory_growth(r, i);
		if (j->s->estimated ? growth < 0 : growth <= j->o->growth)
			return false;
	}
	if (!j->s->estimated)
		return true;
	growth = total_growth(j, r);
	return growth / (int64_t)j->o->steps > j->o->growth && beyond_chance(j, growth);
}

static double root(double n)
{
	double x = n > 1 ? n : 1;

	for (int i = 0; i < 64; i++)
		x = (x + n / x) / 2;
	return x;
}

static void print_leak(const struct judge *j, const struct memory_row *r,
		       const char *label)
{
	int64_t growth = total_growth(j, r), n = (int64_t)j->o->steps;
	const struct memory_space *s = j->s;

	fprintf(j->out, "leak in %s: %s a step, %s held at the end of step %" PRId64 "\n",
		s->heap ? "the heap" : s->name, out_bytes(growth / n),
		out_bytes(r->steps[s->steps_n - 1]), s->numbers[s->steps_n - 1]);
	fputs("  ", j->out);
	out_site(j->out, label, 2, 200);
	fputs("  growth in steps", j->out);
	for (size_t i = j->from; i < s->steps_n; i++)
		fprintf(j->out, "%s %" PRId64 ": %s", i > j->from ? "," : "",
			s->numbers[i], out_bytes(memory_growth(r, i)));
	putc('\n', j->out);
	if (s->estimated)
		fprintf(j->out,
			"  sampled: the growth is right within +- %.0f %% in two of "
			"three cases\n",
			100 * root((double)j->v->model->heap->sample_bytes /
				   (double)growth));
}

/* All sites together: many small ones leak, too. */
static bool sum(const struct judge *j, int64_t *steps, struct memory_row *all)
{
	const struct memory_table *t = &j->s->by_site;

	memset(steps, 0, MEMORY_STEPS * sizeof(*steps));
	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 0; t->rows[i].steps && k < j->s->steps_n; k++)
			steps[k] += t->rows[i].steps[k];
	*all = (struct memory_row){ .label = TEXT_NONE, .steps = steps };
	return leaks(j, all);
}

static unsigned judge(const struct judge *j)
{
	static int64_t steps[MEMORY_STEPS];
	const struct memory_table *t = &j->s->by_site;
	struct memory_row all;
	unsigned found = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct memory_row *r = &t->rows[i];

		if (!leaks(j, r))
			continue;
		found++;
		print_leak(j, r,
			   r->label == TEXT_NONE
				   ? "(outside operators)"
				   : texts_get(&j->v->model->texts, r->label));
	}
	if (!found && sum(j, steps, &all)) {
		found = 1;
		print_leak(j, &all,
			   "(all call sites together; none alone grows that much)");
	}
	return found;
}

/* Counters are some ms apart: a shorter step may have none of its own, and looks as if
 * nothing had grown in it. */
static bool counters_too_far(const struct judge *j)
{
	const struct model *m = j->v->model;
	uint32_t name = texts_find(&m->texts, "Heap");

	for (size_t i = 0; j->s->counted && i < m->steps_n; i++) {
		const struct step *step = &m->steps[i];
		bool any = step->number < j->s->numbers[j->from];

		for (size_t k = 0; !any && k < m->counters_n; k++)
			any = m->counters[k].name == name &&
			      m->counters[k].ts > step->begin &&
			      m->counters[k].ts <= step->end;
		if (!any)
			return true;
	}
	return false;
}

/* A lost allocation or free of any size, or a lost step, can make growth or hide it. */
static uint64_t lost(const struct judge *j)
{
	const struct model *m = j->v->model;

	return model_missing(
		m, m->dropped_steps + (j->s->heap ? m->dropped_heap : m->dropped_memory));
}

/* Why this space cannot be judged; NULL = it can. */
static const char *cannot(const struct judge *j)
{
	const struct sites *h = j->v->model->heap;
	bool older = j->s->heap && h->since != TEXT_NONE &&
		     !strcmp(texts_get(&j->v->model->texts, h->since), "start");

	if (lost(j))
		return "records are missing";
	/* What was live before the first step counts as its growth only when nothing was.
	 */
	if (j->s->steps_n < j->o->steps + older)
		return "it has too few steps";
	if (j->s->heap && !h->rows_n && !h->other.allocs)
		return "it has no call sites of the heap: record with --malloc all";
	if (counters_too_far(j))
		return "its counters are further apart than its steps: record with "
		       "--malloc all or sample";
	return NULL;
}

static void print_unjudged(const struct judge *j, const char *why)
{
	const struct memory_space *s = j->s;

	out_text(j->out, j->path, 1000);
	fprintf(j->out, ": cannot say whether %s leaks: %s",
		s->heap ? "the heap" : s->name, why);
	if (lost(j))
		fprintf(j->out,
			" (%s%s): record with a larger --buffer-mb, fewer active steps%s",
			j->v->model->late ? "up to " : "", out_count((int64_t)lost(j)),
			s->estimated ? ", or a larger --malloc-sample-kb"
			: s->heap    ? ", or --malloc sample"
				     : "");
	else if (s->steps_n <= j->o->steps)
		fprintf(j->out, " (%zu, for the last %u)", s->steps_n, j->o->steps);
	putc('\n', j->out);
}

static void print_verdict(const struct judge *j, unsigned found)
{
	uint64_t missing = model_missing(j->v->model, j->v->model->dropped);

	out_text(j->out, j->path, 1000);
	if (found)
		fprintf(j->out,
			": %u leak%s: live bytes grew in each of the last %u steps by more "
			"than %s\n",
			found, found == 1 ? "" : "s", j->o->steps,
			out_bytes(j->o->growth));
	else
		fprintf(j->out,
			": no leak: nothing grew in each of the last %u steps by more than "
			"%s\n",
			j->o->steps, out_bytes(j->o->growth));
	if (missing)
		fprintf(j->out,
			"  incomplete: %s records are missing; \"drops\" in the file says why\n",
			out_count((int64_t)missing));
}

int leaks_print(const struct memory_view *v, const struct leak_options *o,
		const char *path, FILE *out)
{
	struct judge j = { .v = v, .o = o, .path = path, .out = out };
	unsigned found = 0, judged = 0;

	if (!v->spaces_n) {
		out_text(out, path, 1000);
		fputs(": cannot say whether memory leaks: it has no memory events\n",
		      out);
	}
	for (size_t i = 0; i < v->spaces_n; i++) {
		const char *why;

		j.s = &v->spaces[i];
		j.from = j.s->steps_n > o->steps ? j.s->steps_n - o->steps : 0;
		why = cannot(&j);
		if (why) {
			print_unjudged(&j, why);
			continue;
		}
		judged++;
		found += judge(&j);
	}
	/* "No leak" is said of all that was asked about, or not at all. */
	if (!found && (!judged || judged < v->spaces_n))
		return 2;
	print_verdict(&j, found);
	return found != 0;
}
