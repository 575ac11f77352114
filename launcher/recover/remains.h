/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remains - spools that a job's folder still holds when nobody finishes it any more.
 *
 * Threads  one.
 * Memory   none that stays.
 * Errors   a spool that cannot be read does not count.
 * Units    none.
 */
#ifndef LAUNCHER_RECOVER_REMAINS_H
#define LAUNCHER_RECOVER_REMAINS_H

#include <stdint.h>

/* Counts spools in which something was recorded. */
uint32_t remains_count(const char *folder);
/* Gives back the room that dead processes had made ready ahead of their records. */
void remains_trim(const char *folder);

#endif
