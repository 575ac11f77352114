/* SPDX-License-Identifier: Apache-2.0 */
/* The table of CUDA's and NCCL's functions that we stand in front of, and their names. */
#include "agent/cuda/functions.h"
#include "agent/core/names.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* The names, one after another: pointers to them would be written by the dynamic linker
 * at each start of a program. */
static const struct names {
#define HOOK(group, symbol, ...) char symbol[sizeof(#symbol)];
#include "agent/cuda/cudart.def"
#include "agent/cuda/driver.def"
#include "agent/cuda/nccl.def"
#undef HOOK
} names = {
#define HOOK(group, symbol, ...) #symbol,
#include "agent/cuda/cudart.def"
#include "agent/cuda/driver.def"
#include "agent/cuda/nccl.def"
#undef HOOK
};

const struct cuda_function cuda_functions[CUDA_FUNCTIONS] = {
#define HOOK(group, symbol, kind, ...) \
	{ offsetof(struct names, symbol), GROUP_##group, KIND_##kind, { __VA_ARGS__ } },
#include "agent/cuda/cudart.def"
#include "agent/cuda/driver.def"
#include "agent/cuda/nccl.def"
#undef HOOK
};

const char *cuda_function_name(const struct cuda_function *fn)
{
	return (const char *)&names + fn->name_at;
}

/* NVIDIA's names begin in three ways: all other names are told from them quickly. */
static bool may_be_cuda(const char *name)
{
	return !strncmp(name, "cu", 2) || !strncmp(name, "nccl", 4) ||
	       !strncmp(name, "__cuda", 6);
}

const struct cuda_function *cuda_function_named(const char *name)
{
	if (!may_be_cuda(name))
		return NULL;
	for (unsigned i = 0; i < CUDA_FUNCTIONS; i++)
		if (!strcmp(cuda_function_name(&cuda_functions[i]), name))
			return &cuda_functions[i];
	return NULL;
}

uint32_t cuda_name_of(const struct cuda_function *fn)
{
	static _Atomic uint64_t ids[CUDA_FUNCTIONS]; /* epoch, id */
	_Atomic uint64_t *known = &ids[fn - cuda_functions];
	uint64_t id = atomic_load_explicit(known, memory_order_relaxed);

	if (id >> 32 != names_epoch) {
		const char *name = cuda_function_name(fn);

		id = names_add(name, strlen(name), NULL, 0);
		if (!id)
			return 0;
		id |= (uint64_t)names_epoch << 32;
		atomic_store_explicit(known, id, memory_order_relaxed);
	}
	return (uint32_t)id;
}
