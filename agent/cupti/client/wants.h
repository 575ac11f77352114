/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wants - what the client asked for, and when.
 *
 * Threads  any; switching takes a lock for a few stores.
 * Memory   static: the newest switches alone.
 * Errors   none: what is not known was not asked for.
 * Units    ns of CUPTI's clock.
 */
#ifndef CUPTI_CLIENT_WANTS_H
#define CUPTI_CLIENT_WANTS_H

#include <stdbool.h>
#include <stdint.h>

/* The client switches a kind at `ns`; a single API call of domain 1 or 2. */
void wants_kind(uint32_t kind, bool on, uint64_t ns);
void wants_call(int domain, uint32_t cbid, bool on, uint64_t ns);
bool wants_on(uint32_t kind);
bool wants_any(void); /* is anything on? */
/* Switches on what is on, and off what is off, once more, through kinds_theirs. */
void wants_replay(void);
/* Keeps the correlation id of an API call's record that goes by, as an id from before or
 * after each of the client's recent switches: wants_wanted judges work by them. */
void wants_learn(const uint8_t *record);
/* Would the client have had this record without us? */
bool wants_wanted(const uint8_t *record);
void wants_forget(void);

#endif
