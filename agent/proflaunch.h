/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proflaunch - for programs that want to mark their own steps.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none; without the agent the weak symbol is NULL.
 * Units    none.
 *
 *	#include <proflaunch.h>
 *	if (proflaunch_step)
 *		proflaunch_step();
 */
#ifndef PROFLAUNCH_H
#define PROFLAUNCH_H

#ifdef __cplusplus
extern "C"
#endif
	void
	proflaunch_step(void) __attribute__((weak));

#endif
