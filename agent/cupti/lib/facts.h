/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts - what a trace says of CUPTI: its state, version and kinds.
 *
 * Threads  any; a lock between them.
 * Memory   static.
 * Errors   none.
 * Units    none.
 */
#ifndef CUPTI_LIB_FACTS_H
#define CUPTI_LIB_FACTS_H

void facts_tell(void); /* into the spool, again: the last word counts */
/* The runtime is asked for its version: not while it may be starting itself. */
void facts_ask_runtime(void);
void facts_fork_child(void);

#endif
