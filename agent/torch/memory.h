/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory - PyTorch's own reports of tensor memory, on their way to its profiler.
 *
 * Threads  any; reports may come under an allocator's mutex: they take no lock.
 * Memory   static.
 * Errors   without libc10's own functions ours answer for the agent alone.
 * Units    bytes; negative = given back.  device: c10::Device, type in the low
 *          byte (0 CPU, 1 CUDA), index in the next.
 */
#ifndef TORCH_MEMORY_H
#define TORCH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Does anybody want reports of CPU memory: torch's profiler, or we? */
bool memory_enabled(void);
void memory_report(void *ptr, int64_t bytes, uint64_t allocated, uint64_t reserved,
		   uint16_t device);
void memory_exhausted(int64_t bytes, uint64_t allocated, uint64_t reserved,
		      uint16_t device);

#endif
