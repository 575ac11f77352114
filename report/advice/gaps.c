/* SPDX-License-Identifier: Apache-2.0 */
/* What are the long times between operators: another thread's turn in the interpreter, or
 * the program's own Python? */
#include "base/search.h"
#include "report/advice/blame.h"
#include "report/advice/called.h"
#include "report/advice/pauses.h"
#include "report/advice/phrase.h"
#include "report/advice/quiet.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/advice/verdict.h"

#include <stdlib.h>
#include <string.h>

#define US INT64_C(1000)

struct gaps {
	struct spans spans; /* of a sort, in time */
	struct blame blame; /* by what ended where they begin */
	size_t names; /* kinds of operators that did */
	size_t shorter; /* gaps that are too short by a little */
};

/* Keeps what is as long as wanted. */
static bool keep_gaps(struct gaps *g, const struct spans *quiet, int64_t least,
		      int64_t most)
{
	for (size_t i = 0; i < quiet->n; i++) {
		int64_t length = quiet->row[i].end - quiet->row[i].begin;

		g->shorter += length >= LOCK_SHORT_US * US && length < least;
		if (length >= least && length < most &&
		    !spans_add(&g->spans, quiet->row[i].begin, quiet->row[i].end))
			return false;
	}
	spans_join(&g->spans);
	return true;
}

/* Finds the operators that gaps come behind: a gap begins where one ends. */
static bool find_before(const struct facts *f, struct gaps *g)
{
	unsigned char *seen = calloc(f->m->texts.n + 1, 1);

	for (uint32_t i = 0; seen && i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];
		size_t at;

		if (s->kind != SLICE_OP ||
		    (s->parent != NO_ROW && f->m->slices[s->parent].kind == SLICE_OP))
			continue;
		at = SEARCH_FIRST(k, 0, g->spans.n, g->spans.row[k].begin >= s->end);
		if (at == g->spans.n || g->spans.row[at].begin != s->end)
			continue;
		g->names += !seen[s->name];
		seen[s->name] = 1;
		blame_add(&g->blame, i, g->spans.row[at].end - g->spans.row[at].begin);
	}
	if (!seen)
		return false;
	free(seen);
	return true;
}

/* After false, too, free_gaps. */
static bool make_gaps(struct facts *f, struct gaps *g, int64_t least, int64_t most)
{
	struct spans quiet = { 0 };
	bool fine = blame_start(&g->blame, f) && quiet_make(f, &quiet) &&
		    keep_gaps(g, &quiet, least, most) && find_before(f, g);

	spans_free(&quiet);
	if (fine)
		facts_measure(f, &g->spans);
	return fine;
}

/* The spans and the blame are always freed together. */
static void free_gaps(struct gaps *g)
{
	spans_free(&g->spans);
	blame_free(&g->blame);
}

/* ---- the interpreter's lock ---- */

static void say_lock(struct advice *a)
{
	ADVICE_SAY(
		a->why,
		"Python lets a thread that computes keep its lock for 5 ms at a time: so "
		"long an operator's caller waits for its next turn.");
	ADVICE_SAY(
		a->act,
		"move that thread's work to a process, or to code that releases the lock; "
		"sys.setswitchinterval(0.0005) makes each wait shorter");
}

/* Each wait of the thread that runs the steps is in the file. */
static bool recorded_lock(struct facts *f, struct advice *a)
{
	struct spans waits = { 0 };
	struct verdict v;
	uint32_t thread;
	bool fine = pauses_thread(f, &thread) &&
		    (thread == NO_ROW || pauses_add(f, SORT_LOCK, thread, &waits));

	facts_measure(f, &waits);
	v = verdict_of(f, BOUND_AT_LEAST, LOCK_PERCENT);
	if (fine && v.holds) {
		ADVICE_SAY(a->title, "Another thread holds Python's lock");
		ADVICE_SAY(
			a->seen,
			"the thread that runs the steps waits for it for %s a step, %s",
			phrase_time(v.median), verdict_steps(f, &v));
		say_lock(a);
		a->gain = v.median;
	}
	spans_free(&waits);
	return fine;
}

/* Who wants the lock waits for 5 ms before it may ask for it: such gaps are no shorter,
 * behind whatever operator, where a program's own pauses have any length, or one place.
 */
