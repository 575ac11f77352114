/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks - address to live block: open addressing, linear.
 *
 * Threads  one at a time.
 * Memory   21 to 43 bytes for each live block; heap_blocks_free gives all back.
 * Errors   -ENOMEM: the table is as it was.
 * Units    addresses.
 */
#ifndef WRITER_HEAP_BLOCKS_H
#define WRITER_HEAP_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

struct heap_block {
	uint64_t address;
	uint32_t at; /* its record, offset / 8; 0 = an empty slot */
	uint32_t site;
};

struct heap_blocks { /* all zero: empty */
	struct heap_block *slot;
	size_t slots, n;
};

/* Enters a block. *was: the block that had the address, whose free was not seen; at 0:
 * none. */
int heap_blocks_put(struct heap_blocks *b, struct heap_block block,
		    struct heap_block *was);
struct heap_block heap_blocks_find(const struct heap_blocks *b, uint64_t address);
/* Removes the block at the address and returns it; at 0: no block is live there. */
struct heap_block heap_blocks_take(struct heap_blocks *b, uint64_t address);
void heap_blocks_free(struct heap_blocks *b);

#endif
