/* SPDX-License-Identifier: Apache-2.0 */
/* Pages and clock moments made ready for the program: by the keeper whenever it looks
 * around, else by a program's only thread before it takes a chunk. */
#include "writer/ahead.h"
#include "agent/core/chunk.h"
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/spool.h"
#include "base/log.h"
#include "base/sys.h"

#define LEAST     (256ull << 10) /* bytes populated ahead while no window is open ... */
#define OPEN      (4ull << 20) /* ... and while one is open */
#define SECOND    1000000000ll
#define OPEN_WAIT 20000000ll /* ns between looks at a window's memory */
#define FIRST_GAP 1000000ll /* ns between moments of the clock, doubling */
#define LEAST_GAP 100000000ll

static bool refused;
static uint64_t last_used; /* bytes handed out at the last look; 0 = never */
static int64_t last_moment, moment_gap = FIRST_GAP; /* of the clock's moments */

static void prepare_memory(uint64_t bytes)
{
	int err = spool_prepare(bytes);

	if (!err || refused)
		return;
	refused = true;
	log_warn("no space for more than %lu MiB of records: %s",
		 (unsigned long)(atomic_load(&spool.head->limit) >> 20), sys_error(err));
}

void ahead_of_one(void)
{
	ahead_time(false);
	prepare_memory(CHUNK_LARGE);
}

/* Populates as much as the program may use before the next look. */
int64_t ahead_memory(void (*reserve)(void))
{
	uint64_t used = atomic_load(&spool.head->used), ahead = LEAST;
	uint64_t grown = last_used && used > last_used ? used - last_used : 0;
	bool open = gate_cycle() != 0;

	last_used = used;
	if (open || grown)
		ahead = 8 * grown > OPEN ? 8 * grown : OPEN;
	if (spool_must_reserve(ahead))
		reserve();
	prepare_memory(ahead < AHEAD_MOST ? ahead : AHEAD_MOST);
	return open ? OPEN_WAIT : SECOND;
}

/* The first clock moments lie close together, so that a program that dies at once has two
 * far enough apart; later ones a second, and one comes before a window is written. */
int64_t ahead_time(bool now_please)
{
	int64_t now = sys_clock_ns(CLOCK_MONOTONIC);

	if (now - last_moment >= moment_gap ||
	    (now_please && now - last_moment >= LEAST_GAP)) {
		clock_sample(spool.head);
		last_moment = now;
		moment_gap = moment_gap * 2 < SECOND ? moment_gap * 2 : SECOND;
	}
	return last_moment + moment_gap - now;
}

void ahead_forget(void)
{
	refused = false;
	last_used = 0;
	last_moment = 0;
	moment_gap = FIRST_GAP;
}
