/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks - a counter's low-water mark in each step: live bytes where call sites are not
 * known, and resident memory.
 *
 * Threads  one at a time.
 * Memory   the caller's.
 * Errors   none.
 * Units    bytes.
 */
#ifndef REPORT_MEMORY_MARKS_H
#define REPORT_MEMORY_MARKS_H

#include "report/memory/memory.h"

/* Finds the marks of the view's steps [from, steps_n). A step without a value gets the
 * one before: a counter is noted only when it changes. False: there is no such counter,
 * and the marks mean nothing. */
bool marks_of_counter(const struct memory_view *v, const char *name, const char *key,
		      size_t from, int64_t *level);

/* Counters are 20 ms apart: has every other step one? */
bool marks_are_close(const struct memory_view *v, size_t from);

#endif
