/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page - a report as one HTML file that needs no network: every view, for a browser.
 *
 * A run is a block of base64 in it, packed: nothing that a trace says is HTML, and the
 * page's own script puts texts in as texts. page.html, page.css and the scripts beside
 * this file are joined by join.sh when the launcher is built.
 *
 * Threads  one at a time.
 * Memory   of a run, while it is written: up to 30 bytes a slice, and its tables.
 * Errors   false: not enough memory. `out` has its own.
 * Units    of the payload: microseconds, bytes.
 */
#ifndef REPORT_PAGE_PAGE_H
#define REPORT_PAGE_PAGE_H

#include "report/compare/difference.h"
#include "report/view/subject.h"

#include <stdio.h>

/* Slices of a run's timeline, unless the user says otherwise. */
#define PAGE_SLICES 1000000u

/* First the beginning, then runs, a difference of two of them, and the end. */
void page_begin(FILE *out);
/* `title`: what the user called it; `limit`: slices of its timeline, at most. */
bool page_run(FILE *out, struct subject *s, const char *title, size_t limit);
bool page_difference(FILE *out, const struct difference *d);
void page_end(FILE *out);

#endif
