/* SPDX-License-Identifier: Apache-2.0 */
/*
 * said - lines that a process of a job leaves on the job's page.
 *
 * Descriptor 2 is the program's: it may be a data base by now, or a socket.  Under a
 * launcher the agent therefore writes to no descriptor; launcher, or after its end the
 * finisher, takes the lines from here and says them (finisher/lines.h).
 *
 * Threads  any, also in signal handlers: a place is taken by compare-and-swap.
 * Memory   64 lines; longer ones are cut.
 * Errors   a line without a free place is counted.
 * Units    bytes.
 */
#ifndef CORE_SAID_H
#define CORE_SAID_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAID_LINES 64
#define SAID_TEXT  508

struct said_line {
	_Atomic uint32_t ready; /* number of the line that is whole here, + 1 */
	char text[SAID_TEXT]; /* without its end of line */
};

struct said {
	_Atomic uint32_t next; /* number of the next line that is left */
	_Atomic uint32_t taken; /* ... and of the first one that nobody has taken */
	_Atomic uint32_t lost; /* lines that found no place */
	uint32_t spare;
	struct said_line line[SAID_LINES];
};

/* A log_elsewhere (log.h), for a process of a job with a launcher. */
bool said_put(const char *text, size_t len);

#endif
