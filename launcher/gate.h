/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate - `proflaunch gate`: a check that fails when a run is slower than its baseline.
 *
 * Threads  one.
 * Memory   that of both runs, freed.
 * Errors   returns 2 after a line on stderr, or where the verdict is that nobody can
 * tell. Units    none.
 */
#ifndef LAUNCHER_GATE_H
#define LAUNCHER_GATE_H

/* argv: the words behind "gate", NULL at the end. Returns 0, 1 (regression) or 2. */
int gate_main(char **argv);

#endif
