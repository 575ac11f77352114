/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch - sees PyTorch's operators, annotations and tensor memory from outside.
 *
 * Threads  torch_found: once, any thread.  torch_observe: the holder of the scheduler's
 *          lock.
 * Memory   static, and a context slab for each thread.
 * Errors   what cannot be had is off, with one line.
 * Units    none.
 */
#ifndef TORCH_TORCH_H
#define TORCH_TORCH_H

#include "config/config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the observer tells above; agent.c fills it in with the scheduler's functions. */
struct torch_listener {
	uint32_t (*begin)(const char *name, size_t len); /* annotation begins: token */
	void (*end)(uint32_t token);
	uint32_t (*op_begin)(const char *name, size_t len); /* NULL = no op-name marker */
	void (*follow)(void); /* called when *follow_word != *follow_seen */
	_Atomic uint64_t **follow_word;
	uint64_t *follow_seen;
};

void torch_start(const struct config *cfg, const struct torch_listener *listener);
/* libtorch was mapped (or may have been): registers once. True when it is there now. */
bool torch_found(void);
bool torch_known(void); /* ... was found before: does not look */
void torch_observe(bool on); /* operator callbacks on or off */
void torch_collect(bool on); /* are operators and annotations recorded? */
/* Around a fork that we follow: the child is born with operator callbacks on. */
void torch_fork_prepare(void);
void torch_fork_parent(void);
void torch_fork_child(void);

/* memory.c: true while CPU allocations are to be reported. */
void memory_start(const struct config *cfg);

#endif
