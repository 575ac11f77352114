/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner - is the process that a spool belongs to still there?
 *
 * Threads  one.
 * Memory   none.
 * Errors   when in doubt the owner lives.
 * Units    none.
 */
#ifndef LAUNCHER_OWNER_H
#define LAUNCHER_OWNER_H

#include "agent/core/spool.h"

enum owner { OWNER_DEAD, OWNER_LIVES, OWNER_FOREIGN, OWNER_UNSURE };

/* `fd` is the spool, open for writing; when the answer is OWNER_DEAD it is locked. */
enum owner owner_of(int fd, const struct spool_header *head);
/* Is it still there? A zombie is not. */
bool owner_process_lives(uint32_t pid, uint64_t start_time);
/* "<host>_<pid>.<start time>..." of this host whose process is gone. */
bool owner_name_dead(const char *name);
/* Does the launcher of this job still run? It will finish the job's spools itself. */
bool owner_job_lives(const char *dir, const char *job);

#endif
