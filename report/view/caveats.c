/* SPDX-License-Identifier: Apache-2.0 */
/* Only what is true of this trace is said. */
#include "report/view/caveats.h"
#include "base/frame_text.h"
#include "report/out.h"
#include "report/units.h"
#include "report/view/pstats_table.h"
#include "report/view/trust.h"

#include <stdlib.h>

#define INFLATED 0.05 /* of a function's own time, by our own code */
#define NAMED    5u /* functions */
#define LATE     0.01 /* of the window */

struct saying {
	const struct screen *screen;
	unsigned said;
};

#define SAY(list, ...)                                      \
	do {                                                \
		fputs("- ", (list)->screen->out);           \
		screen_say((list)->screen, 2, __VA_ARGS__); \
		(list)->said++;                             \
	} while (0)

/* ---- what recording costs ---- */

/* How much our own code is in a function's own time, were it all of the cost of its own
 * calls and of those that it makes: the trace does not say how the two share a call's
 * cost, nor what the interpreter takes to tell us of a call. So it says which functions
 * are concerned, and not by how much. */
static double share_of_ours(const struct call_sums *s, double cost)
{
	return s->own > 0 ? cost / (double)s->own : 0;
}

/* ns of a call; what has no line is C. */
static double cost_of(const struct caveats *c, uint32_t row)
{
	const char *name = texts_get(&c->functions->names, row);
	const struct interpreter *i = &c->s->model.whose.python;

	return frame_place(name, strlen(name)) || text_starts_with(name, "nn.Module: ")
		       ? i->call_ns
		       : i->c_call_ns;
}

/* ns of each function's calls and of those that it makes, which are in its own time, and
 * of all; NULL: no memory. */
static double *count_costs(const struct caveats *c, double *all)
{
	const struct callers *f = c->functions;
	double *cost = calloc(f->n + 1, sizeof(*cost));

	for (uint32_t i = 0; cost && i < f->n; i++) {
		cost[i] = (double)f->row[i].sums.calls * cost_of(c, i);
		*all += cost[i];
	}
	for (size_t i = 0; cost && i < f->pairs_n; i++)
		cost[f->pair[i].caller] +=
			(double)f->pair[i].sums.calls * cost_of(c, f->pair[i].callee);
	return cost;
}

/* Writes "...: a.py:1(f), b.py:2(g), and 3 more". */
static void write_inflated(const struct caveats *c, const double *cost, FILE *out)
{
	const struct callers *f = c->functions;
	unsigned named = 0, more = 0;

	for (size_t i = 0; i < f->n && i < c->shown; i++) {
		uint32_t row = c->order[i];
		char *name;

		if (share_of_ours(&f->row[row].sums, cost[row]) < INFLATED)
			continue;
		if (named == NAMED) {
			more++;
			continue;
		}
		name = pstats_table_name(f, row);
		fprintf(out, "%s%s",
			named++ ? ", " : "of those above, these look slower by it: ",
			name ? name : "?");
		free(name);
	}
	if (more)
		fprintf(out, ", and %u more", more);
	if (!named)
		fputs("those above are hardly slower by it", out);
}

static void say_cost(struct saying *to, const struct caveats *c)
{
	double all = 0, *cost = count_costs(c, &all);
	uint64_t calls = 0;
	char *text = NULL;
	size_t len;
	FILE *out = cost && all > 0 ? open_memstream(&text, &len) : NULL;

	for (size_t i = 0; i < c->functions->n; i++)
		calls += c->functions->row[i].sums.calls;
	if (out)
		write_inflated(c, cost, out);
	if (out && !fclose(out))
		SAY(to,
		    "our own code took about %.0f ns of each call of a function, "
		    "%s of all %s, and the interpreter up to four times as "
		    "much to tell it; %s",
		    all / (double)calls, units_time(units_whole(all)),
		    out_count((int64_t)(calls & INT64_MAX)), text);
	free(text);
	free(cost);
}

/* ---- what is not there ---- */

static void say_missing(struct saying *to, const struct subject *s)
{
	const struct interpreter *i = &s->model.whose.python;
	double window = model_window(&s->model);

	if (i->seen && window > 0 && (double)i->late_us * 1e3 > LATE * window)
		SAY(to,
		    "calls of Python are recorded from %s after the begin on; of "
		    "those before, only what was not over then is there",
		    units_time(units_whole((double)i->late_us * 1e3)));
	if (i->deep)
		SAY(to,
		    "%s calls of Python lay more than 4,096 deep and are not "
		    "there",
		    out_count((int64_t)(i->deep & INT64_MAX)));
	if (i->away)
		SAY(to,
		    "another tool (cProfile, coverage, a debugger) had the profile "
		    "function of %s thread%s: calls there are not recorded meanwhile",
		    out_count((int64_t)(i->away & INT64_MAX)), i->away == 1 ? "" : "s");
}

/* ---- what the sums are of ---- */

enum thread_with { WITH_PYTHON = 1, WITH_OPERATORS = 2 };

static void say_threads(struct saying *to, const struct model *m)
{
	uint8_t *with = calloc(m->threads_n + 1, sizeof(*with));
	unsigned python = 0, operators = 0, alone = 0;

	for (size_t i = 0; with && i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];

		if (s->kind == SLICE_PYTHON)
			with[s->thread] |= WITH_PYTHON;
		else if (s->kind == SLICE_OP)
			with[s->thread] |= WITH_OPERATORS;
	}
	for (size_t i = 0; with && i < m->threads_n; i++) {
		python += !!(with[i] & WITH_PYTHON);
		operators += !!(with[i] & WITH_OPERATORS);
		alone += with[i] == WITH_OPERATORS;
	}
	if (python > 1)
		SAY(to,
		    "the functions are those of %u threads, added up: so are the times "
		    "in which threads wait",
		    python);
	if (alone && python)
		SAY(to,
		    "%u of the %u threads with operators run%s no Python, as "
		    "autograd's do: their times are in those of no function",
		    alone, operators, alone == 1 ? "s" : "");
	else if (operators > 1)
		SAY(to, "the operators are those of %u threads, added up", operators);
	free(with);
}

/* Python's own library starts them there, by fork or not. */
static bool has_processes(const struct callers *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (text_has(texts_get(&c->names, i), "multiprocessing/popen_"))
			return true;
	return false;
}

void caveats_print(const struct caveats *c, const struct screen *to)
{
	struct saying saying = { .screen = to };
	const struct subject *s = c->s;
	struct trust trust;

	trust_make(&trust, s);
	for (unsigned i = 0; i < trust.doubts; i++)
		SAY(&saying, "%s", trust.doubt[i]);
	say_cost(&saying, c);
	say_missing(&saying, s);
	say_threads(&saying, &s->model);
	if (s->operators.device)
		SAY(&saying,
		    "the CPU time of an operator is that of launching its work on the "
		    "GPU; one that waits for the GPU (aten::item, copies to the host) "
		    "has the waiting in it");
	if (has_processes(c->functions))
		SAY(&saying, "the program has several processes (multiprocessing): "
			     "these tables are of this one alone");
	if (c->choice)
		SAY(&saying,
		    "there are several traces, and proflaunch report shows the "
		    "others, too: %s",
		    c->choice);
	if (!saying.said)
		fputs("none\n", to->out);
}
