/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sched/auto.h"
#include "tests/unit/unit.h"

#include <string.h>

/*
 * A story of events: P ProfilerStep# begins, N DataLoader __next__ begins, U an outermost
 * Optimizer.step ended, B backward begins (b: soon after the last one), z zero_grad
 * begins, o an optimizer is known to be there. A bar says that a boundary is made just
 * there, and only there.
 */
static const struct {
	const char *name, *story;
	enum auto_choice choice;
} stories[] = {
	{ "a loop with a DataLoader", "N BU N| BU N| BU N| BU N|", AUTO_BY_LOADER },
	{ "zero_grad came first", "N o BU N| BU N|", AUTO_BY_LOADER },
	{ "gradient accumulation", "NB NB NB NBU N| B NB NB NBU N| B NB NBU N|",
	  AUTO_BY_LOADER },
	{ "a GAN with two optimizers", "N BU BU N| BU BU N| BU BU N|", AUTO_BY_LOADER },
	{ "no DataLoader", "BU| BU| BU| BU|", AUTO_BY_OPTIMIZER },
	{ "zero_grad first, accumulation", "z B B BU|z B B BU|", AUTO_BY_OPTIMIZER },
	{ "zero_grad in a loop with a DataLoader", "NzBU N|zBU N|zBU N|",
	  AUTO_BY_LOADER },
	{ "no DataLoader, accumulation", "o B B BU| B B BU| B B BU|", AUTO_BY_OPTIMIZER },
	{ "parameter groups and sub-groups", "BU|UU BU|UU BU|UU BU|", AUTO_BY_OPTIMIZER },
	{ "backward cannot be seen", "U| U| U| U|", AUTO_BY_OPTIMIZER },
	{ "a closure in Optimizer.step", "N BU N| BU N| BU N|", AUTO_BY_LOADER },
	{ "GradScaler skipped a step", "N BU N| B N BU N| BU N|", AUTO_BY_LOADER },
	{ "a validation pass in between", "N BU N| BU N| N N N N N BU N| BU N|",
	  AUTO_BY_LOADER },
	{ "the next epoch", "N BU N| BU N| N BU N| BU N|", AUTO_BY_LOADER },
	{ "validation first, optimizer known", "o N N N N N N BU N| BU N|",
	  AUTO_BY_LOADER },
	{ "validation first, nothing known", "N N| N| N| N| BU N| BU N|",
	  AUTO_BY_LOADER },
	{ "inference", "N N| N| N| N|", AUTO_BY_BATCH },
	{ "backward alone", "B B| B| B|", AUTO_BY_BACKWARD },
	{ "backward in bursts", "B B| bb B| bbb B| b B| b B|", AUTO_BY_BACKWARD },
	{ "backward, then an optimizer", "B B| B|U| BU| BU|", AUTO_BY_OPTIMIZER },
	{ "backward, an optimizer, then a loader", "B B| B| B| B|U| N BU N| BU N|",
	  AUTO_BY_LOADER },
	{ "a profiler of its own", "P N BU P| N BU P| N BU P| N BU", AUTO_BY_PROFILER },
	{ "a profiler that came late", "N BU N| P| BU N P| BU N P|", AUTO_BY_PROFILER },
	{ "a profiler that came too late", "N BU N| BU N| BU N| P BU P N|",
	  AUTO_BY_LOADER },
	{ "a dummy step before the loop", "U| N BU N| BU N| BU N|", AUTO_BY_LOADER },
	{ "a loader long after the loop was known", "BU| BU| BU| BU| N N N BU| BU|",
	  AUTO_BY_OPTIMIZER },
	{ "data read first, then a loop without a loader",
	  "o N N N BU BU BU BU BU BU BU BU BU BU BU BU BU BU BU BU| BU| BU| BU|",
	  AUTO_BY_OPTIMIZER },
	{ "an update without a backward in a loop", "N BU N| U N| BU N|",
	  AUTO_BY_LOADER },
};

