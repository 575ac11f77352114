/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frames - stacks as the file has them: frames once, stacks by number.
 *
 * Threads  one at a time.
 * Memory   24 bytes for each text, and those of Python's frames; 4 for each frame of a
 *          stack.
 * Errors   0 or -ENOMEM.
 * Units    places in the file's lists.
 */
#ifndef WRITER_HEAP_FRAMES_H
#define WRITER_HEAP_FRAMES_H

#include "agent/core/stack_pair.h"

struct heap;
struct trace;

struct heap_frame { /* a text of the file */
	const char *text; /* NULL: Python's, in h->lines */
	uint32_t module; /* place in "modules", + 1; 0 = resolved, or never will be */
	uint32_t spare;
	uint64_t offset; /* in the module, or in h->lines */
};

/* Notes a stack that will be written; 0, which is no stack, is no error. */
int heap_frames_want(struct trace *t, struct stack_pair is);
/* Makes the lists of the wanted stacks, once their frames have names: a native stack, or
 * with Python's frames in it if the two are merged. Before the first look-up. */
int heap_frames_find(struct trace *t);
/* The stack's place in the file's "stacks"; -1: it was not wanted, or has no frames. */
int64_t heap_frames_stack(const struct heap *h, struct stack_pair is);
/* Writes a JSON string of the innermost frames that are not an allocator's; or null. */
void heap_frames_site(struct trace *t, struct stack_pair is);
/* Writes "symbols", "modules", "frames", "raw" and "stacks", a comma in front. */
void heap_frames_write(struct trace *t);
void heap_frames_free(struct heap *h);

#endif
