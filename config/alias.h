/* SPDX-License-Identifier: Apache-2.0 */
/*
 * alias - torch.profiler's names of options of ours: each means the same wherever a name
 * is read.
 *
 * Threads  any.
 * Memory   constant.
 * Errors   none.
 * Units    none.
 */
#ifndef CONFIG_ALIAS_H
#define CONFIG_ALIAS_H

#include <stdbool.h>

#define ALIASES 3

extern const struct alias {
	char name[16], option[16];
} alias_all[ALIASES];

/* Are they the same, where a dash in `name` is an underscore? */
bool alias_same(const char *name, const char *option);
/* The name of the option; `name` itself where it is no alias. */
const char *alias_option(const char *name);

#endif
