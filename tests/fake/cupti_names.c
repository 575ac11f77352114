/* SPDX-License-Identifier: Apache-2.0 */
/* cupti_names - what this version's headers call things, and how large records are. */
#include "tests/fake/cupti_internal.h"

enum { MAX_CALLS = 1024, NAME_SIZE = 512 };

static const char *const runtime_names[MAX_CALLS] = {
#define X(id, name) [id] = #name,
	FAKE_RUNTIME_CALLS(X)
#undef X
};

static const char *const driver_names[MAX_CALLS] = {
#define X(id, name) [id] = #name,
	FAKE_DRIVER_CALLS(X)
#undef X
};

const char *name_of(int domain, uint32_t cbid)
{
	if (cbid >= MAX_CALLS)
		return NULL;
	return domain == RUNTIME_API  ? runtime_names[cbid]
	       : domain == DRIVER_API ? driver_names[cbid]
				      : NULL;
}

/* "cudaLaunchKernel" is cudaLaunchKernel_v7000; the driver's names are whole. */
uint32_t name_cbid(int domain, const char *function)
{
	size_t length = strlen(function);

	for (uint32_t i = 1; i < MAX_CALLS; i++) {
		const char *name = name_of(domain, i);

		if (!name || strncmp(name, function, length) != 0)
			continue;
		if (!name[length])
			return i;
		if (domain == RUNTIME_API && name[length] == '_' &&
		    name[length + 1] == 'v' &&
		    strspn(name + length + 2, "0123456789") >= 4 &&
		    strlen(name + length + 2) == strspn(name + length + 2, "0123456789"))
			return i;
	}
	return 0;
}

/* Fields of structs inside records, by their path: headers.py has the outer ones. */
#define INNER_FIELDS(X)                                       \
	X(0, MEMORY2, memoryPoolConfig.memoryPoolType, 'n')   \
	X(0, MEMORY2, memoryPoolConfig.address, 'n')          \
	X(0, MEMORY2, memoryPoolConfig.releaseThreshold, 'n') \
	X(0, MEMORY2, memoryPoolConfig.pool.size, 'n')        \
	X(0, MEMORY2, memoryPoolConfig.utilizedSize, 'n')     \
	X(0, OVERHEAD, objectId.pt.processId, 'n')            \
	X(0, OVERHEAD, objectId.pt.threadId, 'n')

static const struct fake_field fields[] = {
#define X(kind, kind_name, field, type)          \
	{ CUPTI_ACTIVITY_KIND_##kind_name,       \
	  #kind_name,                            \
	  #field,                                \
	  offsetof(rec_##kind_name, field),      \
	  sizeof(((rec_##kind_name *)0)->field), \
	  sizeof(rec_##kind_name),               \
	  type },
	FAKE_FIELDS(X) INNER_FIELDS(X)
#undef X
};

static const struct fake_constant constants[] = {
#define X(name) { #name, (uint32_t)name },
	FAKE_CONSTANTS(X)
#undef X
};

EXPORT const struct fake_field *fake_fields(size_t *n)
{
	*n = sizeof(fields) / sizeof(*fields);
	return fields;
}

EXPORT const struct fake_constant *fake_constants(size_t *n)
{
	*n = sizeof(constants) / sizeof(*constants);
	return constants;
}

size_t name_stride(uint32_t kind)
{
	static uint32_t strides[64];

	if (!strides[5])
		for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
			strides[fields[i].kind] = fields[i].stride;
	return kind < 64 ? strides[kind] : 0;
}

/* A kernel's name as CUPTI keeps it. fake_reuse_name makes one memory serve another. */
static struct kept {
	struct kept *next;
	const struct fake_function *of;
	char *text;
} * kept;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static char *keep(const struct fake_function *f)
{
	struct kept *k;

	for (k = kept; k && k->of != f; k = k->next)
		;
	if (!k) {
		k = calloc(1, sizeof(*k));
		k->of = f;
		k->text = calloc(1, NAME_SIZE);
		snprintf(k->text, NAME_SIZE, "%s", f->name);
		k->next = kept;
		kept = k;
	}
	return k->text;
}

const char *name_kernel(const struct fake_function *f)
{
	static __thread const struct fake_function *last;
	static __thread const char *text;

	if (last == f)
		return text;
	pthread_mutex_lock(&mutex);
	text = keep(f);
	last = f;
	pthread_mutex_unlock(&mutex);
	return text;
}

/* The module of `from` is unloaded and `to`'s comes to lie in its place: its name is now
 * at the same address. */
EXPORT void fake_reuse_name(const char *from, const char *to)
{
	const struct fake_function *f = cupti.gpu->kernel(from),
				   *t = cupti.gpu->kernel(to);
	struct kept *k;
	char *text;

	pthread_mutex_lock(&mutex);
	text = keep(f);
	keep(t);
	snprintf(text, NAME_SIZE, "%s", to);
	for (k = kept; k; k = k->next)
		if (k->of == t)
			k->text = text;
	pthread_mutex_unlock(&mutex);
}
