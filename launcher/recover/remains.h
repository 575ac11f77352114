/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remains - what a job's folder still holds when nobody finishes it any more.
 *
 * Threads  one.
 * Memory   none that stays.
 * Errors   what cannot be read does not count.
 * Units    none.
 */
#ifndef LAUNCHER_RECOVER_REMAINS_H
#define LAUNCHER_RECOVER_REMAINS_H

#include <stdint.h>

/* Spools in which something was recorded. */
uint32_t remains_count(const char *folder);
/* What their processes, which are gone, had made ready ahead of their records goes. */
void remains_trim(const char *folder);

#endif
