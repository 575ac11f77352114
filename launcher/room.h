/* SPDX-License-Identifier: Apache-2.0 */
/*
 * room - can a file be written into a directory now?
 *
 * Threads  one.
 * Memory   none.
 * Errors   -errno.
 * Units    none.
 */
#ifndef LAUNCHER_ROOM_H
#define LAUNCHER_ROOM_H

/* 0 when a file with a page in it could be made there; it is gone again. */
int room_try(const char *dir);

#endif
