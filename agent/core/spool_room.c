/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much may be mapped: what the program would need for itself is its own, so where its
 * memory is limited ours is a small part of what is left.
 */
#include "agent/core/spool.h"
#include "base/text.h"
#include "base/unseen.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SHARE ((uint64_t)16) /* of what is left */
#define LEAST (2ull << 20)

/* Field n of /proc/self/statm, in bytes: 0 is all that is mapped, 5 data and stacks.
 * Without /proc nobody knows: then all counts as taken. */
static uint64_t taken_of(unsigned n)
{
	char text[256];
	const char *p = text;

	if (unseen_read("/proc/self/statm", text, sizeof(text)) <= 0)
		return UINT64_MAX;
	for (; n && (p = strchr(p, ' ')); n--)
		p++;
	return p ? text_number(p) * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;
}

static uint64_t left_of(uint64_t cap, uint64_t limit, uint64_t taken)
{
	uint64_t room = limit > taken ? (limit - taken) / SHARE : 0;

	return room < cap ? room : cap;
}

static uint64_t below_rlimit(uint64_t cap, int resource, unsigned field)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return cap;
	return left_of(cap, limit.rlim_cur, taken_of(field));
}

/* Data is what is private. */
static uint64_t ours_of(int resource)
{
	return spool.base && (resource == RLIMIT_AS || !spool.kept) ? spool.now : 0;
}

uint64_t spool_room_below(int resource, uint64_t bytes)
{
	uint64_t taken = taken_of(resource == RLIMIT_AS ? 0 : 5);
	uint64_t ours = ours_of(resource);
	uint64_t room = left_of(UINT64_MAX, bytes, taken > ours ? taken - ours : 0);

	return room < LEAST ? 0 : room;
}

uint64_t spool_room(uint64_t cap, uint64_t group)
{
	struct rlimit file;
	uint64_t all = cap;

	cap = below_rlimit(cap, RLIMIT_AS, 0);
	cap = below_rlimit(cap, RLIMIT_DATA, 5);
	if (group != UINT64_MAX)
		cap = left_of(cap, group, 0);
	if (!getrlimit(RLIMIT_FSIZE, &file) && file.rlim_cur < cap &&
	    file.rlim_cur >= LEAST)
		cap = file.rlim_cur; /* a lower limit: spool_place says -EFBIG */
	return cap == all ? cap : cap < LEAST ? 0 : cap & ~65535ull;
}
