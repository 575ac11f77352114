/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_real - the real functions as the test plays them: these take the place of
 * cuda/find.c.
 *
 * Threads  one.  Memory  static.  Errors  none.  Units  none.
 */
#ifndef TESTS_CALL_REAL_H
#define TESTS_CALL_REAL_H

#include "agent/cuda/libraries.h"

#include <string.h>

struct real_function {
	const char *name;
	void *fn;
};
/* Ends with a name that is NULL; the test's. */
static const struct real_function real_functions[];

static char real_any; /* the address of any other function */
static char real_nvidia; /* an address in one of NVIDIA's libraries */
_Atomic bool cuda_armed;

void *cuda_locate(enum cuda_group group, const char *name)
{
	(void)group;
	for (const struct real_function *r = real_functions; r->name; r++)
		if (!strcmp(r->name, name))
			return r->fn;
	return NULL;
}

void *cuda_find_beside(const void *beside, const char *name)
{
	(void)beside;
	return cuda_locate(GROUP_NCCL, name);
}

const char *cuda_group_library(enum cuda_group group)
{
	(void)group;
	return "";
}

const struct cuda_function *cuda_function_of(uint32_t slot)
{
	return &cuda_functions[slot];
}

void *cuda_resolve(uint32_t slot, const void *caller)
{
	(void)slot, (void)caller;
	return &real_any;
}

void cuda_find_again(void)
{
}

uint32_t cuda_slot_for(const struct cuda_function *fn, void *real)
{
	(void)real;
	return (uint32_t)(fn - cuda_functions);
}

bool cuda_is_ours(const void *at)
{
	(void)at;
	return false;
}

bool cuda_is_nvidia(const void *at)
{
	return at == &real_nvidia;
}

bool cuda_called_by_nvidia(const void *caller)
{
	return cuda_is_nvidia(caller);
}

#endif
