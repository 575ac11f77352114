/* SPDX-License-Identifier: Apache-2.0 */
/*
 * holder - spools that lie in memory alone: the launcher has them, too, so that they
 * outlive the processes, and the finishers.
 *
 * Threads  one.
 * Memory   a fixed table.
 * Errors   none: what does not fit waits in the socket, and its process not for long:
 *          then it is not recorded, and counted (agent/core/hold.h).
 * Units    none.
 */
#ifndef LAUNCHER_HOLDER_H
#define LAUNCHER_HOLDER_H

#include <stddef.h>
#include <stdint.h>

/* Listens for spools of job `id`; one that comes wakes the caller as SIGCHLD does. */
void holder_open(const char *id);
/* Those that were sent since: each into the table, and to `socket` with its number. */
void holder_receive(int socket);
/* Closes those that the finisher has marked in `done`; their numbers are free again. */
void holder_close_done(_Atomic uint8_t *done);
/* Those that are not marked in `done`: they are lost with us. */
uint32_t holder_left(const _Atomic uint8_t *done);
/* For a new finisher, which has these from the start: descriptors by number, -1 where
 * there is none. */
const int *holder_table(size_t *n);

#endif
