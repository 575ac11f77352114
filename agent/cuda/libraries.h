/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libraries - the parts of cuda.h, one file each.
 *
 * Threads  any, unless said otherwise.
 * Memory   static and the arena.
 * Errors   NULL, 0 or false: not known; the program's call goes on in any case.
 * Units    ticks; argument numbers count machine words.
 */
#ifndef CUDA_LIBRARIES_H
#define CUDA_LIBRARIES_H

#include "agent/cuda/cuda.h"
#include "agent/cuda/functions.h"

/* ---- cuda/entry.S ---- */

#define CUDA_SLOTS_SPARE 64 /* entries for functions that callers look up */
#define CUDA_SLOTS_NONE  UINT32_MAX

/* A call on its way: laid out as cuda/entry.S says. */
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
	bool aside; /* the call is passed on unseen */
};

static inline uint64_t cuda_arg(const struct cuda_frame *f, int i)
{
	return i < 6 ? f->reg[i] : f->stack[i - 6];
}

extern const int32_t cuda_entry[]; /* our own function by slot, from the row on */
static inline void *cuda_entry_of(uint32_t slot)
{
	return (char *)(uintptr_t)&cuda_entry[slot] + cuda_entry[slot];
}

/* ---- cuda/cuda.c ---- */

/* enum cuda_want: [0] of the runtime and the driver, [1] of NCCL. */
extern uint8_t cuda_wanted[2];
void cuda_enter(struct cuda_frame *f);
void cuda_leave(struct cuda_frame *f);

/* ---- cuda/find.c: the real functions ---- */

/* By slot: where calls go; NULL: that is not known yet. */
extern void *cuda_real[];
int cuda_missing(void); /* what is called when there is no such function */
int cuda_missing_nccl(void);
const struct cuda_function *cuda_function_of(uint32_t slot);
/* The real function for a call from `caller`. Never NULL. */
void *cuda_resolve(uint32_t slot, const void *caller);
const char *cuda_group_library(enum cuda_group group); /* begin of its file name */
/* A function of the group's library, or of the library that `beside` lies in. */
void *cuda_locate(enum cuda_group group, const char *name);
void *cuda_find_beside(const void *beside, const char *name);
/* Looks for a second runtime. Cheap while nothing new was mapped. */
void cuda_find_again(void);
/* A slot of which calls go to function `fn` at `real`; CUDA_SLOTS_NONE: none is left, or
 * `real` is ours. */
uint32_t cuda_slot_for(const struct cuda_function *fn, void *real);
bool cuda_is_ours(const void *at);
bool cuda_is_nvidia(const void *at); /* in one of NVIDIA's own libraries */
bool cuda_called_by_nvidia(const void *caller);
extern _Atomic bool cuda_armed; /* something was wanted: look-ups give wrappers */

/* ---- cuda/lookup.c ---- */

/* An entry of ours for function `fn` at `real`; `real` itself when no entry is left. */
void *cuda_wrap(const struct cuda_function *fn, void *real);

/* ---- cuda/kernel_names.c: what kernels are called ---- */

/* `name` is read when it is first asked for. */
void kernel_names_add(const void *kernel, const char *name);
void kernel_names_put(const void *kernel, const char *name); /* `name` is read now */
void kernel_names_same(const void *kernel, const void *as);
/* Mangled; NULL = not known. group: whose handle it is. */
const char *kernel_names_name(const void *kernel, enum cuda_group group);
const char *kernel_names_of(const struct cuda_frame *f); /* of a launch */

/* ---- nccl.c ---- */

void nccl_begin(struct cuda_frame *f); /* in windows */
void nccl_seen(const struct cuda_frame *f); /* KIND_COMM, KIND_COMM_END, after it */

/* ---- cuda/event_times.c: GPU times by sampled pairs of events ---- */

void event_times_before(struct cuda_frame *f); /* a kernel launch, in windows */
void event_times_called(struct cuda_frame *f, uint64_t ticks); /* where there is a pair */
void event_times_after(struct cuda_frame *f);
void event_times_poll(void);
void event_times_off(void); /* for good */
void event_times_fork_child(void);

#endif
