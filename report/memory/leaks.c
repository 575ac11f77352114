/* SPDX-License-Identifier: Apache-2.0 */
/* Call sites that grow from step to step, and whether chance would do as much. */
#include "report/memory/marks.h"
#include "report/memory/resident.h"
#include "report/out.h"
#include "report/rises.h"
#include "report/trend.h"
#include "report/whose.h"

#include <inttypes.h>
#include <string.h>

static const char together[] = "(all call sites together; none alone grows that much)";

#define NOTED 3u /* named sites that levelled off, or may grow */

/* A site that is no leak, but worth a line. */
struct noted {
	const char *label;
	struct trend trend;
	int64_t growth;
};

/* A space that is being judged. */
struct judge {
	const struct memory_view *v;
	const struct memory_space *s;
	const struct leak_options *o;
	const char *path;
	FILE *out;
	const int64_t *numbers; /* numbers of the last steps, which are judged */
	size_t from, n;
	struct noted levelled[NOTED], unsure[NOTED];
	size_t levelled_n, unsure_n; /* how many there are, named or not */
};

static const char *space_name(const struct judge *j)
{
	return j->s->heap ? "the heap" : j->s->name;
}

/* ---- the error of a sample ---- */

/* e^x, for x from 0 to 40. */
static double power_of_e(double x)
{
	double p = 1 + x / 1024 + x * x / (2.0 * 1024 * 1024);

	for (int i = 0; i < 10; i++)
		p *= p;
	return p;
}

/* A block of s bytes is in the sample with the chance p = 1 - e^-x, x = s / distance. So
 * N bytes of such blocks are known to +- sqrt(N x s / (e^x - 1)): s / (e^x - 1) is the
 * distance for small blocks, 0 for large ones. Where sizes differ the small blocks
 * decide. */
static double sample_error(const struct judge *j, const struct memory_row *r)
{
	double distance = (double)j->v->model->heap->sample_bytes, x = 0;

	if (!j->s->estimated)
		return 0;
	if (r->allocs > 0)
		x = (double)r->bytes / (double)r->allocs / distance;
	if (x < 0.001)
		return distance;
	return x > 40 ? 0 : distance * x / (power_of_e(x) - 1);
}

/* ---- sites ---- */

static void note_site(struct noted *list, size_t *n, const struct noted *one)
{
	size_t at = *n < NOTED ? *n : NOTED - 1;

	if (*n >= NOTED && list[at].growth >= one->growth) {
		++*n;
		return;
	}
	for (; at && list[at - 1].growth < one->growth; at--)
		list[at] = list[at - 1];
	list[at] = *one;
	++*n;
}

static int64_t level_at(const struct judge *j, const int64_t *level, size_t i)
{
	return level[i < j->n ? i : j->n - 1];
}

static void print_leak(const struct judge *j, const int64_t *level, const char *label,
		       const struct trend *t, double error)
{
	size_t since = t->since, steps = j->n - since;
	int64_t growth = level[j->n - 1] - level[since];

	fprintf(j->out, "leak in %s: %s a step over %zu steps", space_name(j),
		out_bytes((int64_t)t->slope), steps);
	fprintf(j->out, ", %s held at the end of step %" PRId64 "\n  ",
		out_bytes(level[j->n - 1]), j->numbers[j->n - 1]);
	out_site(j->out, label, 2, 200);
	fputs("  live at the ends of steps", j->out);
	for (size_t i = 0; i < 6; i++) {
		size_t at = since + i * (steps - 1) / 5;

		if (!i || at != since + (i - 1) * (steps - 1) / 5)
			fprintf(j->out, "%s %" PRId64 ": %s", i ? "," : "",
				j->numbers[at], out_bytes(level_at(j, level, at)));
	}
	putc('\n', j->out);
	if (error > 0 && growth > 0)
		fprintf(j->out,
			"  sampled: the growth is right within +- %.0f %% in two of "
			"three cases\n",
			100 * rises_root(error / (double)growth));
}

