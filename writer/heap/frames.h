/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - stacks as the file has them: frames once, stacks by number.
 *
 * Threads  one at a time.
 * Memory   24 bytes for each text, 4 for each frame of a stack, and what symbols.h keeps.
 * Errors   0 or -ENOMEM.
 * Units    places in the file's lists.
 */
#ifndef WRITER_HEAP_FRAMES_H
#define WRITER_HEAP_FRAMES_H

#include <stdint.h>

struct heap;
struct trace;

struct heap_frame { /* a text of the file */
	const char *text;
	uint32_t module; /* place in "modules", + 1; 0 = resolved, or never will be */
	uint32_t spare;
	uint64_t offset;
};

/* Notes a stack that will be written; 0, which is no stack, is no error. */
int heap_frames_want(struct heap *h, uint32_t stack);
/* Resolves the wanted stacks, all at once: after the last _want, before the first
 * look-up. */
int heap_frames_find(struct trace *t);
/* The stack's place in the file's "stacks"; -1: it was not wanted, or has no frames. */
int64_t heap_frames_stack(const struct heap *h, uint32_t stack);
/* Writes a JSON string of the innermost frames that are not an allocator's; or null. */
void heap_frames_site(struct trace *t, uint32_t stack);
/* Writes "symbols", "modules", "frames", "raw" and "stacks", a comma in front. */
void heap_frames_write(struct trace *t);
void heap_frames_free(struct heap *h);

#endif
