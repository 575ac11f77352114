/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life - is the process that a spool belongs to still there?
 *
 * The spool's lock goes with its last mapping.  A child that kept the mapping keeps the
 * lock, so where the process can be seen, the process counts: one that is gone, or maps
 * another image by now, is dead.  A pid is believed for no more than that.
 *
 * Threads  any.
 * Memory   none.
 * Errors   in doubt the process lives.
 * Units    none.
 */
#ifndef FINISHER_LIFE_H
#define FINISHER_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct life_who {
	const char *name; /* of the spool's file, or the end of its path */
	uint32_t pid; /* 0 = not known, or of another pid namespace */
	uint64_t start, ino; /* of the process; of the spool */
};

enum life { LIFE_GONE, LIFE_HERE, LIFE_UNSEEN };

/* Pid and start time out of "[<host>_]<pid>.<start time>.….spool". */
bool life_name(const char *name, uint32_t *pid, uint64_t *start);
/* 1 = somebody holds the lock, 0 = nobody, < 0: it cannot be told. */
int life_locked(int fd);
/* Is that process there, and does it map the spool? Costs a look at all its maps. */
enum life life_look(const struct life_who *who);
/* Is the process about to end, killed or on its way out? Then its lock goes in a
 * moment. */
bool life_ends(uint32_t pid);
/* Inode of our pid namespace; 0 = not known. */
uint64_t life_namespace(void);

#endif
