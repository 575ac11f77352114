/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold - a spool in memory that the launcher holds as well, so that it outlives a kill.
 *
 * The process sends the descriptor to a socket of the launcher's. There it waits in
 * line, whatever becomes of the sender, until the launcher looks.
 *
 * Threads  any.
 * Memory   none.
 * Errors   0 or -errno: nobody listens, another network namespace, or too many wait.
 * Units    none.
 */
#ifndef CORE_HOLD_H
#define CORE_HOLD_H

#include <sys/socket.h>
#include <sys/un.h>

/* The socket's abstract address for a job (struct job_page's id). */
socklen_t hold_address(struct sockaddr_un *a, const char *id);
/* Gives the launcher of job `id` a second descriptor of `fd`. Waits 20 ms at most, and
 * only where a line of others waits, too. */
int hold_send(const char *id, int fd);

#endif
