/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer - the one thread that makes each call of CUPTI's that may wait.
 *
 * Threads  any.
 * Memory   static; a thread of ours.
 * Errors   false: there is no thread, or it was not done in time.
 * Units    ns.
 */
#ifndef CUPTI_FLOW_CONSUMER_H
#define CUPTI_FLOW_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Before a driver answers: two questions that the consumer asks above it, without a
 * lock. `again`: CUPTI is in other hands; unless it is known why, tries to subscribe,
 * which may wait in CUPTI; false: did not try. `shared`: has the program's own
 * profiler anything switched on?
 */
void consumer_above(bool (*again)(void), bool (*shared)(void));
bool consumer_start(void); /* idempotent; any thread */
/* A context ends: waits, `ns` at most, until the consumer has gone round `flush`ing. */
void consumer_flush(int64_t ns);
/* The process ends: fetches and decodes what CUPTI still holds. False: not in time. */
bool consumer_finish(int64_t ns, bool settle);
bool consumer_ends(void); /* has consumer_finish been called? */
void consumer_fork_child(void);

#endif
