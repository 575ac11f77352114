/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols - what frames of native stacks mean: function, file and line, inlined calls.
 *
 * A helper process (`proflaunch symbolize`, launcher/symbols/symbolize.c, libdw) tells
 * it, so that no debug information lies in the program's memory; without a helper a frame
 * reads as module and offset.
 *
 * Threads  one at a time: the writer's.
 * Memory   its own maps: the texts, until symbols_free; up to a bound they are kept for
 *          the next window of the same process.
 * Errors   none that end a file: a frame that cannot be resolved reads
 *          "?? (library.so+0x1234)".
 * Units    offsets as in agent/core/stacks.h.
 */
#ifndef WRITER_SYMBOLS_SYMBOLS_H
#define WRITER_SYMBOLS_SYMBOLS_H

#include "agent/core/spool_view.h"
#include "agent/core/stacks.h"

#include <stdbool.h>

struct symbols;

/* Asks the helper. The finisher and recover set it (symbolize.h). NULL: there is no
 * helper, as in the program, where frames stay module and offset until recover names
 * them. */
extern int (*symbols_ask)(const char *question, size_t len, int64_t ns,
			  int (*take)(void *arg, const char *text, size_t len),
			  void *arg);

struct symbols *symbols_new(const struct spool_view *v); /* NULL: no memory */
/* Notes a frame that will be looked up. 0 or -ENOMEM. */
int symbols_want(struct symbols *s, struct stack_frame frame);
/* Notes all frames of a stack; one that is not in the spool has none. */
int symbols_want_stack(struct symbols *s, uint32_t stack);
/* Resolves all noted frames at once; bounded in time. false: some are not known
 * (symbols_known), because there is no helper, or it cannot read their files. */
bool symbols_resolve(struct symbols *s);
/* Is there no more to know of the frame? Else `recover`, where the module's file is at
 * hand, may know more. */
bool symbols_known(const struct symbols *s, struct stack_frame frame);
/* The texts of a frame, innermost inlined call first: "function (file.c:12)",
 * NUL-terminated, back to back; *n: how many (at least 1). Valid until symbols_free. */
const char *symbols_text(const struct symbols *s, struct stack_frame frame, unsigned *n);
void symbols_free(struct symbols *s);

#endif
