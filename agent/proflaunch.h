/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proflaunch - for programs that want to mark their own steps, or to say what is to be
 * recorded from now on.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none; without the agent the weak symbols are NULL.
 * Units    none.
 *
 *	#include <proflaunch.h>
 *	if (proflaunch_step)
 *		proflaunch_step();
 *	if (proflaunch_collect)
 *		proflaunch_collect(PROFLAUNCH_CUDA, 0);
 */
#ifndef PROFLAUNCH_H
#define PROFLAUNCH_H

#define PROFLAUNCH_CPU  1u /* operators and annotations */
#define PROFLAUNCH_CUDA 2u /* CUDA calls and GPU work */

#ifdef __cplusplus
extern "C" {
#endif

void proflaunch_step(void) __attribute__((weak));
/* Switches recording of some activities on or off; windows stay as they are. */
void proflaunch_collect(unsigned what, int on) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
