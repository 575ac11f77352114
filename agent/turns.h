/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns - who changes the size of what we have mapped, one after the other: the agent as
 * it begins, the program's mlockall, and limits that it sets.
 *
 * Threads  any; not one that a handler has interrupted in its turn (agent_midway).
 * Memory   none.
 * Errors   false: another one's turn has not ended within 50 ms.
 * Units    none.
 */
#ifndef AGENT_TURNS_H
#define AGENT_TURNS_H

#include <stdbool.h>

bool turns_take(void);
void turns_give(void);
/* Takes the turn of one that has not given it back for a second, as of a task that has
 * died in it. */
void turns_take_at_last(void);
/* As turns_take, and waits as long for the program's threads that lock their memory. */
bool turns_take_unlocked(void);
/* The program locks its memory from here ... */
void turns_lock(void);
void turns_locked(void); /* ... to here */
bool turns_locks(void); /* does any thread? */
void turns_fork_child(void);

#endif
