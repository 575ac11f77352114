/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log - one line to stderr, in one write; under a launcher to the job's page instead.
 *
 * Descriptor 2 of a program is the program's: a process that shares it with one says so
 * at the start (log_watch), and then descriptor 2 must still be what it was there.
 *
 * Threads  any.  errno is left as it was.
 * Memory   a stack buffer of 1024 bytes; longer lines are cut.
 * Errors   none; lines beyond LOG_MOST per process are counted, not written.
 * Units    none.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

#define LOG_MOST 50

extern bool log_quiet; /* -q: notes are dropped, warnings stay */
/* Takes lines, without their ends, in place of descriptor 2: false = it could not. */
extern bool (*log_elsewhere)(const char *line, size_t len);
/* From now on lines go to descriptor 2 only while it is the file that it is now. */
void log_watch(void);

/* This process says nothing any more. */
void log_silence(void);

void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