static bool tell(struct auto_state *a, char event, unsigned known, uint64_t *now)
{
	*now += event == 'b' ? 1 : 1000;
	switch (event) {
	case 'P':
		return auto_take(a, AUTO_PROFILER_STEP, known, *now);
	case 'N':
		return auto_take(a, AUTO_NEXT, known, *now);
	case 'U':
		return auto_take(a, AUTO_UPDATE, known | AUTO_OPTIMIZER, *now);
	case 'z':
		return auto_take(a, AUTO_CLEAR, known | AUTO_OPTIMIZER, *now);
	default:
		return auto_take(a, AUTO_BACKWARD, known, *now);
	}
}

START_TEST(stories_have_the_right_boundaries)
{
	struct auto_state a = { 0 };
	unsigned known = 0;
	char got[256] = "", *p = got;
	uint64_t now = 5;

	for (const char *s = stories[_i].story; *s; s++) {
		if (*s == '|')
			continue;
		*p++ = *s;
		if (strchr("oUz", *s))
			known = AUTO_OPTIMIZER;
		if (*s != ' ' && *s != 'o' && tell(&a, *s, known, &now))
			*p++ = '|';
	}
	ck_assert_msg(!strcmp(got, stories[_i].story), "%s: %s instead of %s",
		      stories[_i].name, got, stories[_i].story);
	ck_assert_msg(a.choice == stories[_i].choice, "%s: chose %s", stories[_i].name,
		      auto_text(a.choice));
}
END_TEST

/* Tells a story of events so often; returns how many boundaries there were, and in which
 * turn the first one was. */
static unsigned repeat(struct auto_state *a, const char *story, unsigned turns,
		       unsigned known, unsigned *first)
{
	static uint64_t now = 1;
	unsigned made = 0;

	for (unsigned i = 0; i < turns; i++)
		for (const char *s = story; *s; s++)
			if (tell(a, *s, known, &now) && !made++ && first)
				*first = i;
	return made;
}

/* torch.compile(optimizer.step) makes no step marker: after a while turns count. Without
 * torch.compile it is another optimizer, or none after all. */
static const struct {
	const char *story;
	unsigned known, hold;
	enum auto_choice choice;
} unseen[] = {
	{ "NB", AUTO_OPTIMIZER | AUTO_COMPILED, AUTO_HOLD, AUTO_BY_BATCH },
	{ "NB", AUTO_OPTIMIZER, AUTO_PATIENCE, AUTO_BY_BATCH },
	{ "NB", 0, AUTO_HOLD, AUTO_BY_BATCH },
	{ "N", AUTO_OPTIMIZER, AUTO_HOLD, AUTO_BY_BATCH },
	{ "B", AUTO_OPTIMIZER | AUTO_COMPILED, AUTO_HOLD, AUTO_BY_BACKWARD },
	{ "B", AUTO_OPTIMIZER, AUTO_PATIENCE, AUTO_BY_BACKWARD },
	{ "zB", AUTO_OPTIMIZER, AUTO_HOLD, AUTO_BY_BACKWARD },
	{ "zBBBB", AUTO_OPTIMIZER | AUTO_COMPILED, AUTO_HOLD, AUTO_BY_BACKWARD },
	{ "NzBNBNB", AUTO_OPTIMIZER | AUTO_COMPILED, AUTO_HOLD, AUTO_BY_BATCH },
};

START_TEST(an_optimizer_without_steps_is_not_waited_for_for_ever)
{
	unsigned hold = unseen[_i].hold, first = 0;
	struct auto_state a = { 0 };
	unsigned made =
		repeat(&a, unseen[_i].story, hold + 100, unseen[_i].known, &first);

	/* Of batches the first begins the loop. */
	ck_assert_uint_ge(first, hold - 1);
	ck_assert_uint_le(first, hold);
	ck_assert_uint_eq(made, hold + 100 - first);
	ck_assert_int_eq(a.choice, unseen[_i].choice);
}
END_TEST

