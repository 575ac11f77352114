/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff - `proflaunch diff`: what two runs of a program differ in.
 *
 * Threads  one.
 * Memory   that of both runs, freed.
 * Errors   returns 2 after a line on stderr.
 * Units    none.
 */
#ifndef LAUNCHER_DIFF_H
#define LAUNCHER_DIFF_H

/* argv: the words behind "diff", NULL at the end. */
int diff_main(char **argv);

#endif
