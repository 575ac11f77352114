/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bell - what any thread leaves for the consumer: a word, and a wake.
 *
 * Threads  any, also in CUPTI's callbacks.
 * Memory   static.
 * Errors   none.
 * Units    ns.
 */
#ifndef CUPTI_FLOW_BELL_H
#define CUPTI_FLOW_BELL_H

#include <stdbool.h>
#include <stdint.h>

void bell_wake(void);
uint32_t bell_seen(void); /* how often it rang */
void bell_sleep(uint32_t seen, int64_t ns); /* until it rings again; -1 = for good */
void bell_near(bool near); /* a window will open */
void bell_off(bool off); /* switched off in the running program */
bool bell_is_off(void);
bool bell_wants(bool window); /* shall kinds be on? window: there is one */
void bell_fork_child(void);

#endif
