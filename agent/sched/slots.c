/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of threads that have ended are taken again. */
#include "agent/sched/slots.h"
#include "agent/core/thread.h"
#include "base/seldom.h"

#include <string.h>

#define SLOTS 256u

/* A token is a bit + 1, above it its slot + 1, and of whose slot that was what has
 * room. */
#define SLOT_AT 8
#define LIVE_AT 17

struct mark_slot {
	struct auto_state state;
	_Atomic uint64_t open; /* a bit for each kind of call */
	_Atomic uint32_t live; /* of the thread's state then; 0: it changes hands */
	struct thread *_Atomic of;
};

static SELDOM struct mark_slot slots[SLOTS];
static _Atomic uint32_t slots_taken;
static __thread uint32_t my_slot
	__attribute__((tls_model("initial-exec"))); /* slot + 1, 0 = none yet */
static _Atomic uint32_t owner; /* slot + 1 of the thread that made the first boundary */

/* What `live` is of a slot whose thread has ended; 0: it has not. */
static uint32_t ended_live(struct mark_slot *s)
{
	uint32_t live = atomic_load(&s->live);
	struct thread *t = atomic_load(&s->of);

	return live && atomic_load(&t->live) != live ? live : 0;
}

/* One that nobody has had, or that of a thread that has ended; its number + 1. */
static uint32_t take_slot(void)
{
	uint32_t n = atomic_load(&slots_taken);

	while (n < SLOTS)
		if (atomic_compare_exchange_weak(&slots_taken, &n, n + 1))
			return n + 1;
	for (n = 0; n < SLOTS; n++) {
		uint32_t live = ended_live(&slots[n]);

		if (live && atomic_compare_exchange_strong(&slots[n].live, &live, 0))
			return n + 1;
	}
	return 0;
}

uint32_t slots_mine(void)
{
	struct thread *t = thread_mine;
	struct mark_slot *s;
	uint32_t before;

	if (my_slot)
		return my_slot;
	if (!t && !(t = thread_state()))
		return 0;
	before = my_slot = take_slot();
	if (!my_slot)
		return 0;
	/* Steps are not inherited with the slot. */
	atomic_compare_exchange_strong(&owner, &before, 0);
	s = &slots[my_slot - 1];
	memset((void *)&s->state, 0, sizeof(s->state));
	atomic_store(&s->open, 0);
	atomic_store(&s->of, t);
	atomic_store(&s->live, atomic_load(&t->live));
	return my_slot;
}

/* The slot + 1 of the thread that makes the steps; 0 = none does, or it has ended. */
static uint32_t living_owner(uint32_t first)
{
	return first && ended_live(&slots[first - 1]) ? 0 : first;
}

bool slots_may_count(uint32_t slot)
{
	uint32_t first = atomic_load_explicit(&owner, memory_order_relaxed);

	return slot && (first == slot || !living_owner(first));
}

bool slots_claim(uint32_t slot)
{
	uint32_t first = atomic_load(&owner);

	while (first != slot && !living_owner(first))
		if (atomic_compare_exchange_weak(&owner, &first, slot))
			return true;
	return first == slot;
}

bool slots_is_elsewhere(void)
{
	uint32_t first = living_owner(atomic_load_explicit(&owner, memory_order_relaxed));

	return first && first != my_slot;
}

static uint64_t bit_of(unsigned bit)
{
	return bit < SLOTS_EACH ? (uint64_t)1 << bit : 0;
}

uint32_t slots_open(uint32_t slot, unsigned bit)
{
	uint64_t mark = bit_of(bit);
	struct mark_slot *s;

	if (!slot)
		return 0;
	s = &slots[slot - 1];
	if (atomic_fetch_or_explicit(&s->open, mark, memory_order_relaxed) & mark)
		return 0;
	return atomic_load(&s->live) << LIVE_AT | slot << SLOT_AT | (bit + 1);
}

uint32_t slots_close(uint32_t token, unsigned *bit)
{
	uint32_t slot = (token & ((1u << LIVE_AT) - 1)) >> SLOT_AT;

	if (!slot || slot > SLOTS ||
	    (atomic_load(&slots[slot - 1].live) ^ token >> LIVE_AT) << LIVE_AT)
		return 0;
	*bit = (token & 0xff) - 1;
	atomic_fetch_and_explicit(&slots[slot - 1].open, ~bit_of(*bit),
				  memory_order_relaxed);
	return slot;
}

struct auto_state *slots_state(uint32_t slot)
{
	return &slots[slot - 1].state;
}

void slots_fork_child(void)
{
	my_slot = 0;
	for (uint32_t n = atomic_exchange(&slots_taken, 0); n--;)
		atomic_store(&slots[n].live, 0);
	atomic_store(&owner, 0);
}