/* Six updates, with thousands of micro-batches before each. */
static const struct {
	const char *before, *micro, *update;
	unsigned known;
} accumulations[] = {
	{ "", "B", "U", AUTO_OPTIMIZER },
	{ "z", "B", "U", AUTO_OPTIMIZER },
	{ "", "B", "Uz", AUTO_OPTIMIZER },
	{ "z", "B", "U", AUTO_OPTIMIZER | AUTO_COMPILED },
	{ "", "NB", "U", AUTO_OPTIMIZER },
	{ "", "NB", "Uz", AUTO_OPTIMIZER },
	{ "z", "NB", "U", AUTO_OPTIMIZER | AUTO_COMPILED },
};

START_TEST(micro_batches_are_no_steps)
{
	struct auto_state a = { 0 };
	unsigned made = 0;

	for (unsigned i = 0; i < 6; i++) {
		made += repeat(&a, accumulations[_i].before, 1, accumulations[_i].known,
			       NULL);
		made += repeat(&a, accumulations[_i].micro, 2000, accumulations[_i].known,
			       NULL);
		made += repeat(&a, accumulations[_i].update, 1, accumulations[_i].known,
			       NULL);
	}
	made += repeat(&a, "N", 1, AUTO_OPTIMIZER, NULL);
	ck_assert_uint_eq(made, 6);
}
END_TEST

/* Gradients were set to zero once, and never again. */
START_TEST(a_zero_grad_that_does_not_come_back_tells_nothing)
{
	unsigned known = AUTO_OPTIMIZER | AUTO_COMPILED;
	struct auto_state a = { 0 };

	repeat(&a, "z", 1, known, NULL);
	ck_assert_uint_eq(repeat(&a, "B", AUTO_PATIENCE, known, NULL), 0);
	ck_assert_uint_ge(repeat(&a, "B", 200, known, NULL), 200 - AUTO_HOLD);
}
END_TEST

/* A long validation pass made sure that there is no optimizer. */
START_TEST(training_after_a_long_validation_is_waited_for)
{
	struct auto_state a = { 0 };

	ck_assert_uint_eq(repeat(&a, "N", 100, AUTO_OPTIMIZER, NULL), 100 - AUTO_HOLD);
	ck_assert_uint_le(repeat(&a, "NB", 500, AUTO_OPTIMIZER, NULL), 1);
	ck_assert_uint_eq(repeat(&a, "UN", 1, AUTO_OPTIMIZER, NULL), 1);
}
END_TEST

/* A boundary in between: what was waited for before it does not count behind it. */
START_TEST(each_boundary_is_waited_for_anew)
{
	struct auto_state a = { 0 };
	uint64_t now = 1;

	for (unsigned i = 0; i < AUTO_HOLD; i++)
		ck_assert(!tell(&a, 'N', AUTO_OPTIMIZER, &now));
	ck_assert(tell(&a, 'N', 0, &now));
	ck_assert(!tell(&a, 'N', AUTO_OPTIMIZER, &now));
}
END_TEST

/* A checkpoint was written in between: the pauses that follow are short beside that. */
START_TEST(one_long_pause_does_not_end_all_steps)
{
	struct auto_state a = { 0 };
	uint64_t now = 1;
	unsigned made = 0;

	for (unsigned i = 0; i < 10; i++)
		tell(&a, 'B', 0, &now);
	now += 1000000;
	for (unsigned i = 0; i < 300; i++)
		made += tell(&a, 'B', 0, &now);
	ck_assert_uint_gt(made, 100);
	ck_assert(tell(&a, 'B', 0, &now));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("auto");

	tcase_add_loop_test(tc, stories_have_the_right_boundaries, 0,
			    sizeof(stories) / sizeof(stories[0]));
	tcase_add_loop_test(tc, an_optimizer_without_steps_is_not_waited_for_for_ever, 0,
			    sizeof(unseen) / sizeof(unseen[0]));
	tcase_add_loop_test(tc, micro_batches_are_no_steps, 0,
			    sizeof(accumulations) / sizeof(accumulations[0]));
	tcase_add_test(tc, a_zero_grad_that_does_not_come_back_tells_nothing);
	tcase_add_test(tc, training_after_a_long_validation_is_waited_for);
	tcase_add_test(tc, each_boundary_is_waited_for_anew);
	tcase_add_test(tc, one_long_pause_does_not_end_all_steps);
	return unit_run(tc, "auto");
}
