/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_count - what the closing words of a job count, from processes that record nothing.
 *
 * Threads  any, also a vfork child and a signal handler.
 * Memory   the mapped page; the head of another job's during the call.
 * Errors   none: what cannot be counted is not.
 * Units    none.
 */
#ifndef CORE_JOB_COUNT_H
#define CORE_JOB_COUNT_H

#include "agent/core/job.h"

/* `page` is the value of PROF_JOB, or NULL: the page that is mapped. */
void job_count_aside(const char *page, enum aside why, int by);
/* Counts a launcher whose job lies below that of `page`; NULL: it is the outermost. */
void job_count_inner(const char *page);

#endif
