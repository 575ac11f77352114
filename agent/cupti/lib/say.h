/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say - what a user is told of CUPTI: why there are no kernels, and what to do.
 *
 * Threads  any.
 * Memory   session.why.
 * Errors   none: CUPTI results (api.h) go in.
 * Units    none.
 */
#ifndef CUPTI_LIB_SAY_H
#define CUPTI_LIB_SAY_H

#include <stdbool.h>
#include <stdint.h>

/* Once: the GPU is not recorded (any more), and why. `what` is CUPTI's function. The
 * session is dead when it returns; the caller wakes the consumer, which ends windows. */
void say_give_up(const char *what, int result);
void say_give_up_for(const char *why);
void say_busy(bool again); /* another profiler has CUPTI; again: we come back */
/* Says once each that what an option asks for is not recorded, and the rest is. For a
 * kind; for what an option adds to others. `result` 0: this CUPTI has no such
 * function. */
void say_lacks_kind(uint32_t kind, int result);
void say_lacks(const char *option, const char *what, const char *function, int result);
void say_give_up_missing(const char *path, const char *name);
void say_give_up_foreign(const char *path);

#endif
