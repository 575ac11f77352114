/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_group - how much CPU time control groups leave to this process.
 *
 * A quota is shared by all that is in the group (cpu.max, cpu.cfs_quota_us). Libraries
 * that count CPUs do not look at it.
 *
 * Threads  any.
 * Memory   as control_group's.
 * Errors   UINT64_MAX, as if there were no quota.
 * Units    hundredths of a CPU.
 */
#ifndef BASE_CPU_GROUP_H
#define BASE_CPU_GROUP_H

#include <stdint.h>

uint64_t cpu_group_quota(void);
/* How many CPUs that is for a process which is bound to `bound` of them: whole ones, at
 * least 1. */
unsigned cpu_group_usable(unsigned bound, uint64_t quota);

#endif
