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

/* ---- where they are, if the listener does not know ---- */

/* A library of another name has torch inside. It is looked for again at each call, for
 * nothing keeps that library. */
static void find_elsewhere(void **real, void **other, const char *name)
{
	if (!*real || *real == *other)
		*real = *other = hook_next(name);
}

/* ---- who looks ---- */

void hook_look_execute(void)
{
	static void *other;
	int saved = errno;

	if (hook_to.backward)
		hook_to.backward();
	find_elsewhere(&hook_real_execute, &other, hook_name_execute);
	errno = saved;
}

/* Both string types begin with a pointer to their characters. */
void hook_look_usage(const void *event)
{
	static void *other, *older;
	int saved = errno;

	if (hook_to.usage)
		hook_to.usage(*(const char *const *)event);
	find_elsewhere(&hook_real_usage, &other, hook_name_usage);
	if (!hook_real_usage || hook_real_usage == older)
		find_elsewhere(&hook_real_usage, &older, hook_name_usage_old);
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
	static void *other;
	int saved = errno;

	if (hook_to.toggle)
		hook_to.toggle(read_activities(set), on);
	find_elsewhere(&hook_real_toggle, &other, hook_name_toggle);
	errno = saved;
}

/* Of a library that the listener knows one of the two may be missing: a form of another
 * release. */
void hook_look_profile(const void *config, const void *set)
{
	static void *enable, *prepare;
	int saved = errno;

	(void)config;
	if (hook_to.profile)
		hook_to.profile(read_activities(set), true);
	if (!hook_real_prepare || hook_real_prepare == prepare)
		find_elsewhere(&hook_real_enable, &enable, hook_name_enable);
	if (!hook_real_enable || hook_real_enable == enable)
		find_elsewhere(&hook_real_prepare, &prepare, hook_name_prepare);
	errno = saved;
}

void hook_look_profile_end(void)
{
	static void *other;
	int saved = errno;

	if (hook_to.profile)
		hook_to.profile(0, false);
	find_elsewhere(&hook_real_disable, &other, hook_name_disable);
	errno = saved;
}
