/* SPDX-License-Identifier: Apache-2.0 */
/* The pending call is one way to a thread with the lock, and operators are the other:
 * whoever comes first takes the wish. */
#include "agent/python/wish.h"
#include "agent/core/emit.h"
#include "agent/python/check.h"
#include "agent/python/interpreter.h"
#include "agent/python/pending.h"
#include "base/guard.h"

#include <errno.h>
#include <stdatomic.h>

#define MOST 4

static struct {
	void (*begin)(void), (*end)(void);
} all[MOST];
static unsigned count;
_Atomic int wish_now;
static _Atomic bool asked; /* a pending call is on its way */

void wish_add(void (*begin)(void), void (*end)(void))
{
	if (count < MOST) {
		all[count].begin = begin;
		all[count++].end = end;
	}
}

static bool take_wish(int what)
{
	return atomic_fetch_and(&wish_now, ~what) & what;
}

static void fulfil_wishes(void)
{
	bool open = gate_cycle();
	uintptr_t guard;

	if (!take_wish(open ? WISH_BEGIN : WISH_END))
		return;
	guard = guard_enter();
	for (unsigned i = 0; i < count; i++)
		if (open)
			all[i].begin();
		else if (all[i].end)
			all[i].end();
	guard_leave(guard);
}

void wish_look(void)
{
	int saved = errno;

	if (wish_now && atomic_load(&interpreter_on) && check_holds_lock())
		fulfil_wishes();
	errno = saved;
}

static int look_pending(void *arg)
{
	(void)arg;
	atomic_store(&asked, false);
	wish_look();
	return 0;
}

/* The interpreter has room for few such calls, and the program may want it. */
static void ask_soon(void)
{
	if (!atomic_load(&interpreter_on) || interpreter.finalizing() ||
	    atomic_exchange(&asked, true))
		return;
	if (!pending_add_any(look_pending))
		atomic_store(&asked, false);
}

void wish_opened(void)
{
	if (!count || !gate_cycle())
		return;
	atomic_fetch_or(&wish_now, WISH_BEGIN);
	ask_soon();
}

/* True: something is to be taken away. */
static bool wish_end(void)
{
	bool ends = false;

	for (unsigned i = 0; i < count; i++)
		ends |= all[i].end != NULL;
	atomic_fetch_and(&wish_now, ~WISH_BEGIN);
	if (ends)
		atomic_fetch_or(&wish_now, WISH_END);
	return ends;
}

void wish_ended(void)
{
	if (!gate_cycle() && wish_end())
		ask_soon();
}

/* In the middle of the fork the interpreter's list of calls may still be locked by a
 * thread that is no more. */
void wish_fork_child(void)
{
	wish_end();
}

void wish_note(enum python_count what)
{
	struct thread *t = emit_enter(REC_NONE);
	struct cycle_info *info = t ? emit_info() : NULL;
	uint64_t none = 0;

	if (info)
		atomic_compare_exchange_strong(&info->python[what], &none, clock_ticks());
	if (t)
		emit_leave(t);
}
