/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch::autograd::profiler::toggleCollectionDynamic(bool, const std::set<ActivityType>
 * &): the program's own switch for parts of a profile; it is ours as well.
 */
#include "agent/hooks/hook.h"
#include "agent/hooks/look.h"

#include <errno.h>
#include <stddef.h>

#define MOST 16 /* kinds of activity; a set with more is none of torch's */

enum { ACTIVITY_CPU = 0, ACTIVITY_CUDA = 2 };

/* libstdc++'s red-black tree, the same since GCC 3. */
struct node {
	int color;
	const struct node *parent, *left, *right;
	int value;
};

struct set {
	void *compare;
	struct {
		int color;
		const struct node *root, *first, *last;
	} header;
	size_t count;
};

void *hook_real_toggle, *hook_real_enable, *hook_real_prepare, *hook_real_disable;

static unsigned activities(const struct set *set)
{
	const struct node *waiting[MOST + 1];
	unsigned n = 0, what = 0, seen = 0;

	if (!set || set->count > MOST)
		return 0;
	waiting[n++] = set->header.root;
	while (n && seen++ <= 2 * MOST) {
		const struct node *at = waiting[--n];

		if (!at || n + 2 > MOST)
			continue;
		if (at->value == ACTIVITY_CPU)
			what |= HOOK_ACTIVITY_CPU;
		else if (at->value == ACTIVITY_CUDA)
			what |= HOOK_ACTIVITY_CUDA;
		waiting[n++] = at->left;
		waiting[n++] = at->right;
	}
	return what;
}

void hook_look_toggle(bool on, const void *set)
{
	int saved = errno;

	if (hook_to.toggle)
		hook_to.toggle(activities(set), on);
	errno = saved;
}

void hook_look_profile(const void *config, const void *set)
{
	int saved = errno;

	(void)config;
	hook_to.profile(activities(set), true);
	errno = saved;
}

void hook_look_profile_end(void)
{
	int saved = errno;

	hook_to.profile(0, false);
	errno = saved;
}
