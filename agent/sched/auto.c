/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules, in the order in which they win:
 *
 *  1  the program has torch.profiler of its own: its ProfilerStep#.
 *  2  a DataLoader and an optimizer: the begin of __next__, once an Optimizer.step has
 *     ended since the last boundary: that is where people write prof.step().
 *  3  an optimizer alone: the end of the first Optimizer.step since the last backward.
 *     The gate must flip now, so nobody can look ahead for a second one.
 *  4  a DataLoader alone: every __next__; where a zero_grad was seen, the first one after
 *     each.
 *  5  neither: bursts of backward; where a zero_grad was seen, the first backward after
 *     each.
 *
 * Events come one by one, so a rule is chosen before all is known. Three things make up
 * for that: an event that may still come is waited for, but never for ever; within the
 * first boundaries a better rule replaces a worse one; and rules 4 and 5, which say
 * "there is no optimizer", give way whenever one shows up. Numbers already given stay.
 */
#include "agent/sched/auto.h"

static bool is_learning(const struct auto_state *a)
{
	return a->boundaries < AUTO_LEARN;
}

static bool count_boundary(struct auto_state *a, enum auto_choice choice)
{
	a->choice = choice;
	a->boundaries++;
	a->updates = 0;
	a->waited = 0;
	return true;
}

static bool take_profiler_step(struct auto_state *a)
{
	if (a->choice == AUTO_BY_PROFILER)
		return count_boundary(a, AUTO_BY_PROFILER);
	if (!is_learning(a))
		return false;
	/* The first ProfilerStep# begins step 0 of torch's profiler and of ours: no
	 * boundary yet. */
	a->choice = AUTO_BY_PROFILER;
	return a->boundaries ? count_boundary(a, AUTO_BY_PROFILER) : false;
}

/* Where gradients are set to zero, a turn of the loop has come round: batches and
 * backwards without that are micro-batches. So many of them that nobody can mean it, and
 * zero_grad tells nothing. */
static bool new_turn(struct auto_state *a)
{
	bool turn = a->cleared || !a->clears;

	a->cleared = false;
	a->between = turn ? 0 : a->between + 1;
	if (a->between >= AUTO_PATIENCE)
		a->clears = false;
	return turn;
}

/* In how many turns an optimizer would have shown itself. The first update can be far
 * away where no zero_grad came before it; a compiled one shows no step ever. */
static unsigned updates_due(const struct auto_state *a, unsigned known)
{
	bool accumulates = known & AUTO_OPTIMIZER && a->backward_seen && !a->clears;

	return accumulates && !(known & AUTO_COMPILED) ? AUTO_PATIENCE : AUTO_HOLD;
}

/* Rules 4 and 5 say that there is no optimizer. Micro-batches look like that until the
 * first update, and so does a compiled optimizer: where one is likely, wait, but not for
 * ever. */
static bool nothing_better(struct auto_state *a, bool likely, unsigned known)
{
	bool turn = new_turn(a);

	if (!a->sure && likely && turn && ++a->waited >= updates_due(a, known))
		a->sure = true;
	return turn && (a->sure || !likely);
}

static bool take_next(struct auto_state *a, unsigned known)
{
	bool first = !a->loader;

	a->loader = true;
	if (a->choice == AUTO_BY_PROFILER)
		return false;
	if (a->choice == AUTO_BY_OPTIMIZER) {
		if (!is_learning(a))
			return false;
		a->choice = AUTO_BY_LOADER; /* that update came before the loop */
	}
	if (a->updates)
		return count_boundary(a, AUTO_BY_LOADER);
	if (a->choice == AUTO_BY_LOADER || first)
		return false;
	return nothing_better(a, known & AUTO_OPTIMIZER || a->batch_backward, known)
		       ? count_boundary(a, AUTO_BY_BATCH)
		       : false;
}

static bool take_update(struct auto_state *a)
{
	bool counts = a->backward_fresh || !a->backward_seen;

	a->backward_fresh = false;
	if (a->choice == AUTO_BY_PROFILER)
		return false;
	if (counts)
		a->updates++;
	else if (!a->updates)
		a->updates =
			a->loader; /* an update without a backward ends a batch, too */
	if (a->choice == AUTO_BY_BATCH || a->choice == AUTO_BY_BACKWARD)
		a->boundaries = 0; /* there is an optimizer after all: learn anew */
	if (a->loader && a->choice != AUTO_BY_OPTIMIZER) {
		a->choice = AUTO_BY_LOADER;
		if (!is_learning(a) || a->updates < AUTO_UPDATES)
			return false;
	}
	return counts ? count_boundary(a, AUTO_BY_OPTIMIZER) : false;
}

/* Checkpointing enters the engine again and again within one backward: an entry soon
 * after the last one, compared with the longest pause, belongs to the same burst. */
static bool new_burst(struct auto_state *a, uint64_t now)
{
	uint64_t gap = now - a->last_backward;
	bool first = !a->last_backward;

	a->last_backward = now;
	if (first)
		return false;
	a->long_gap -= a->long_gap / 16;
	if (gap > a->long_gap)
		a->long_gap = gap;
	return gap >= a->long_gap / 4;
}

/* What was sure while nothing was trained is so no more. */
static void begin_training(struct auto_state *a, unsigned known)
{
	a->batch_backward = true;
	if (known & AUTO_OPTIMIZER)
		a->sure = false;
}

static bool take_backward(struct auto_state *a, unsigned known, uint64_t now)
{
	bool burst = new_burst(a, now);

	a->backward_seen = a->backward_fresh = true;
	if (a->loader && !a->batch_backward)
		begin_training(a, known);
	if (a->loader || a->choice == AUTO_BY_PROFILER || a->choice == AUTO_BY_OPTIMIZER)
		return false;
	if (!burst && !a->clears) /* zero_grad tells turns apart better than time does */
		return false;
	return nothing_better(a, known & AUTO_OPTIMIZER, known)
		       ? count_boundary(a, AUTO_BY_BACKWARD)
		       : false;
}

bool auto_take(struct auto_state *a, enum auto_event event, unsigned known, uint64_t now)
{
	switch (event) {
	case AUTO_CLEAR:
		a->clears = a->cleared = true;
		return false;
	case AUTO_PROFILER_STEP:
		return take_profiler_step(a);
	case AUTO_NEXT:
		return take_next(a, known);
	case AUTO_UPDATE:
		return take_update(a);
	case AUTO_BACKWARD:
		return take_backward(a, known, now);
	}
	return false;
}

const char *auto_text(enum auto_choice choice)
{
	static const char *const text[AUTO_CHOICES] = {
		[AUTO_UNDECIDED] = "",
		[AUTO_BY_PROFILER] = "ProfilerStep# of the program's torch.profiler",
		[AUTO_BY_LOADER] = "DataLoader __next__ after Optimizer.step",
		[AUTO_BY_OPTIMIZER] = "Optimizer.step",
		[AUTO_BY_BATCH] = "DataLoader __next__",
		[AUTO_BY_BACKWARD] = "backward",
	};

	return text[choice];
}
