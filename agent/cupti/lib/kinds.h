/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kinds - activity kinds and single calls: nobody else switches them.
 *
 * Threads  any; a lock between them, waited for 2 s at most, but where said.
 * Memory   static.
 * Errors   CUPTI results (api.h) as int, 0 = fine.
 * Units    none.
 */
#ifndef CUPTI_LIB_KINDS_H
#define CUPTI_LIB_KINDS_H

#include <stdbool.h>
#include <stdint.h>

void kinds_start(void); /* what we want, by configuration and library */
/* Switches kinds on as configured, or all of ours off. Returns the first error, 0 =
 * fine. */
int kinds_ours(bool on);
/* Switches ours on for a thread of the program, which waits 100 ms at most for a thread
 * that is switching. Where that takes longer the first launches are missed, the time
 * until then is a gap, and the result is 0. Where no thread is switching this one does,
 * as long as CUPTI takes. */
int kinds_ours_now(void);
const char *kinds_failed(void); /* CUPTI's function that gave that error */
bool kinds_ours_on(void);
int kinds_rest(bool (*wanted)(void)); /* ours off, unless they are wanted meanwhile */
void kinds_lost(void); /* another profiler has had CUPTI: nothing is on any more */
/* A client of the same CUPTI (the program's torch.profiler) switches a kind, or a single
 * API call of domain 1 or 2. Returns what the client's call returns. */
int kinds_theirs(uint32_t kind, bool on);
int kinds_theirs_api(int domain, uint32_t cbid, bool on);
/* The client is gone: takes back all that it wanted. */
void kinds_theirs_none(void);
/* Are there times at which kernels are recorded and calls are not? */
bool kinds_stray(void);
/* The kinds that we ask for, as bits. Constant once the session is ready. */
uint64_t kinds_for_ours(void);
void kinds_fork_child(void);

#endif
