/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch - whose a block is that a tool gives, which stands between the program and
 * malloc: malloc's own, or one around or inside of such a block, or the tool's.
 *
 * Threads  any; each has its own.  Hot path.
 * Memory   thread-local, and guard_word, which leads malloc's hooks the long way.
 * Errors   none.
 * Units    bytes.
 */
#ifndef HEAP_WATCH_H
#define HEAP_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A tool works: the first block that malloc gives meanwhile is noted. */
struct heap_watch {
	uintptr_t frame; /* of the call; 0: none */
	const char *at; /* NULL: none */
	size_t size;
	bool moved; /* by realloc */
};
extern __thread struct heap_watch heap_watch __attribute__((tls_model("initial-exec")));
enum heap_given { HEAP_OF_THEIRS, HEAP_OF_MALLOC, HEAP_OF_REALLOC };
void heap_watch_begins(uintptr_t frame);
enum heap_given heap_watch_ends(const void *p); /* whose is what the tool gave? */

/* Is that call part of one that is watched? */
static inline bool heap_watches(uintptr_t frame)
{
	return __builtin_expect(heap_watch.frame != 0, 0) && frame < heap_watch.frame;
}

static inline void heap_watch_note(const void *p, size_t size, bool moved)
{
	if (__builtin_expect(heap_watch.frame != 0, 0) && !heap_watch.at)
		heap_watch = (struct heap_watch){ heap_watch.frame, p, size, moved };
}

#endif
