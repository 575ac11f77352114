/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory_group.h"
#include "base/control_group.h"
#include "base/text.h"

#include <stddef.h>
#include <string.h>

#define ROOMY (1ull << 30)

/* How a hierarchy names what is asked here. Arrays: pointers would be relocations, which
 * each program pays for. */
struct hierarchy {
	char controller[8]; /* in /proc/self/cgroup */
	char mount[24], limit[24], usage[24];
	char pinned[6][20]; /* rows of memory.stat that no pressure makes smaller */
};

static const struct hierarchy hierarchies[] = {
	{ "",
	  "/sys/fs/cgroup",
	  "memory.max",
	  "memory.current",
	  { "anon", "shmem", "unevictable", "kernel_stack", "pagetables",
	    "slab_unreclaimable" } },
	{ "memory",
	  "/sys/fs/cgroup/memory",
	  "memory.limit_in_bytes",
	  "memory.usage_in_bytes",
	  { "total_rss", "total_shmem", "total_unevictable" } },
};
#define HIERARCHIES (sizeof(hierarchies) / sizeof(hierarchies[0]))

/* ---- what it says ---- */

/* UINT64_MAX: "max", or no such group. */
static uint64_t group_number(const char *group, const char *name)
{
	char text[64];

	if (control_group_read(group, name, text, sizeof(text)) <= 0 || *text < '0' ||
	    *text > '9')
		return UINT64_MAX;
	return text_number(text);
}

static uint64_t stat_row(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
		if (!strncmp(text, name, n) && text[n] == ' ')
			return text_number(text + n + 1);
	return 0;
}

static uint64_t pinned_in(const struct hierarchy *h, const char *group)
{
	char text[4096];
	uint64_t sum = 0;

	if (control_group_read(group, "memory.stat", text, sizeof(text)) <= 0)
		return UINT64_MAX;
	for (size_t i = 0; i < sizeof(h->pinned) / sizeof(h->pinned[0]); i++)
		if (h->pinned[i][0])
			sum += stat_row(text, h->pinned[i]);
	return sum;
}

static uint64_t usage_in(const struct hierarchy *h, const char *group)
{
	return group_number(group, h->usage);
}

typedef uint64_t (*taken_fn)(const struct hierarchy *h, const char *group);

struct asked {
	const struct hierarchy *h;
	taken_fn taken;
};

static uint64_t left_in(const char *group, const void *arg)
{
	const struct asked *a = arg;
	uint64_t most = group_number(group, a->h->limit), now;

	if (most >= ROOMY)
		return UINT64_MAX;
	now = a->taken(a->h, group);
	return now < most ? most - now : 0;
}

static uint64_t least_of(taken_fn taken)
{
	uint64_t least = UINT64_MAX, left;

	for (size_t i = 0; i < HIERARCHIES; i++) {
		const struct hierarchy *h = &hierarchies[i];

		left = control_group_least(h->controller, h->mount, left_in,
					   &(struct asked){ h, taken });
		least = left < least ? left : least;
	}
	return least;
}

uint64_t memory_group_left(void)
{
	return least_of(usage_in);
}

uint64_t memory_group_room(void)
{
	return least_of(pinned_in);
}
