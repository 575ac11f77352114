/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_python - what the agent's parts tell the interpreter's, and ask it.
 *
 * Threads  start: the constructor. opened, opened_now, ending, ended: the scheduler's,
 * one at a time. The rest: any. Memory   none. Errors   none: what cannot be had is said
 * in a line. Units    ids as stacks.h has them.
 */
#ifndef WIRE_PYTHON_H
#define WIRE_PYTHON_H

#include "agent/core/thread.h"

#include <stdbool.h>
#include <stdint.h>

struct cycle_info;

void wire_python_start(void); /* after agent_heap_start */
/* The id of a launch's native stack and Python's: cuda_listener.line. */
uint32_t wire_python_call(struct thread *t, uint32_t native);
void wire_python_look(const char *name); /* dlsym was asked for it, libtorch looked for */
void wire_python_opened(struct cycle_info *info); /* a window is about to */
void wire_python_opened_now(void); /* one has, by this thread */
void wire_python_ending(void); /* one is about to end */
void wire_python_ended(struct cycle_info *info, bool kept); /* the next may be open */
void wire_python_leave(void); /* the process leaves, whatever is open */
void wire_python_fork_child(void);

#endif
