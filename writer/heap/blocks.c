/* SPDX-License-Identifier: Apache-2.0 */
/* The block that is live at an address. */
#include "writer/heap/blocks.h"
#include "writer/pile.h"

#include <errno.h>

#define FIRST 4096 /* slots; a power of two */

/* Addresses are multiples of 16: the product spreads them, and its upper half is spread
 * better than its lower. */
static size_t home_slot(const struct heap_blocks *b, uint64_t address)
{
	uint64_t hash = address * 0x9e3779b97f4a7c15ull;

	return (hash ^ hash >> 32) & (b->slots - 1);
}

/* The slot of an address, or the empty slot where that address belongs. */
static size_t slot_of_address(const struct heap_blocks *b, uint64_t address)
{
	size_t i = home_slot(b, address);

	while (b->slot[i].at && b->slot[i].address != address)
		i = (i + 1) & (b->slots - 1);
	return i;
}

/* Doubles the table; a failure leaves it as it was. */
static int grow_slots(struct heap_blocks *b)
{
	struct heap_blocks larger = { .slots = b->slots ? b->slots * 2 : FIRST,
				      .n = b->n };

	larger.slot = pile_map(larger.slots * sizeof(*larger.slot));
	if (!larger.slot)
		return -ENOMEM;
	for (size_t i = 0; i < b->slots; i++)
		if (b->slot[i].at)
			larger.slot[slot_of_address(&larger, b->slot[i].address)] =
				b->slot[i];
	heap_blocks_free(b);
	*b = larger;
	return 0;
}

int heap_blocks_put(struct heap_blocks *b, struct heap_block block,
		    struct heap_block *was)
{
	size_t i;

	if (b->n >= b->slots / 4 * 3 && grow_slots(b))
		return -ENOMEM;
	i = slot_of_address(b, block.address);
	*was = b->slot[i];
	b->n += !was->at;
	b->slot[i] = block;
	return 0;
}

/* Removes an entry. Entries behind it move up, so that no search ends too early. */
static void remove_at(struct heap_blocks *b, size_t hole)
{
	size_t mask = b->slots - 1;

	for (size_t i = (hole + 1) & mask; b->slot[i].at; i = (i + 1) & mask) {
		size_t from = home_slot(b, b->slot[i].address);

		if (((i - from) & mask) < ((i - hole) & mask))
			continue;
		b->slot[hole] = b->slot[i];
		hole = i;
	}
	b->slot[hole].at = 0;
	b->n--;
}

struct heap_block heap_blocks_find(const struct heap_blocks *b, uint64_t address)
{
	struct heap_block none = { 0 };

	return b->slots ? b->slot[slot_of_address(b, address)] : none;
}

struct heap_block heap_blocks_take(struct heap_blocks *b, uint64_t address)
{
	struct heap_block found = { 0 };
	size_t i;

	if (!b->slots)
		return found;
	i = slot_of_address(b, address);
	found = b->slot[i];
	if (found.at)
		remove_at(b, i);
	return found;
}

void heap_blocks_free(struct heap_blocks *b)
{
	pile_unmap(b->slot, b->slots * sizeof(*b->slot));
	*b = (struct heap_blocks){ 0 };
}
