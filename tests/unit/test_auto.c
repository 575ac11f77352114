/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sched/auto.h"
#include "tests/unit/unit.h"

#include <string.h>

/*
 * A story of events: P ProfilerStep# begins, N DataLoader __next__ begins, U an outermost
 * Optimizer.step ended, B backward begins (b: soon after the last one), o an optimizer
 * is known to be there. A bar says that a boundary is made just there, and only there.
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

static bool tell(struct auto_state *a, char event, bool optimizer, uint64_t *now)
{
	*now += event == 'b' ? 1 : 1000;
	switch (event) {
	case 'P':
		return auto_take(a, AUTO_PROFILER_STEP, optimizer, *now);
	case 'N':
		return auto_take(a, AUTO_NEXT, optimizer, *now);
	case 'U':
		return auto_take(a, AUTO_UPDATE, true, *now);
	default:
		return auto_take(a, AUTO_BACKWARD, optimizer, *now);
	}
}

START_TEST(stories_have_the_right_boundaries)
{
	struct auto_state a = { 0 };
	bool optimizer = false;
	char got[256] = "", *p = got;
	uint64_t now = 5;

	for (const char *s = stories[_i].story; *s; s++) {
		if (*s == '|')
			continue;
		*p++ = *s;
		optimizer |= *s == 'o' || *s == 'U';
		if (*s != ' ' && *s != 'o' && tell(&a, *s, optimizer, &now))
			*p++ = '|';
	}
	ck_assert_msg(!strcmp(got, stories[_i].story), "%s: %s instead of %s",
		      stories[_i].name, got, stories[_i].story);
	ck_assert_msg(a.choice == stories[_i].choice, "%s: chose %s", stories[_i].name,
		      auto_text(a.choice));
}
END_TEST

/* torch.compile(optimizer.step) makes no step marker: after a while batches count. */
START_TEST(an_optimizer_without_steps_is_not_waited_for_for_ever)
{
	struct auto_state a = { 0 };
	unsigned made = 0, first = 0;
	uint64_t now = 1;

	for (unsigned i = 0; i < 100; i++) {
		bool hit = tell(&a, 'N', true, &now);

		ck_assert(!tell(&a, 'B', true, &now));
		if (hit && !made++)
			first = i;
	}
	ck_assert_uint_eq(first, AUTO_HOLD);
	ck_assert_uint_eq(made, 100 - AUTO_HOLD);
	ck_assert_int_eq(a.choice, AUTO_BY_BATCH);
}
END_TEST

/* A boundary in between: what was waited for before it does not count behind it. */
START_TEST(each_boundary_is_waited_for_anew)
{
	struct auto_state a = { 0 };
	uint64_t now = 1;

	for (unsigned i = 0; i < AUTO_HOLD; i++)
		ck_assert(!tell(&a, 'N', true, &now));
	ck_assert(tell(&a, 'N', false, &now));
	ck_assert(!tell(&a, 'N', true, &now));
}
END_TEST

/* A checkpoint was written in between: the pauses that follow are short beside that. */
START_TEST(one_long_pause_does_not_end_all_steps)
{
	struct auto_state a = { 0 };
	uint64_t now = 1;
	unsigned made = 0;

	for (unsigned i = 0; i < 10; i++)
		tell(&a, 'B', false, &now);
	now += 1000000;
	for (unsigned i = 0; i < 300; i++)
		made += tell(&a, 'B', false, &now);
	ck_assert_uint_gt(made, 100);
	ck_assert(tell(&a, 'B', false, &now));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("auto");

	tcase_add_loop_test(tc, stories_have_the_right_boundaries, 0,
			    sizeof(stories) / sizeof(stories[0]));
	tcase_add_test(tc, an_optimizer_without_steps_is_not_waited_for_for_ever);
	tcase_add_test(tc, each_boundary_is_waited_for_anew);
	tcase_add_test(tc, one_long_pause_does_not_end_all_steps);
	return unit_run(tc, "auto");
}
