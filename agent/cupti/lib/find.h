/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find - which libcupti: one that is mapped, else the one beside the CUDA runtime.
 *
 * Threads  one at a time.
 * Memory   the library stays open.
 * Errors   NULL, and why in words.
 * Units    versions as CUDA counts them (12040).
 */
#ifndef CUPTI_LIB_FIND_H
#define CUPTI_LIB_FIND_H

#include <stdbool.h>
#include <stdint.h>

struct found {
	char path[512]; /* of libcupti, empty = none */
	char cudart[448]; /* path of the CUDA runtime, empty = none seen (static) */
	int runtime; /* its version, its major at first; 0 = none seen */
	int major; /* of libcupti */
	bool mapped; /* it was there before us */
	char why[256]; /* when none: what was looked for */
};
void *find_library(struct found *f, uint32_t driver); /* a handle, or NULL */

#endif
