/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self - who this process is, and from whom it descends.
 *
 * Threads  self_look: one, in the constructor; self_fork_child: the child's only one;
 *          self_settle: the thread that makes the spool.
 * Memory   static.
 * Errors   what /proc does not tell is 0 or "".
 * Units    start times as in /proc/pid/stat, field 22.
 */
#ifndef CORE_SELF_H
#define CORE_SELF_H

#include <stdint.h>

#define SELF_ANCESTORS 64 /* how far up the process tree we look */

struct self {
	uint32_t pid, ppid;
	uint64_t start_time;
	uint64_t pid_ns; /* inode of /proc/self/ns/pid */
	char host[72]; /* file-name safe */
	char exe[256]; /* basename of argv[0] */
	unsigned ancestors;
	struct {
		uint32_t pid;
		uint64_t start_time;
	} ancestor[SELF_ANCESTORS]; /* the parent first */
};
extern struct self self;

void self_look(const char *argv0); /* what is known without opening a file */
/* Finds the rest, and the ancestors up to `last` (a pid; none above it is asked for);
 * only the first call after one of the two others does anything. Opens files. */
void self_settle(uint32_t last);
void self_fork_child(void);

#endif
