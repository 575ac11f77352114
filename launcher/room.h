/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room - can a file be written into a directory now, and records into memory?
 *
 * Threads  one.
 * Memory   none.
 * Errors   -errno.
 * Units    MiB.
 */
#ifndef LAUNCHER_ROOM_H
#define LAUNCHER_ROOM_H

#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

/* 0 when a file with a page in it can be made there; the file is removed again. */
int room_try(const char *dir);
uint64_t room_memory(void); /* that this machine has */
/* Does buffer_mb exceed memory? Not the default on a small machine, which takes less
 * then. */
bool room_exceeded(const struct config *c);

#endif
