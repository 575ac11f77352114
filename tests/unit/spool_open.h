/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_open - a spool that readers see at once, without options and facts in its header.
 *
 * Threads  one.  Memory  `cap` bytes.  Errors  0 or -errno.  Units  bytes.
 */
#ifndef TESTS_SPOOL_OPEN_H
#define TESTS_SPOOL_OPEN_H

#include "agent/core/spool.h"

/* dir NULL: private memory. One that is there already is enough. */
static inline int spool_open(const char *dir, uint64_t cap)
{
	int err;

	if (spool.head)
		return 0;
	err = spool_place(dir, cap);
	if (!err)
		err = spool_begin();
	if (!err)
		spool_show();
	return err;
}

#endif
