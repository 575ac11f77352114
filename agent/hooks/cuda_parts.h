/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_parts - the parts of cuda.h, one file each.
 *
 * Threads  any, unless said otherwise.
 * Memory   static and the arena.
 * Errors   NULL, 0 or false: not known; the program's call goes on in any case.
 * Units    ticks; argument numbers count machine words.
 */
#ifndef HOOKS_CUDA_PARTS_H
#define HOOKS_CUDA_PARTS_H

#include "agent/hooks/cuda.h"
#include "agent/hooks/hook.h"

#include <stddef.h>

/* ---- the tables: cudart.def, driver.def, nccl.def ---- */

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
	const char *name;
	uint8_t group, kind;
	int8_t arg[4];
};

extern const struct cuda_function cuda_functions[];
extern const unsigned cuda_function_count;
const char *cuda_group_library(enum cuda_group group); /* what its file name has */

static inline bool cuda_launches(const struct cuda_function *fn)
{
	return fn->kind >= KIND_LAUNCH && fn->kind <= KIND_LAST_LAUNCH;
}

static inline bool cuda_is_kernel(const struct cuda_function *fn)
{
	return fn->kind >= KIND_LAUNCH && fn->kind < KIND_GRAPH;
}

/* ---- cuda_entry.S ---- */

#define CUDA_SLOTS_SPARE 64 /* entries for functions that somebody looked up himself */

/* A call on its way: laid out as cuda_entry.S says. */
struct cuda_frame {
	uint64_t reg[6]; /* rdi rsi rdx rcx r8 r9 */
	uint64_t rax, r10;
	uint8_t sse[8][16];
	uint64_t *stack; /* the seventh argument and those behind it */
	void *caller; /* return address */
	uint32_t slot;
	uint32_t stack_bytes; /* to be handed on; a multiple of 16 */
	void *real;
	uint64_t result[2]; /* rax, rdx */
	uint8_t result_sse[16];
	/* ours, from cuda_enter to cuda_leave */
	const struct cuda_function *fn;
	struct record *record; /* to be ended */
	uint64_t cycle;
	struct estimate_pair *pair;
	uint32_t token;
	uint32_t correlation;
	bool aside; /* not looked at */
};

static inline uint64_t cuda_arg(const struct cuda_frame *f, int i)
{
	return i < 6 ? f->reg[i] : f->stack[i - 6];
}

/* By slot: where calls go; first it is code that looks for that (cuda_first). */
extern void *cuda_real[];
extern void *const cuda_first[];
extern void *const cuda_entry[]; /* our own function */
/* enum cuda_want: [0] of the runtime and the driver, [1] of NCCL. */
extern uint8_t cuda_wanted[2];
int cuda_missing(void); /* what is called when there is no such function */
int cuda_missing_nccl(void);

uint32_t cuda_name_of(const struct cuda_function *fn); /* names.h */
const char *cuda_kernel_of(const struct cuda_frame *f); /* mangled; NULL */
void cuda_enter(struct cuda_frame *f);
void cuda_leave(struct cuda_frame *f);

/* ---- cuda_find.c: the real functions ---- */

const struct cuda_function *cuda_function_of(uint32_t slot);
/* For a call from `caller`. Never NULL. */
void *cuda_resolve(uint32_t slot, const void *caller);
/* A function of the group's library, or of the library that `beside` lies in. */
void *cuda_locate(enum cuda_group group, const char *name);
void *cuda_find_beside(const void *beside, const char *name);
/* A second runtime may have been mapped. Cheap while nothing was. */
void cuda_find_again(void);
/* An entry of ours for function `fn` at `real`; `real` itself when there is none left. */
void *cuda_wrap(const struct cuda_function *fn, void *real);
bool cuda_is_ours(const void *at);
bool cuda_is_nvidia(const void *at); /* in one of NVIDIA's own libraries */
bool cuda_called_by_nvidia(const void *caller);
extern _Atomic bool cuda_armed; /* something was wanted: look-ups give wrappers */

/* ---- cuda_dlsym.c ---- */

const struct cuda_function *cuda_function_named(const char *name);

/* ---- kernels.c: what kernels are called ---- */

/* `name` is read when it is first asked for. */
void kernels_add(const void *kernel, const char *name);
void kernels_put(const void *kernel, const char *name); /* is read now */
void kernels_same(const void *kernel, const void *as);
/* Mangled; NULL = not known. group: whose handle it is. */
const char *kernels_name(const void *kernel, enum cuda_group group);

/* ---- nccl.c ---- */

void nccl_begin(struct cuda_frame *f); /* in windows */
void nccl_seen(const struct cuda_frame *f); /* KIND_COMM, KIND_COMM_END, after it */

/* ---- estimate.c: GPU times by sampled pairs of events ---- */

void estimate_before(struct cuda_frame *f); /* a kernel launch, in windows */
void estimate_called(struct cuda_frame *f, uint64_t ticks); /* where there is a pair */
void estimate_after(struct cuda_frame *f);
void estimate_poll(void);
void estimate_off(void); /* for good */
void estimate_fork_child(void);

#endif
