/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version - which proflaunch this is, of what it was built, and what it finds here.
 *
 * Threads  one.
 * Memory   none.
 * Errors   what is not found is said.
 * Units    none.
 */
#ifndef LAUNCHER_VERSION_H
#define LAUNCHER_VERSION_H

#include <stdbool.h>

/* On standard output: a line, or with `verbose` one for each part. */
void version_print(bool verbose);

#endif
