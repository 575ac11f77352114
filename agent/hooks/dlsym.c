/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym as programs call it, and the C library's own. */
#include "agent/hooks/enter.h"
#include "agent/hooks/hook.h"
#include "base/elf.h"
#include "base/log.h"
#include "config/config_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

void *(*hook_real_dlsym)(void *handle, const char *name);
struct hook_listener hook_to;

/* Reads the tables of the objects: at each start of a program that is cheaper than the
 * linker's own search, and a C library that has dlsym elsewhere may not have loaded
 * it. */
static void *next_here(const char *name)
{
	const struct link_map *owner;

	return elf_next_function(elf_our_object(), name, &owner);
}

void *hook_next(const char *name)
{
	void *fn = next_here(name);

	if (fn)
		return fn;
	hook_look_dlsym(NULL, NULL);
	return hook_real_dlsym ? hook_real_dlsym(RTLD_NEXT, name) : NULL;
}

/* Functions that moved from libdl and libpthread into libc in glibc 2.34: weak for us, so
 * that the agent can be loaded without those libraries. */
bool hook_libc_whole(void)
{
	if (libc_has(dlsym) && libc_has(dlvsym) && libc_has(dlopen) && libc_has(dladdr) &&
	    libc_has(dlinfo) && libc_has(pthread_create) &&
	    libc_has(pthread_attr_setstack) && libc_has(pthread_key_create) &&
	    libc_has(pthread_setspecific))
		return true;
	if (!config_getenv(environ, "PROF_JOB"))
		log_warn("nothing is recorded: with this C library LD_PRELOAD must name "
			 "libpthread.so.0 and libdl.so.2, too");
	return false;
}

/* Callers may come before our constructor: the first one finds the real function.
 * Two at once store the same value. */
static void find_dlsym(void)
{
	/* A C library whose tables we cannot read is asked for its dlsym by version: 2.34
	 * moved it into libc, 2.2.5 is the oldest on x86-64. */
	void *fn = next_here("dlsym");

	if (!fn && libc_has(dlvsym))
		fn = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!fn && libc_has(dlvsym))
		fn = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
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

/* cuda_dlsym is called by name and not through hook_to, which our constructor fills. The
 * program's libraries are initialised before us, and one of them that asks for a function
 * of CUDA's there must not find our hook where there is no such function. */
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
