/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the jumping hooks of torch.def see before the real function runs: a backward, the
 * making of an optimizer, and the program's own torch.profiler with the activities that
 * it wants (a std::set<ActivityType>).
 */
#include "agent/hooks/enter.h"
#include "agent/hooks/hook.h"

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

/* Before the listener has found the real function each of the pointers is NULL. */
#define HOOK(id, symbol, look, real)           \
	const char hook_name_##id[] = #symbol; \
	void *real;
#include "agent/hooks/torch.def"
#undef HOOK

void hook_look_execute(void)
{
	int saved = errno;

	hook_to.backward();
	errno = saved;
}

/* Both string types begin with a pointer to their characters. */
void hook_look_usage(const void *event)
{
	int saved = errno;

	hook_to.usage(*(const char *const *)event);
	errno = saved;
}

/* The set of activities as HOOK_ACTIVITY_*. The tree is walked with a list of nodes still
 * to be seen; a set that is none (another release's, a tree that leads back to itself)
 * ends the walk by the number of nodes. */
static unsigned read_activities(const struct set *set)
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
		hook_to.toggle(read_activities(set), on);
	errno = saved;
}

void hook_look_profile(const void *config, const void *set)
{
	int saved = errno;

	(void)config;
	hook_to.profile(read_activities(set), true);
	errno = saved;
}

void hook_look_profile_end(void)
{
	int saved = errno;

	hook_to.profile(0, false);
	errno = saved;
}
