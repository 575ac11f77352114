/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill - what a heap file lacks, and where its texts are; for refill and its parts.
 *
 * Threads  one.
 * Memory   malloc; refill_heap gives it back.
 * Errors   false, and nothing is changed in the file.
 * Units    none.
 */
#ifndef LAUNCHER_RECOVER_FILL_H
#define LAUNCHER_RECOVER_FILL_H

#include "launcher/recover/span.h"
#include "launcher/text.h"

struct raw { /* a frame that is module and offset so far */
	uint64_t frame, module, offset;
	size_t at; /* where its texts are in the answer */
	bool known;
};

struct fill {
	struct span heap;
	/* values of the members that change */
	struct span symbols, modules, frames, raw, stacks;

	struct raw *raws;
	size_t n, room;
	struct text question, answer;

	struct text new_frames, new_stacks, new_raw; /* JSON */
	uint64_t count; /* of the new frames */
	uint32_t *slot; /* a hash table: the text's place in new_frames, + 1 ... */
	uint32_t *number; /* ... and the frame's number */
	size_t slots;
	struct text map; /* for each old frame: uint32_t n, then its n new frames */
	size_t *old; /* each old frame's place in the map; 0 = not yet */
	uint64_t old_n;
};

enum refill_found {
	REFILL_NOTHING,
	REFILL_HEAP,
	REFILL_MORE, /* the text ends too early to tell */
};

/* refill_find.c: finds "heap" in "proflaunch", which lies before a file's events, without
 * reading any of these. */
enum refill_found refill_find(struct span text, struct span *heap);
/* refill_frames.c: makes new frames, stacks and raw frames, when the answer is there. */
bool refill_frames(struct fill *f);

#endif
