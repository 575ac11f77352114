/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log - one line to stderr, in one write.
 *
 * Threads  any.  errno is left as it was.
 * Memory   a stack buffer of 1024 bytes; longer lines are cut.
 * Errors   none; lines beyond LOG_MOST per process are counted, not written.
 * Units    none.
 */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include <stdbool.h>

#define LOG_MOST 50

extern bool log_quiet; /* -q: notes are dropped, warnings stay */
extern const char *log_name; /* prefix; default "proflaunch" */

void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
