/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapped_bytes - how much of its address space the process uses, as the kernel counts it
 * for the limits.
 *
 * Threads  any.
 * Memory   none that stays.
 * Errors   a failed Check assertion without /proc.
 * Units    bytes.
 * Source   proc(5): /proc/self/statm, in pages.
 */
#ifndef TESTS_MAPPED_BYTES_H
#define TESTS_MAPPED_BYTES_H

#include "tests/unit/unit.h"

#include <stdint.h>
#include <stdio.h>

enum mapped { MAPPED_ALL, MAPPED_DATA };

static inline uint64_t mapped_bytes(enum mapped what)
{
	unsigned long all = 0, data = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	ck_assert(file && fscanf(file, "%lu %*u %*u %*u %*u %lu", &all, &data) == 2);
	fclose(file);
	return (what == MAPPED_ALL ? all : data) * 4096;
}

#endif
