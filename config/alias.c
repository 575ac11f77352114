/* SPDX-License-Identifier: Apache-2.0 */
/* Names that torch.profiler has for what an option does. */
#include "config/alias.h"

#include <stddef.h>

const struct alias alias_all[ALIASES] = {
	{ "with_stack", "python_stack" },
	{ "with_modules", "modules" },
	{ "with_flops", "flops" },
};

bool alias_same(const char *name, const char *option)
{
	for (; *name && (*name == '-' ? '_' : *name) == *option; option++)
		name++;
	return !*name && !*option;
}

const char *alias_option(const char *name)
{
	for (size_t i = 0; i < ALIASES; i++)
		if (alias_same(name, alias_all[i].name))
			return alias_all[i].option;
	return name;
}
