/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit - the end of a process: what CUPTI still holds is fetched.
 *
 * Threads  any.
 * Memory   static.
 * Errors   none.
 * Units    none.
 */
#ifndef CUPTI_EXIT_H
#define CUPTI_EXIT_H

void exit_register(void); /* adds a handler; at start, and with the first context */
void exit_fork_child(void);

#endif
