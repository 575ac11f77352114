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

#define SEVERAL_SWITCH "off|on|" /* none of the choices, or all; before them */

/* What was an option of its own before native_stacks had it. */
#define SEVERAL_CUDA_STACKS   "cuda_stacks"
#define SEVERAL_MALLOC_STACKS "malloc_stacks"

/* `len` bytes of v: choices with commas between. flag: 1 where v is on in one of its
 * spellings, which is all of them (as the word all), 0 off, below 0 neither. Where `name`
 * is an option's of old, v is what that one took. */
const char *several_read(const struct config_option *o, const char *name, uint32_t *at,
			 int flag, const char *v, size_t len);
/* As several_read reads it. Returns the length, like fmt. */
size_t several_write(const struct config_option *o, uint32_t bits, char *buf,
		     size_t size);
/* Is it an option of old, a bit of native_stacks now? A dash is an underscore. */
bool several_is_old(const char *name);

#endif
