/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events - a file's list of events, with what is broken in it.
 *
 * Threads  one at a time.
 * Memory   as the reader's.
 * Errors   the parser's, where nothing more can be read; `full`: no memory.
 * Units    none.
 */
#ifndef REPORT_EVENTS_H
#define REPORT_EVENTS_H

#include "report/read_event.h"

/* Reads the list behind its opening bracket, and gives each event to the visitor. */
void events_read(struct reader *r);

#endif
