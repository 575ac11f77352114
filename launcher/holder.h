/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder - spools that lie in memory: a second descriptor of each, until we finish them.
 *
 * Threads  one.
 * Memory   a descriptor for each spool.
 * Errors   none that anybody must know: who cannot reach us keeps private memory and
 *          says so.
 * Units    none.
 */
#ifndef LAUNCHER_HOLDER_H
#define LAUNCHER_HOLDER_H

/* Before the program starts: listens for the processes of job `id`. */
void holder_open(const char *id);
/* Calls fn for each spool that was handed over; true: it is done with, close it. */
void holder_each(_Bool (*fn)(int fd, void *arg), void *arg);

#endif
