/* SPDX-License-Identifier: Apache-2.0 */
/*
 * occupancy - how many blocks of a kernel a multiprocessor holds, by the rules of
 * NVIDIA's occupancy calculator.
 *
 * Threads  any: a function of its arguments.
 * Memory   none.
 * Errors   false: such a device is not known.
 * Units    blocks, bytes, registers.
 */
#ifndef WRITER_GPU_OCCUPANCY_H
#define WRITER_GPU_OCCUPANCY_H

#include "agent/core/record_gpu.h"

#include <stdbool.h>

#define OCCUPANCY_UNLIMITED 2147483647

enum occupancy_limit { /* bits as in the calculator */
		       OCCUPANCY_WARPS = 1,
		       OCCUPANCY_REGISTERS = 2,
		       OCCUPANCY_SHARED = 4,
		       OCCUPANCY_BLOCKS = 8,
		       OCCUPANCY_BARRIERS = 16,
};

struct occupancy {
	int active; /* blocks of this kernel at once */
	unsigned limits; /* enum occupancy_limit: those that give `active` */
	int by_warps, by_registers, by_shared, by_blocks, by_barriers;
	int registers, shared; /* that a block gets */
};

struct occupancy_kernel {
	uint32_t threads; /* of a block */
	uint32_t registers; /* of a thread */
	uint32_t static_shared, dynamic_shared;
	bool opt_in; /* may have more shared memory than a block gets by default */
};

bool occupancy_get(const struct rec_device *d, const struct occupancy_kernel *k,
		   struct occupancy *o);

#endif
