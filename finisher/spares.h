/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spares - files of spools that are over, kept for the next processes (agent/core/spare.h
 * says why); on ext4 alone.
 *
 * Threads  any.
 * Memory   none; JOB_SPARES empty files.
 * Errors   false: the file is to be removed.
 * Units    none.
 */
#ifndef FINISHER_SPARES_H
#define FINISHER_SPARES_H

#include "finisher/page.h"

#include <stdbool.h>

/* Empties the spool `name` in `folder`, open as `fd`, whose process is gone, and gives it
 * a name that nobody looks for. */
bool spares_empty(const struct page *p, int folder, const char *name, int fd);
/* Tells the job's processes of it. */
void spares_offer(const struct page *p, int folder, uint64_t ino);
/* Removes all that nobody has taken, or took and then died. */
void spares_remove(int folder);

#endif
