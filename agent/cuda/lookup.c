/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlsym for the functions that we stand in front of. That we export them must not be
 * seen: a caller that asks a process without CUDA gets NULL, as without us. A caller that
 * asks while something is wanted gets an entry of ours; NVIDIA's own libraries never do.
 */
#include "agent/cuda/libraries.h"
#include "agent/hooks/enter.h"

#include <dlfcn.h>
#include <string.h>

#ifdef HOOK_NO_EXPORT /* no cuda/entry.S in unit tests */
const int32_t cuda_entry[CUDA_FUNCTIONS + CUDA_SLOTS_SPARE];
#endif

/* A look-up that succeeds leaves no error of an earlier one for dlerror to tell. */
static void *clear_dlerror(void *real)
{
	hook_real_dlsym(RTLD_DEFAULT, "dlsym");
	return real;
}

/* What `name` means without us: to all, or to the caller's library. dlerror tells of the
 * last look-up. */
static void *behind_us(const char *name, const void *caller)
{
	void *real = hook_real_dlsym(RTLD_NEXT, name);

	if (!real)
		real = cuda_find_beside(caller, name);
	return real ? clear_dlerror(real) : hook_real_dlsym(RTLD_NEXT, name);
}

void *cuda_wrap(const struct cuda_function *fn, void *real)
{
	uint32_t slot = cuda_slot_for(fn, real);

	return slot == CUDA_SLOTS_NONE ? real : cuda_entry_of(slot);
}

struct hook_answer cuda_dlsym(void *handle, const char *name, const void *caller)
{
	const struct hook_answer jump = { NULL, false };
	const struct cuda_function *fn = cuda_function_named(name);
	void *real;

	if (!fn) {
		cuda_find_again();
		/* CUPTI's functions (cupti/client): ours are found only where there is a
		 * real one. */
		if (!strncmp(name, "cupti", 5) && handle != RTLD_NEXT &&
		    cuda_is_ours(hook_real_dlsym(handle, name)) &&
		    !behind_us(name, caller))
			return (struct hook_answer){ NULL, true };
		return jump;
	}
	if (handle == RTLD_NEXT) {
		/* Whose next function is meant is the real dlsym's business, unless ours
		 * is the only one. */
		if (behind_us(name, caller) || cuda_locate(fn->group, name)) {
			clear_dlerror(NULL);
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
		real = clear_dlerror(cuda_wrap(fn, real));
	return (struct hook_answer){ real, true };
}

void *cuda_hooks_driver(const char *name, void *real, const void *caller)
{
	const struct cuda_function *fn = cuda_function_named(name);

	if (!fn || fn->group != GROUP_DRIVER || !cuda_armed || cuda_is_nvidia(caller))
		return NULL;
	return cuda_wrap(fn, real);
}
