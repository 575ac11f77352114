/* SPDX-License-Identifier: Apache-2.0 */
/*
 * several - an option that has any of its choices at once, as "ops,cuda": a bit for each.
 *
 * Threads  parsing: one at a time.
 * Memory   static: a complaint stays until the next call.
 * Errors   NULL for fine, else why not.
 * Units    bits, 1 << the choice's number.
 */
#ifndef CONFIG_SEVERAL_H
#define CONFIG_SEVERAL_H

#include "config/config.h"

/* What was an option of its own before native_stacks had it. */
#define SEVERAL_CUDA_STACKS   "cuda_stacks"
#define SEVERAL_MALLOC_STACKS "malloc_stacks"

/* `len` bytes of v: choices with commas between, or on (all) or off (none). */
const char *several_read(const struct config_option *o, uint32_t *at, const char *v,
			 size_t len);
/* As several_read reads it. Returns the length, like fmt. */
size_t several_write(const struct config_option *o, uint32_t bits, char *buf,
		     size_t size);

/* An option of old that is a bit of native_stacks now; NULL: `name` is none. A dash in it
 * is an underscore. */
struct several_old;
const struct several_old *several_old(const char *name);
const char *several_read_old(const struct several_old *old, uint32_t *at, const char *v,
			     size_t len);

#endif
