/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym for the functions that we stand in front of. That we export them must not be
 * seen: who asks a process that has no CUDA gets NULL, as without us. Who asks while
 * something is wanted gets an entry of ours; NVIDIA's own libraries never do.
 */
#include "agent/hooks/cuda_parts.h"
#include "agent/hooks/look.h"

#include <dlfcn.h>
#include <string.h>

/* NVIDIA's names begin in three ways: all other names are through quickly. */
static bool may_be_cuda(const char *name)
{
	return !strncmp(name, "cu", 2) || !strncmp(name, "nccl", 4) ||
	       !strncmp(name, "__cuda", 6);
}

const struct cuda_function *cuda_function_named(const char *name)
{
	if (!may_be_cuda(name))
		return NULL;
	for (unsigned i = 0; i < cuda_function_count; i++)
		if (!strcmp(cuda_functions[i].name, name))
			return &cuda_functions[i];
	return NULL;
}

/* A look-up that succeeds leaves no error of an earlier one for dlerror to tell. */
static void *found(void *real)
{
	hook_real_dlsym(RTLD_DEFAULT, "dlsym");
	return real;
}

/* What the name means to all, but for us. The error is that of the last look-up. */
static void *behind_us(const char *name, const void *caller)
{
	void *real = hook_real_dlsym(RTLD_NEXT, name);

	if (!real)
		real = cuda_find_beside(caller, name);
	return real ? found(real) : hook_real_dlsym(RTLD_NEXT, name);
}

struct hook_answer cuda_dlsym(void *handle, const char *name, const void *caller)
{
	const struct hook_answer jump = { NULL, false };
	const struct cuda_function *fn = cuda_function_named(name);
	void *real;

	if (!fn) {
		cuda_find_again();
		/* CUPTI's, agent/cupti/tee.c: ours where there is a real one. */
		if (!strncmp(name, "cupti", 5) && handle != RTLD_NEXT &&
		    cuda_is_ours(hook_real_dlsym(handle, name)) &&
		    !behind_us(name, caller))
			return (struct hook_answer){ NULL, true };
		return jump;
	}
	if (handle == RTLD_NEXT) {
		/* Whose next is the real dlsym's business, unless only we are there. */
		if (behind_us(name, caller) || cuda_locate(fn->group, name)) {
			found(NULL);
			return jump;
		}
		return (struct hook_answer){ hook_real_dlsym(RTLD_NEXT, name), true };
	}
	real = hook_real_dlsym(handle, name);
	if (handle == RTLD_DEFAULT && !real)
		return jump; /* the caller's own libraries may have it */
	if (cuda_is_ours(real))
		real = behind_us(name, caller);
	if (real && cuda_armed && !cuda_is_nvidia(caller))
		real = found(cuda_wrap(fn, real));
	return (struct hook_answer){ real, true };
}

void *cuda_hooks_driver(const char *name, void *real, const void *caller)
{
	const struct cuda_function *fn = cuda_function_named(name);

	if (!fn || fn->group != GROUP_DRIVER || !cuda_armed || cuda_is_nvidia(caller))
		return NULL;
	return cuda_wrap(fn, real);
}
