/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python - call stacks in a file: "Call stack" of operators, annotations and CUDA calls;
 * Python's, native ones, or both merged (merge.h).
 *
 * Threads  one at a time.
 * Memory   a text for each frame of Python's that was seen, and the last stacks' whole
 *          texts; bounded.
 * Errors   0 or -ENOMEM; what cannot be written sets the error of t->json.
 * Units    ids as in record_stack.h.
 */
#ifndef WRITER_PYTHON_PYTHON_H
#define WRITER_PYTHON_PYTHON_H

#include "agent/core/stack_pair.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace;
struct merge;
struct python;

int python_start(struct trace *t);
void python_free(struct trace *t);
/* Writes the member "python stacks" of the object "proflaunch": what is known of the
 * stacks. */
void python_counts(struct trace *t);
/* Writes the stacks of one moment as members of an event's args, each with a comma behind
 * it: innermost frame first, ";" between frames. One "Call stack" if only one of them is
 * known, or if they are merged, else Python's, and "Native call stack". Nothing where
 * there is none. `forward`: Python's is the forward operator's of a backward one, and the
 * file says so. */
void python_stacks(struct trace *t, struct stack_pair pair, bool forward);
/* Both stacks, merged if that is possible; good until the next call of these
 * functions. */
const struct merge *python_merge(struct trace *t, struct stack_pair pair);
/* Counts the two stacks of a moment as merged, or why they are not. */
void python_count(struct trace *t, struct stack_pair pair);
/* Notes how deep they are, where a file that shows more frames could merge them. */
void python_depth(struct trace *t, struct stack_pair pair);
/* The text of a frame of Python's, for which `text` has PYTHON_TEXT bytes; with NUL. */
#define PYTHON_TEXT 16384
size_t python_frame(const struct trace *t, struct stack_frame frame, char *text);

/* Writes "file(line): function" of a frame, without quotes. */
void python_name(struct trace *t, struct stack_frame frame);

/* ops.c: notes the native stacks of operators and annotations, so that their frames get
 * names; counts what is merged, once they have them. */
int python_want_ops(struct trace *t);
void python_count_ops(struct trace *t);

#endif
