/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script - which program an interpreter runs.
 *
 * Only the words up to a script's or a module's name are looked at: what comes behind it
 * may hold passwords, and a trace goes to other people.
 *
 * Threads  script_look: one, in the constructor; script_fact: any, after it.
 * Memory   static.
 * Errors   false, and nothing is written: no known interpreter, an option that is not
 *          known, or no script.
 * Units    bytes.
 */
#ifndef CORE_SCRIPT_H
#define CORE_SCRIPT_H

#include <stdbool.h>

#define SCRIPT_MOST 160 /* bytes, with quotes and the last zero */

/* The script as JSON's text: "train.py", "-m torch.distributed.run". exe: the name of the
 * program, without its path. */
bool script_find(char to[SCRIPT_MOST], const char *exe, int argc, char *const argv[]);
void script_look(const char *exe, int argc, char *const argv[]);
void script_fact(void); /* tells the spool */

#endif
