/* SPDX-License-Identifier: Apache-2.0 */
/* device - devices, contexts, streams and kernels of the virtual GPU. */
#include "tests/fake/driver_internal.h"

#include <pthread.h>
#include <unistd.h>

enum { BUCKETS = 256 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Recursive: who is injected may call cuInit. */
static pthread_mutex_t making = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct fake_device devices[MAX_DEVICES];
static int n_devices = -1;
static struct fake_context *contexts[MAX_CONTEXTS];
static uint32_t n_contexts;
static struct fake_function *functions[BUCKETS];
static enum { COLD, STARTING, READY } state;
static volatile int dead; /* what calls return: 3 in a child, 4 at the end */
static __thread struct fake_context *current;
static __thread int wanted_device;
static __thread struct fake_stream *own_stream; /* cudaStreamPerThread */

void gpu_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void gpu_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

static void in_child(void)
{
	if (state != COLD)
		dead = cudaErrorInitializationError;
}

static void at_exit(void)
{
	observer->exited();
	dead = cudaErrorCudartUnloading;
}

int device_dead(void)
{
	return dead;
}

bool device_ready(void)
{
	return state != COLD && !dead;
}

/* As the driver: the library that CUDA_INJECTION64_PATH names, before any context. */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	bool may = script_number("FAKE_INJECT", 1);
	void *library = may && path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*start)(void) =
		library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;

	if (start)
		start();
}

int device_init(void)
{
	int result = 0;

	if (dead)
		return dead;
	pthread_mutex_lock(&making);
	if (state == COLD) {
		n_devices = (int)script_number("FAKE_DEVICES", 1);
		if (n_devices > MAX_DEVICES)
			n_devices = MAX_DEVICES;
		if (n_devices <= 0)
			result = cudaErrorNoDevice;
	}
	if (state == COLD && result == 0) {
		const char *name = script_text("FAKE_NAME");

		for (int i = 0; i < n_devices; i++)
			devices[i] = (struct fake_device){ name ? name : "Fake H100 80GB",
							   80ull << 30,
							   9,
							   0,
							   132,
							   1980000,
							   NULL };
		state = STARTING;
		pthread_atfork(NULL, NULL, in_child);
		inject();
		state = READY;
		atexit(at_exit);
		for (int i = 0; i < n_devices; i++)
			observer->resource(DEVICE_FOUND, &devices[i], (uint64_t)i, 0);
		observer->resource(INIT_DONE, NULL, 0, 0);
	}
	pthread_mutex_unlock(&making);
	return result;
}

int device_count(void)
{
	return n_devices < 0 ? 0 : n_devices;
}

struct fake_device *device_get(int ordinal)
{
	return ordinal >= 0 && ordinal < device_count() ? &devices[ordinal] : NULL;
}

static struct fake_stream *new_stream(struct fake_context *c)
{
	struct fake_stream *s = calloc(1, sizeof(*s));

	gpu_lock();
	s->context = c;
	s->id = c->next_stream++;
	s->next = c->streams;
	c->streams = s;
	if (c->next_stream == 8)
		c->next_stream = 13; /* as one sees it: 7, then 13, 14 ... */
	gpu_unlock();
	return s;
}

struct fake_context *device_create(int device)
{
	struct fake_context *c = calloc(1, sizeof(*c));

	gpu_lock();
	c->device = device;
	c->id = n_contexts + 1;
	c->next_stream = 7;
	if (n_contexts < MAX_CONTEXTS)
		contexts[n_contexts++] = c;
	if (n_contexts == 1)
		atexit(at_exit);
	gpu_unlock();
	c->null = new_stream(c);
	c->null->legacy = true;
	observer->resource(CONTEXT_MADE, c, time_now(), 0);
	observer->resource(STREAM_MADE, c->null, time_now(), 0);
	return c;
}

struct fake_context *device_primary(int device)
{
	struct fake_device *d = device_get(device);

	if (!d)
		return NULL;
	pthread_mutex_lock(&making);
	if (!d->primary)
		d->primary = device_create(device);
	pthread_mutex_unlock(&making);
	return d->primary;
}

struct fake_context *device_current(bool make)
{
	if (!current && make)
		current = device_primary(wanted_device);
	return current;
}

void device_make_current(struct fake_context *context)
{
	current = context;
	own_stream = NULL;
}

void device_want(int device)
{
	struct fake_device *d = device_get(device);

	wanted_device = device;
	device_make_current(d ? d->primary : NULL);
}

int device_wanted(void)
{
	return current ? current->device : wanted_device;
}

struct fake_stream *device_stream_create(unsigned flags, int priority)
{
	struct fake_stream *s = new_stream(device_current(true));

	s->blocking = !(flags & 1);
	s->priority = priority;
	observer->resource(STREAM_MADE, s, time_now(), 0);
	return s;
}

/* NULL and 1 are the legacy stream, 2 is the thread's own. */
struct fake_stream *device_stream(CUstream handle, bool per_thread)
{
	struct fake_context *c = device_current(true);
	uintptr_t number = (uintptr_t)handle;

	if (number > 2)
		return handle->gone ? NULL : handle;
	if (number == 2 || (number == 0 && per_thread)) {
		if (!own_stream || own_stream->context != c)
			own_stream = device_stream_create(0, 0);
		return own_stream;
	}
	return c->null;
}

void device_each_context(void (*visit)(struct fake_context *))
{
	for (uint32_t i = 0; i < n_contexts; i++)
		visit(contexts[i]);
}

static uint32_t bucket(const char *name)
{
	return (uint32_t)(fake_value(1, name, 0) >> 16) % BUCKETS;
}

struct fake_function *device_kernel(const char *mangled)
{
	static uint32_t next_id;
	struct fake_function **list = &functions[bucket(mangled)], *f;

	gpu_lock();
	for (f = *list; f && strcmp(f->name, mangled) != 0; f = f->next)
		;
	if (!f) {
		f = calloc(1, sizeof(*f));
		f->name = strdup(mangled);
		f->self = f;
		f->id = ++next_id;
		f->registers = 32;
		f->next = *list;
		*list = f;
	}
	gpu_unlock();
	return f;
}

struct fake_function *device_is_kernel(const void *address)
{
	struct fake_function *f = (struct fake_function *)address;

	return f && f->self == f ? f : NULL;
}

EXPORT void *fake_kernel(const char *mangled, void (*body)(void **args))
{
	struct fake_function *f = device_kernel(mangled);

	f->body = body;
	return f;
}

EXPORT uint64_t fake_now(void)
{
	return time_now() + (uint64_t)script_number("FAKE_SKEW_NS", 0);
}

EXPORT void fake_wait(void)
{
	time_until(totals.last_end);
}

EXPORT void fake_totals(struct fake_totals *out)
{
	gpu_lock();
	*out = totals;
	gpu_unlock();
	out->last_end += (uint64_t)script_number("FAKE_SKEW_NS", 0);
}

EXPORT void fake_reset_totals(void)
{
	gpu_lock();
	totals = (struct fake_totals){ .last_end = totals.last_end };
	gpu_unlock();
}
