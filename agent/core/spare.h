/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spare - the file of a spool that is over, taken again for the next one.
 *
 * ext4 does not use the inode of a file that was removed for a minute or more: a file
 * that is made meanwhile, by the program too, first passes all of those.  Where a job
 * starts thousands of processes that costs more than the file itself.  So the finisher
 * empties such files (finisher/spares.h), names them after their inode, and puts that on
 * the job's page.
 *
 * Threads  one in a process; processes take by compare-and-swap.
 * Memory   none.
 * Errors   -ENOENT: there is none that can be taken, make one.
 * Units    none.
 */
#ifndef CORE_SPARE_H
#define CORE_SPARE_H

#include <stddef.h>

#define SPARE_NAME "%lx.spare" /* the inode */

/* Opens and locks a spare in the job's folder: an empty file of no particular size.
 * Returns its descriptor, and its path, which is to be changed. */
int spare_take(char *path, size_t room);

#endif
