/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command - doctor's lines about the command itself: what it starts, whether its steps
 * end, whether anything would be recorded.
 *
 * Threads  one.
 * Memory   none; the words stay the caller's.
 * Errors   as verdicts.
 * Units    none.
 */
#ifndef LAUNCHER_DOCTOR_COMMAND_H
#define LAUNCHER_DOCTOR_COMMAND_H

#include "config/config.h"
#include "launcher/target.h"

/* The command that this one starts, among its words: `env A=1 python3 x.py`. NULL: none
 * is known. *clears: it starts it without the agent's environment. */
char **command_next(char **argv, bool *clears);

/* Judges the marker's function, and the command for finished files. */
void command_options(const struct config *c, const struct target *t, bool python);

/* Judges a program that is no Python; `loaded`: the libraries that its loader maps. */
void command_records(const struct config *c, const struct target *t, const char *loaded);

/* Is the heap recorded where there is no PyTorch? */
bool command_heap_alone(const struct config *c);

/* The text of the last line, when nothing is off. */
const char *command_summary(void);
void command_will_record(const char *what);
const char *command_of_torch(const struct config *c); /* what is recorded of PyTorch */

#endif