bool gaps_lock(struct facts *f, struct advice *a)
{
	struct gaps g = { .names = 0 };
	struct verdict v;
	bool fine;

	if (f->m->whose.waits)
		return recorded_lock(f, a);
	fine = make_gaps(f, &g, LOCK_LEAST_US * US, LOCK_MOST_US * US);
	v = verdict_of(f, BOUND_AT_LEAST, LOCK_PERCENT);
	if (fine && v.holds && g.names >= LOCK_NAMES &&
	    g.shorter * 100 <= g.spans.n * LOCK_SHORT_PERCENT) {
		ADVICE_SAY(a->title, "Another thread probably holds Python's lock");
		ADVICE_SAY(
			a->seen,
			"%.1f gaps of 5 ms or a little more a step behind %zu kinds of operators, "
			"together %s: %s",
			(double)g.spans.n / (double)f->n, g.names, phrase_time(v.median),
			verdict_steps(f, &v));
		say_lock(a);
		ADVICE_SAY(a->where, "%s", blame_place(&g.blame));
		a->gain = v.median;
	}
	free_gaps(&g);
	return fine;
}

/* ---- between the operators ---- */

/* Of a file with functions the one that most of it was spent in; without, or where no
 * function has half of it, the operators that it comes behind. */
static bool say_plain(const struct facts *f, const struct gaps *g,
		      const struct verdict *v, struct advice *a)
{
	struct called most;
	bool fine = called_most(f, &g->spans, g->blame.first[g->blame.most], &most);
	bool known = fine && most.name && most.percent >= PLAIN_FUNCTION_PERCENT;

	ADVICE_SAY(a->title, "The step spends time outside of operators");
	if (known)
		ADVICE_SAY(a->seen,
			   "%s a step in gaps above %u us, %s; %u %% of it in %s",
			   phrase_time(v->median), GAP_US, verdict_steps(f, v),
			   most.percent, phrase_name(most.name, PHRASE / 2));
	else
		ADVICE_SAY(a->seen, "%s a step in gaps above %u us, %s; most behind %s",
			   phrase_time(v->median), GAP_US, verdict_steps(f, v),
			   blame_place(&g->blame));
	ADVICE_SAY(
		a->why,
		"No operator and no loader runs there: it is Python of the program, its "
		"garbage collector, files, or waiting for others.");
	ADVICE_SAY(
		a->act, "%s",
		known ? "look at that function: what it computes each time, or element by element"
		: most.name
			? "--view python has the functions by their own time"
			: "look at the lines behind that operator; recorded with "
			  "--with-stack=full --c-calls, the file says which function it is");
	if (known)
		ADVICE_SAY(a->where, "%s", phrase_name(most.from, PHRASE / 2));
	a->gain = v->median;
	return fine;
}

bool gaps_plain(struct facts *f, struct advice *a)
{
	struct gaps g = { .names = 0 };
	struct verdict v;
	bool fine = f->e->steps->gpu || make_gaps(f, &g, GAP_US * US, INT64_MAX);

	if (!fine || f->e->steps->gpu) {
		free_gaps(&g);
		return fine;
	}
	v = verdict_of(f, BOUND_AT_LEAST, PLAIN_PERCENT);
	/* A file without operators says nothing of what lies between them. */
	if (v.holds && g.blame.all > 0 && g.blame.most != TEXT_NONE)
		fine = say_plain(f, &g, &v, a);
	free_gaps(&g);
	return fine;
}

/* ---- the garbage collector ---- */

/* Python's own frames are in files of torch.profiler with its stacks. */
static bool add_calls(const struct facts *f, struct spans *to)
{
	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];
		const char *name = slice_name(f->m, i);

		if (s->kind == SLICE_PYTHON &&
		    (text_starts_with(name, "<built-in function collect>") ||
		     !strcmp(name, "Python GC")) &&
		    !spans_add(to, s->begin, s->end))
			return false;
	}
	return true;
}

/* Where each collection is in the file, those are there that nobody has called for. All
 * threads wait for one, whichever it is on. */
bool gaps_collector(struct facts *f, struct advice *a)
{
	struct spans spans = { 0 };
	struct verdict v;
	bool all = f->m->whose.collections;
	bool fine = all ? pauses_add(f, SORT_COLLECTION, NO_ROW, &spans)
			: add_calls(f, &spans);

	spans_join(&spans);
	facts_measure(f, &spans);
	spans_free(&spans);
	v = verdict_of(f, BOUND_AT_LEAST, COLLECTOR_PERCENT);
	if (!fine || !v.holds)
		return fine;
	ADVICE_SAY(a->title, "Python collects garbage in each step");
	ADVICE_SAY(a->seen, "%s %s a step, %s",
		   all ? "collections take" : "gc.collect() takes", phrase_time(v.median),
		   verdict_steps(f, &v));
	ADVICE_SAY(
		a->why,
		"Each full collection walks all objects of the program, however little it frees.");
	ADVICE_SAY(
		a->act,
		"call gc.collect() once in many steps, and gc.freeze() before the loop%s",
		all ? "; gc.set_threshold(50000) makes those rarer that Python begins itself"
		    : "");
	a->gain = v.median;
	return true;
}
