/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closing_words - the parts of the closing lines: what several of them are made of.
 *
 * Threads  one.
 * Memory   static texts: until the next call.
 * Errors   a list that is too long ends where it is full.
 * Units    none.
 */
#ifndef LAUNCHER_CLOSING_WORDS_H
#define LAUNCHER_CLOSING_WORDS_H

#include "agent/sched/marker.h"
#include "launcher/closing.h"

/* How many of what were lost, and to what; 0 of them are no line. */
void closing_warn(uint64_t n, const char *noun, const char *what);
/* One more item of a list in words; its length so far. */
size_t closing_list(char *list, size_t size, size_t n, uint64_t count, const char *what);
/* "bash 56, env 16": the most first, at most `most` names, and how many others; one
 * name alone without its number. */
const char *closing_tally(const struct tally *t, unsigned most);
/* "Optimizer.step#SGD.step 12×, train 3×". */
const char *closing_seen(const struct tally *t, unsigned most);
enum marker_kind closing_marker(const struct closing *c);

/* closing_losses.c: what is missing of what was recorded, and what would have kept it. */
void closing_losses(const struct closing *c);
/* closing_nothing.c: why there is no file at all. */
void closing_nothing(const struct closing *c);

#endif