/* Is the level a leak's? A level that has stopped rising, or cannot be told, is noted. */
static bool judge_level(struct judge *j, const int64_t *level, const char *label,
			double error, int64_t freed)
{
	bool sum_of_noted = label == together && (j->levelled_n || j->unsure_n);
	struct trend_of of = { .level = level,
			       .n = j->n,
			       .limit = (double)j->o->growth,
			       .error = error,
			       .churn = (double)freed / (double)j->s->steps_n,
			       .rough = j->s->counted };
	struct trend t = trend_find(&of);
	struct noted one = { label, t, level[j->n - 1] - level[0] };

	if (t.is == TREND_GROWS)
		print_leak(j, level, label, &t, error);
	else if (t.is == TREND_LEVELLED && !sum_of_noted)
		note_site(j->levelled, &j->levelled_n, &one);
	else if (t.is == TREND_UNSURE && !sum_of_noted)
		note_site(j->unsure, &j->unsure_n, &one);
	return t.is == TREND_GROWS;
}

/* Sums up all sites: many small ones leak, too. */
static struct memory_row sum_of_rows(const struct judge *j, int64_t *steps)
{
	const struct memory_table *t = &j->s->by_site;
	struct memory_row all = { .label = TEXT_NONE, .steps = steps };

	memset(steps, 0, MEMORY_STEPS * sizeof(*steps));
	for (size_t i = 0; i < t->n; i++) {
		all.allocs += t->rows[i].allocs;
		all.bytes += t->rows[i].bytes;
		all.freed += t->rows[i].freed;
		for (size_t k = 0; t->rows[i].steps && k < j->s->steps_n; k++)
			steps[k] += t->rows[i].steps[k];
	}
	return all;
}

/* Counts the rows that leak; 1 where only all of them together do. */
static unsigned report_sites(struct judge *j)
{
	static int64_t steps[MEMORY_STEPS];
	const struct memory_table *t = &j->s->by_site;
	struct memory_row all;
	unsigned found = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct memory_row *r = &t->rows[i];

		if (r->steps)
			found += judge_level(j, r->steps + j->from,
					     memory_label(j->v, r->label),
					     sample_error(j, r), r->freed);
	}
	if (found)
		return found;
	all = sum_of_rows(j, steps);
	return judge_level(j, steps + j->from, together, sample_error(j, &all),
			   all.freed);
}

/* Without call sites the live bytes are judged, by the lowest that the counters saw. */
static unsigned report_counted(struct judge *j)
{
	static int64_t level[MEMORY_STEPS];

	marks_of_counter(j->v, "Heap", "live bytes", j->v->steps_n - j->n, level);
	return judge_level(
		j, level, "(the whole heap: --malloc all or sample tells the call sites)",
		0, 0);
}

/* ---- spaces that cannot be judged ---- */

/* A lost allocation or free of any size, or a lost step, can make growth or hide it. */
static uint64_t lost_records(const struct judge *j)
{
	const struct model *m = j->v->model;

	return model_missing(
		m, m->dropped_steps + (j->s->heap ? m->dropped_heap : m->dropped_memory));
}

/* Counters are some ms apart: where most steps are shorter, these cannot be judged. */
static bool counters_too_far(const struct judge *j)
{
	return j->s->counted &&
	       (j->n > j->v->steps_n || !marks_are_close(j->v, j->v->steps_n - j->n));
}

/* The reason why this space cannot be judged; NULL = it can. */
static const char *find_unjudged_reason(const struct judge *j)
{
	const struct sites *h = j->v->model->heap;

	if (damage_is(&j->v->model->damage))
		return "part of the file could not be read";
	if (lost_records(j))
		return "records are missing";
	if (j->n < TREND_LEAST)
		return "it has too few steps";
	/* A window of proflaunch's own may have no allocation at all. */
	if (j->s->heap && h->mode == TEXT_NONE && !h->rows_n && !h->other.allocs)
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
	fprintf(j->out, ": cannot say whether %s leaks: %s", space_name(j), why);
	if (lost_records(j))
		fprintf(j->out,
			" (%s%s): record with a larger --buffer-mb, fewer active steps%s",
			j->v->model->late ? "up to " : "",
			out_count((int64_t)lost_records(j)),
			s->estimated ? ", or a larger --malloc-sample-kb"
			: s->heap    ? ", or --malloc sample"
				     : "");
	else if (j->n < TREND_LEAST)
		fprintf(j->out, " (%zu; %u tell, fewer than %u may not)", j->n,
			TREND_SURE, TREND_LEAST);
	putc('\n', j->out);
}

