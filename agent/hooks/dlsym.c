/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hooks/hook.h"
#include "agent/hooks/look.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

void *(*hook_real_dlsym)(void *handle, const char *name);
void *hook_real_execute, *hook_real_usage;
struct hook_listener hook_to;

/* Callers may come before our constructor: the first one finds the real function.
 * Two at once store the same value. */
static void find_dlsym(void)
{
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5" };
	void *fn = NULL;

	for (size_t i = 0; !fn && i < sizeof(versions) / sizeof(*versions); i++)
		fn = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	__atomic_store_n(&hook_real_dlsym, (void *(*)(void *, const char *))fn,
			 __ATOMIC_RELEASE);
}

void hook_look_dlsym(void *handle, const char *name)
{
	int saved = errno;

	(void)handle;
	if (!__atomic_load_n(&hook_real_dlsym, __ATOMIC_ACQUIRE))
		find_dlsym();
	if (name && hook_to.symbol)
		hook_to.symbol(name);
	errno = saved;
}

struct hook_answer hook_answer_dlsym(void *handle, const char *name, const void *caller)
{
	struct hook_answer answer = { NULL, false };
	int saved = errno;

	hook_look_dlsym(handle, name);
	if (name)
		answer = cuda_dlsym(handle, name, caller);
	errno = saved;
	return answer;
}

void hook_look_execute(void)
{
	int saved = errno;

	hook_to.backward();
	errno = saved;
}

/* Both string types begin with a pointer to their characters. */
void hook_look_usage(const void *event)
{
	int saved = errno;

	hook_to.usage(*(const char *const *)event);
	errno = saved;
}

void hook_start(const struct hook_listener *listener)
{
	if (!hook_real_dlsym)
		find_dlsym();
	hook_to = *listener;
	hook_watch_process();
}
