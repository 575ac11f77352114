/* SPDX-License-Identifier: Apache-2.0 */
#include "finisher/share.h"
#include "base/memory_group.h"

#define LOOK_NS 100000000ll
#define SHARE   4 /* the heap's records have one part of so many */
#define NAMING  (16ull << 20)

/* Reading a window takes twice its spool, which is a sixteenth of what the group left
 * (core/spool_room.c), naming what is in it 16 MiB. */
void share_start(struct share *s, const struct page *page, uint32_t buffer_mb)
{
	uint64_t left = page_memory(page), most = (uint64_t)buffer_mb << 20;

	*s = (struct share){ .limited = left != UINT64_MAX };
	most = most < left / 16 ? most : left / 16;
	s->need = 2 * most + NAMING;
}

static unsigned heaps_recorded(const struct known_all *all)
{
	unsigned n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += all->at[i]->state == KNOWN_LIVE && all->at[i]->watched;
	return n;
}

/* In KiB, for each of n processes; 0: no bound. */
static uint32_t share_of(uint64_t room, unsigned n)
{
	uint64_t kib;

	if (room == UINT64_MAX || !n)
		return 0;
	kib = (room / SHARE / n) >> 10;
	return kib ? (uint32_t)kib : 1;
}

void share_tend(struct share *s, const struct known_all *all, int64_t now)
{
	uint64_t room;
	uint32_t kib;

	if (!s->limited || now < s->next_ns)
		return;
	s->next_ns = now + LOOK_NS;
	room = memory_group_room();
	s->little = room < s->need;
	kib = share_of(room, heaps_recorded(all));
	if (kib != s->kib)
		page_set_heap(all->page, kib);
	s->kib = kib;
}
