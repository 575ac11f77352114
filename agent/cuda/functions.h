/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions - the table of functions that we stand in front of: cudart.def, driver.def
 * and nccl.def, one behind the other. A function's slot is its row.
 *
 * Threads  any.
 * Memory   static.
 * Errors   NULL or 0: there is no such function, or no room for its name.
 * Units    argument numbers count machine words.
 */
#ifndef CUDA_FUNCTIONS_H
#define CUDA_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum cuda_group { GROUP_CUDART, GROUP_DRIVER, GROUP_NCCL, GROUPS };

enum cuda_kind {
	KIND_CALL,
	KIND_SYNC, /* waits */
	KIND_INIT, /* cuInit */
	/* launches: argument numbers of kernel and stream */
	KIND_LAUNCH, /* two dim3 from argument 1 on */
	KIND_LAUNCH_DRIVER, /* six numbers from argument 1 on */
	KIND_LAUNCH_CONFIG, /* argument 0 points to it all */
	KIND_GRAPH,
	KIND_LAST_LAUNCH = KIND_GRAPH,
	/* always looked at, though nothing be wanted */
	KIND_CAPTURE, /* a stream's capture begins */
	KIND_RESET, /* a context ends */
	KIND_REGISTER, /* (, host function, , name) */
	KIND_SAME, /* (&handle, kernel): the same kernel */
	KIND_NAMED, /* (&handle, , name) */
	KIND_ENTRY, /* (name, &function) */
	/* NCCL */
	KIND_COLLECTIVE, /* argument numbers of count, type, peer, communicator */
	KIND_COMM, /* (&communicator); argument numbers of size, rank */
	KIND_COMM_END, /* (communicator) */
};

struct cuda_function {
	uint16_t name_at; /* cuda_function_name */
	uint8_t group, kind;
	int8_t arg[4];
};

enum {
#define HOOK(group, symbol, ...) SLOT_##symbol,
#include "agent/cuda/cudart.def"
#include "agent/cuda/driver.def"
#include "agent/cuda/nccl.def"
#undef HOOK
	CUDA_FUNCTIONS
};

extern const struct cuda_function cuda_functions[CUDA_FUNCTIONS];
const char *cuda_function_name(const struct cuda_function *fn);
const struct cuda_function *cuda_function_named(const char *name);
uint32_t cuda_name_of(const struct cuda_function *fn); /* names.h */

static inline bool cuda_launches(const struct cuda_function *fn)
{
	return fn->kind >= KIND_LAUNCH && fn->kind <= KIND_LAST_LAUNCH;
}

static inline bool cuda_is_kernel(const struct cuda_function *fn)
{
	return fn->kind >= KIND_LAUNCH && fn->kind < KIND_GRAPH;
}

#endif
