/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress - a line on a terminal while the user waits for files; elsewhere nothing.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none.
 * Units    ns.
 */
#ifndef LAUNCHER_PROGRESS_H
#define LAUNCHER_PROGRESS_H

#include <stdint.h>

/* left: spools, as far as known; waited: for how long the user has waited. */
void progress_show(uint32_t left, int64_t waited);
/* Takes the line away, if there was one: other lines follow. */
void progress_clear(void);

#endif