/* Prints what would help: as many more steps as the error of the growth asks for. */
static void print_unsure(const struct judge *j)
{
	size_t more = 0;
	bool known = true;

	for (size_t i = 0; i < j->unsure_n && i < NOTED; i++) {
		more = j->unsure[i].trend.more > more ? j->unsure[i].trend.more : more;
		known = known && j->unsure[i].trend.more;
	}
	out_text(j->out, j->path, 1000);
	fprintf(j->out, ": cannot say whether %s leaks: ", space_name(j));
	if (known)
		fprintf(j->out, "%zu steps more", more);
	if (j->s->estimated || j->s->counted)
		fprintf(j->out, "%s--malloc all", known ? ", or " : "");
	fputs(" would tell\n", j->out);
	for (size_t i = 0; i < j->unsure_n && i < NOTED; i++) {
		const struct noted *u = &j->unsure[i];

		fprintf(j->out, "  %s%s in %zu steps: ", u->growth > 0 ? "+" : "",
			out_bytes(u->growth), j->n);
		out_site(j->out, u->label, 4, 200);
	}
	if (j->unsure_n > NOTED)
		fprintf(j->out, "  ... and %s more\n",
			out_count((int64_t)(j->unsure_n - NOTED)));
}

static void print_levelled(const struct judge *j)
{
	for (size_t i = 0; i < j->levelled_n && i < NOTED; i++) {
		const struct noted *u = &j->levelled[i];
		size_t at = u->trend.since < j->n ? u->trend.since : j->n - 1;

		fprintf(j->out,
			"levelled off at step %" PRId64 " in %s, %s more than at "
			"step %" PRId64 ": ",
			j->numbers[at], space_name(j), out_bytes(u->growth),
			j->numbers[0]);
		out_site(j->out, u->label, 4, 200);
	}
}

/* ---- the verdict ---- */

static void print_verdict(const struct judge *j, size_t steps, unsigned found)
{
	out_text(j->out, j->path, 1000);
	if (found)
		fprintf(j->out, ": %u leak%s: steady growth of more than %s a step\n",
			found, found == 1 ? "" : "s", out_bytes(j->o->growth));
	else
		fprintf(j->out, ": no steady growth in %zu steps (limit %s a step)\n",
			steps, out_bytes(j->o->growth));
}

static size_t last_steps(const struct leak_options *o, size_t n)
{
	return o->steps && o->steps < n ? o->steps : n;
}

/* Returns the number of leaks; -1: it cannot be told. */
static int judge_space(struct judge *j)
{
	unsigned found;
	const char *why;

	j->n = last_steps(j->o, j->s->steps_n);
	j->from = j->s->steps_n - j->n;
	j->numbers = j->s->numbers + j->from;
	why = find_unjudged_reason(j);
	if (why) {
		print_unjudged(j, why);
		return -1;
	}
	found = j->s->counted ? report_counted(j) : report_sites(j);
	print_levelled(j);
	if (!found && j->unsure_n)
		print_unsure(j);
	return !found && j->unsure_n ? -1 : (int)found;
}

int leaks_print(const struct memory_view *v, const struct leak_options *o,
		const char *path, FILE *out)
{
	struct judge j = { .v = v, .o = o, .path = path, .out = out };
	unsigned found = 0;
	size_t steps = 0;
	bool sure = v->spaces_n != 0;

	whose_print_missing(v->model, out);
	whose_print(v->model, out);
	if (!v->spaces_n) {
		out_text(out, path, 1000);
		fputs(": cannot say whether memory leaks: it has no memory events\n",
		      out);
	}
	for (size_t i = 0; i < v->spaces_n; i++) {
		int n;

		j = (struct judge){
			.v = v, .s = &v->spaces[i], .o = o, .path = path, .out = out
		};
		n = judge_space(&j);
		sure = sure && n >= 0;
		found += n > 0 ? (unsigned)n : 0;
		steps = j.n > steps ? j.n : steps;
	}
	if (!v->options.device)
		found += resident_print(v, o, last_steps(o, v->steps_n), out);
	/* "No leak" is said only where all spaces asked about have been judged. */
	if (!found && !sure)
		return 2;
	print_verdict(&j, steps, found);
	return found != 0;
}
