/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subscription - how CUPTI becomes ours, and is given back.
 *
 * Threads  any.
 * Memory   none of its own.
 * Errors   false: CUPTI is not ours; said why (say.h).
 * Units    none.
 */
#ifndef CUPTI_SUBSCRIPTION_H
#define CUPTI_SUBSCRIPTION_H

#include "agent/cupti/lib/session.h"

/* A driver has answered. True: CUPTI is ours; nothing is switched on yet. */
bool subscription_start(bool late);
/* CUPTI was left to another profiler (client/retreat.h), which may be gone: subscribes
 * and registers again. Where that fails the other is still there, and nothing is said. */
void subscription_return(void);

#endif
