/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python - Python's call stacks in a file: "Call stack" of operators and annotations.
 *
 * Threads  one at a time.
 * Memory   a text for each frame that was seen, and the last stacks' whole texts;
 * bounded. Errors   0 or -ENOMEM; t->python stays NULL where no stacks are asked for.
 * Units    ids as in record_stack.h.
 */
#ifndef WRITER_PYTHON_PYTHON_H
#define WRITER_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

struct trace;
struct python;

int python_start(struct trace *t);
void python_free(struct trace *t);
/* Writes the member "python" of the object "proflaunch": what is known of the stacks. */
void python_counts(struct trace *t);
/* Writes the stack as a member of an event's args, with a comma behind it: innermost
 * frame first, "file(line): function" each, the file's name without the folder that
 * Python found it by. Nothing where there is no such stack. `forward`: it is the forward
 * operator's of a backward one, and the file says so. */
void python_call_stack(struct trace *t, uint32_t stack, bool forward);

#endif
