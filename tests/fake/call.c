/* SPDX-License-Identifier: Apache-2.0 */
/* call - API calls as the observer sees them; which of them fail. */
#include "tests/fake/driver_internal.h"

#include <pthread.h>

enum { MAX_FUNCTIONS = 1024 };

static const char *names[MAX_FUNCTIONS]; /* by number; 0 is none */
static uint32_t n_names = 1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread struct fake_call *current;

static void no_call(struct fake_call *call)
{
	(void)call;
}

static void no_work(const struct fake_work *work)
{
	(void)work;
}

static void no_sync(const struct fake_sync *sync)
{
	(void)sync;
}

static void no_block(const struct fake_block *block)
{
	(void)block;
}

static void no_resource(enum fake_resource what, void *of, uint64_t begin, uint64_t end)
{
	(void)what;
	(void)of;
	(void)begin;
	(void)end;
}

static void no_exit(void)
{
}

static const struct fake_observer nobody = { no_call,  no_call,     no_work, no_sync,
					     no_block, no_resource, no_exit };
const struct fake_observer *observer = &nobody;
struct fake_totals totals;

void call_observe(const struct fake_observer *by)
{
	__atomic_store_n(&observer, by ? by : &nobody, __ATOMIC_RELEASE);
}

uint32_t call_function(const char *name)
{
	uint32_t i;

	pthread_mutex_lock(&mutex);
	for (i = 1; i < n_names && strcmp(names[i], name) != 0; i++)
		;
	if (i == n_names && n_names < MAX_FUNCTIONS)
		names[n_names++] = strdup(name);
	pthread_mutex_unlock(&mutex);
	return i;
}

const char *call_name(uint32_t function)
{
	return function && function < n_names ? names[function] : "";
}

static void busy(void)
{
	long long take = SETTING("FAKE_API_NS", 0);
	uint64_t until;

	if (take <= 0)
		return;
	until = time_now() + (uint64_t)take;
	while (time_now() < until)
		;
}

/* call->function and call->domain are set. */
int call_enter(struct fake_call *call, const char *name)
{
	if (device_dead())
		return device_dead();
	call->outer = current;
	call->nested = current && call->domain == DRIVER_API;
	current = call;
	observer->enter(call);
	if (!call->nested) {
		gpu_lock();
		if (call->domain == RUNTIME_API)
			totals.runtime_calls++;
		else
			totals.driver_calls++;
		gpu_unlock();
		busy();
	}
	return script_error(name, -1);
}

void call_leave(struct fake_call *call, int result)
{
	if (current != call)
		return;
	call->result = result;
	observer->leave(call);
	current = call->outer;
}
