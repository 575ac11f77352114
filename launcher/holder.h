/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder - spools that lie in memory alone: the launcher holds them, too, so that they
 * outlive processes and finishers.
 *
 * Threads  one.
 * Memory   a fixed table.
 * Errors   none: a spool that does not fit waits in the socket, but its process not for
 *          long: then that is not recorded, and counted (agent/core/hold.h).
 * Units    none.
 */
#ifndef LAUNCHER_HOLDER_H
#define LAUNCHER_HOLDER_H

#include <stddef.h>
#include <stdint.h>

/* Listens for spools of job `id`; a spool that comes wakes the caller as SIGCHLD does. */
void holder_open(const char *id);
/* Takes the spools that were sent since: each goes into the table, and to `socket` with
 * its number. */
void holder_receive(int socket);
/* Closes the spools that the finisher has marked in `done`; their numbers are free
 * again. */
void holder_close_done(_Atomic uint8_t *done);
/* Counts the spools that are not marked in `done`: they are lost with the launcher. */
uint32_t holder_left(const _Atomic uint8_t *done);
/* For a new finisher, which inherits them: descriptors by number, -1 where there is
 * none. */
const int *holder_table(size_t *n);

#endif
