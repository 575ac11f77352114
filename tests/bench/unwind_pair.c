/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_pair DEPTH [WALKS] - what a walk over DEPTH frames costs, by us and by others.
 *
 * Half of the frames have frame pointers, half have not. All walk from the same place, in
 * turns of a few hundred walks each, and each figure is the best of its turns: what
 * others on the machine add is left out. Prints one line of JSON: ns per frame by each,
 * and the number of frames.
 */
#include "agent/core/clock.h"
#include "agent/core/thread.h"
#include "agent/unwind/unwind.h"
#include "tests/programs/unwind_peer.h"
#include "tests/unit/spool_open.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 50 };

static unsigned walks = 20000;
static uintptr_t pc[PEER_MOST];
static struct peer_list list;
static struct peer_room room;
static struct cycle_info info;

/* Each returns how many frames it has walked. */
static unsigned by_table(struct unwind_regs regs)
{
	return unwind_frames(regs, pc, PEER_MOST).depth;
}

static unsigned by_tables_read_anew(struct unwind_regs regs)
{
	return unwind_frames_fresh(regs, pc, PEER_MOST).depth;
}

static unsigned by_last_walk(struct unwind_regs regs)
{
	struct unwind_result u = { 0 };

	unwind_near(regs, &room.near, &u);
	return u.depth;
}

/* What malloc calls. */
static unsigned by_stack(struct unwind_regs regs)
{
	(void)regs;
	unwind_stack(&info, 0);
	return room.near.count + 1;
}

static unsigned by_libunwind(struct unwind_regs regs)
{
	(void)regs;
	peer_theirs(&list);
	return list.depth;
}

static unsigned by_libunwinds_fast_way(struct unwind_regs regs)
{
	(void)regs;
	return (unsigned)peer.backtrace((void **)pc, PEER_MOST);
}

static unsigned by_libgcc(struct unwind_regs regs)
{
	(void)regs;
	list.depth = 0;
	peer.witness(peer_frame, &list);
	return list.depth;
}

static const struct way {
	const char *name;
	unsigned (*walk)(struct unwind_regs);
} ways[] = { { "unw_step", by_libunwind }, { "unw_backtrace", by_libunwinds_fast_way },
	     { "libgcc", by_libgcc },      { "anew", by_tables_read_anew },
	     { "table", by_table },        { "last", by_last_walk },
	     { "stack", by_stack } };
enum { WAYS = sizeof(ways) / sizeof(*ways) };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static __attribute__((noinline)) void measure(void)
{
	double best[WAYS];
	unsigned frames = 0;

	for (unsigned turn = 0; turn <= TURNS; turn++)
		for (unsigned way = 0; way < WAYS; way++) {
			double from = now(), took;

			for (unsigned i = 0; i < walks / TURNS; i++)
				frames = ways[way].walk(UNWIND_CALLER);
			took = (now() - from) / (walks / TURNS) / frames;
			if (turn < 2 || took < best[way]) /* the first one warms up */
				best[way] = took;
		}
	printf("{\"frames\": %u", unwind_frames(UNWIND_CALLER, pc, PEER_MOST).depth);
	for (unsigned way = 0; way < WAYS; way++)
		printf(", \"%s\": %.2f", ways[way].name, best[way]);
	printf("}\n");
}

static int without(int depth), with(int depth);

static inline int go_on(int depth)
{
	if (depth <= 0)
		measure();
	return depth <= 0 ? 0 : (depth & 1 ? with : without)(depth - 1) + 1;
}

static __attribute__((noinline)) int without(int depth)
{
	return go_on(depth) + 1;
}

static __attribute__((noinline)) int with(int depth)
{
	volatile const void *frame = __builtin_frame_address(0);

	return go_on(depth) + (frame != NULL);
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 10;
	const char *missing = peer_start();

	if (argc > 2)
		walks = (unsigned)atoi(argv[2]);
	clock_start();
	if (missing || walks < TURNS || thread_start() || spool_open(NULL, 64 << 20) ||
	    spool_prepare(64 << 20) || !thread_new() || !unwind_start(64, false)) {
		fprintf(stderr, "unwind_pair: %s\n", missing ? missing : "cannot begin");
		return 2;
	}
	room.near.room = room.near.matter = PEER_MOST + PEER_OURS;
	room.near.frame = room.frame;
	room.near.bp = room.bp;
	/* main, _start and two of the C library's are frames, too. */
	return with(depth - 5) < 0;
}
