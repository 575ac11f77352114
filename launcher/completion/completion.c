/* SPDX-License-Identifier: Apache-2.0 */
/* Completion for shells: the options of the tables, and what stands around them. What
 * follows the command is completed as the command's own. */
#include "launcher/completion/completion.h"
#include "launcher/completion/bash.h"
#include "launcher/completion/fish.h"
#include "launcher/completion/zsh.h"

#include <string.h>

int completion_print(const char *shell)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} shells[] = { { "bash", bash_print },
		       { "zsh", zsh_print },
		       { "fish", fish_print } };

	for (unsigned i = 0; shell && i < sizeof(shells) / sizeof(*shells); i++)
		if (!strcmp(shell, shells[i].name)) {
			shells[i].print();
			return 0;
		}
	return 2;
}
