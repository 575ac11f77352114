/* SPDX-License-Identifier: Apache-2.0 */
/* What the scheduler tells the consumer: which window begins, and which ends. */
#include "agent/cupti/flow/orders.h"
#include "base/seldom.h"

#include <string.h>

/*
 * The scheduler says under its lock which window begins and ends: it stores that and goes
 * on. The consumer takes it from there. As long as there is no consumer, the window that
 * is open just stands; a window that ends like that has no GPU part.
 */
#define ORDERS 1024u

static SELDOM struct {
	struct {
		struct cycle_info *info;
		enum order what;
	} ring[ORDERS];
	_Atomic uint32_t head, tail;
	_Atomic uint32_t live;
	_Atomic(struct cycle_info *) standing;
} orders;

static void set_state(struct cycle_info *info, enum cycle_cuda state)
{
	atomic_store_explicit(&info->cuda_state, state, memory_order_release);
}

/* ---- the scheduler's side ---- */

static void put_order(struct cycle_info *info, enum order what)
{
	uint32_t head = atomic_load_explicit(&orders.head, memory_order_relaxed);

	orders.ring[head % ORDERS].info = info;
	orders.ring[head % ORDERS].what = what;
	atomic_store_explicit(&orders.head, head + 1, memory_order_release);
}

/* The window that stands, and was not taken by the consumer yet, goes into the ring. */
static void queue_standing(void)
{
	struct cycle_info *info = atomic_exchange(&orders.standing, NULL);

	if (info)
		put_order(info, ORDER_OPENED);
}

void orders_opened(struct cycle_info *info)
{
	set_state(info, CUDA_PENDING);
	if (!atomic_load(&orders.live)) {
		struct cycle_info *before = atomic_exchange(&orders.standing, info);

		if (before) /* the window before ends just now */
			set_state(before, CUDA_NONE);
		return;
	}
	queue_standing();
	if (atomic_load(&orders.head) - atomic_load(&orders.tail) + 4 > ORDERS) {
		/* Room must be left for the ends of windows. */
		atomic_fetch_add(&info->cuda[CUDA_CROWDED], 1);
		set_state(info, CUDA_SETTLED);
		return;
	}
	put_order(info, ORDER_OPENED);
}

void orders_sealed(struct cycle_info *info, bool kept)
{
	struct cycle_info *mine = info;

	if (atomic_load(&info->cuda_state) != CUDA_PENDING)
		return;
	if (atomic_load(&orders.live)) {
		queue_standing();
	} else if (atomic_compare_exchange_strong(&orders.standing, &mine, NULL)) {
		set_state(info, CUDA_NONE);
		return;
	}
	put_order(info, kept ? ORDER_SEALED : ORDER_THROWN);
}

bool orders_standing(void)
{
	return atomic_load(&orders.standing);
}

void orders_live(void)
{
	atomic_store(&orders.live, true);
}

/* ---- the consumer's side ---- */

bool orders_left(void)
{
	return orders_standing() ||
	       atomic_load(&orders.head) != atomic_load(&orders.tail);
}

struct cycle_info *orders_next(enum order *what)
{
	uint32_t head = atomic_load_explicit(&orders.head, memory_order_acquire);
	uint32_t tail = atomic_load_explicit(&orders.tail, memory_order_relaxed);
	/* Read after the head: a window that stood before another order was queued comes
	 * first. */
	struct cycle_info *info = atomic_exchange(&orders.standing, NULL);

	*what = ORDER_OPENED;
	if (info || tail == head)
		return info;
	info = orders.ring[tail % ORDERS].info;
	*what = orders.ring[tail % ORDERS].what;
	atomic_store_explicit(&orders.tail, tail + 1, memory_order_release);
	return info;
}

void orders_fork_child(void)
{
	if (atomic_load(&orders.standing))
		atomic_store(&orders.standing, NULL);
	if (atomic_load(&orders.head) || atomic_load(&orders.live))
		memset((void *)&orders, 0, sizeof(orders));
}
