/* SPDX-License-Identifier: Apache-2.0 */
/*
 * closing_words - parts that several closing lines are made of.
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

/* Warns that n things were lost, and by what; says nothing where n is 0. */
void closing_warn(uint64_t n, const char *noun, const char *what);
/* Adds an item to a list in words; returns the list's length so far. */
size_t closing_list(char *list, size_t size, size_t n, uint64_t count, const char *what);
/* A list like "bash 56, env 16": the most first, at most `most` names, and how many
 * others; a single name without its number. */
const char *closing_tally(const struct tally *t, unsigned most);
/* A list like "Optimizer.step#SGD.step 12×, train 3×". */
const char *closing_seen(const struct tally *t, unsigned most);
enum marker_kind closing_marker(const struct closing *c);

/* closing_losses.c: says what is missing of the records, and what would have kept it. */
void closing_losses(const struct closing *c);
/* closing_nothing.c: says why there is no file at all. */
void closing_nothing(const struct closing *c);
/* ... or only of steps before the plan's first window. */
void closing_early(const struct closing *c);
/* closing_stages.c: are there any? Says whose steps ended, and why nothing was
 * recorded. */
bool closing_has_stages(const struct closing *c);
void closing_stages(const struct closing *c);
void closing_no_stage(const struct closing *c);

#endif
