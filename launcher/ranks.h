/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks - `proflaunch ranks`: which rank of a distributed program holds up the others.
 *
 * Threads  one.
 * Memory   that of the ranks, freed.
 * Errors   returns 2 after a line on stderr.
 * Units    none.
 */
#ifndef LAUNCHER_RANKS_H
#define LAUNCHER_RANKS_H

/* argv: the words behind "ranks", NULL at the end. */
int ranks_main(char **argv);

#endif
