/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks begin: who listens, and what is looked up while there is one thread. */
#include "agent/hooks/enter.h"
#include "agent/hooks/hook.h"

#include <stddef.h>

void hook_start(const struct hook_listener *listener)
{
	hook_look_dlsym(NULL, NULL);
	hook_to = *listener;
	hook_watch_process();
	hook_start_exec();
}
