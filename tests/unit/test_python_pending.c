/* SPDX-License-Identifier: Apache-2.0 */
/* When the interpreter makes a call for us, and when that is too early. */
#include "agent/python/interpreter.h"
#include "agent/python/pending.h"
#include "base/sys.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static unsigned long version = 0x030d00f0;
static int initialised = 1, full;
static void *lock = &version; /* the state of its holder */
static int (*queued)(void *);
static unsigned adds, calls;
static int references;
/* The frames from the innermost one on: each calls the one before it. */
static char frame[4];
static unsigned innermost;

static int is_initialised(void)
{
	return initialised;
}

static int add_call(int (*call)(void *), void *arg)
{
	ck_assert_ptr_null(arg);
	queued = call;
	adds++;
	return full;
}

static void *get_state(void)
{
	return lock;
}

static void *get_frame(void)
{
	if (innermost > 3)
		return NULL;
	return &frame[innermost];
}

static void *get_caller(void *of)
{
	if (of == &frame[3])
		return NULL;
	references++;
	return (char *)of + 1;
}

static void release(void *of)
{
	ck_assert_ptr_nonnull(of);
	references--;
}

bool interpreter_find(const struct interpreter_symbol *symbol, size_t n)
{
	static const struct {
		const char *name;
		void *is;
	} known[] = {
		{ "Py_IsInitialized", (void *)is_initialised },
		{ "Py_AddPendingCall", (void *)add_call },
		{ "Py_Version", &version },
		{ "PyThreadState_GetUnchecked", (void *)get_state },
		{ "PyEval_GetFrame", (void *)get_frame },
		{ "PyFrame_GetBack", (void *)get_caller },
		{ "Py_DecRef", (void *)release },
	};

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++)
			if (!strcmp(symbol[i].name, known[k].name))
				memcpy(symbol[i].to, &known[k].is, sizeof(void *));
	return true;
}

static int count_call(void *arg)
{
	(void)arg;
	calls++;
	return 0;
}

START_TEST(nothing_is_asked_of_no_interpreter)
{
	ck_assert(!pending_ready() && !pending_counts_threads());
	ck_assert(!pending_add(count_call) && !pending_after(count_call));
	ck_assert(pending_find());
	initialised = 0;
	ck_assert(!pending_ready() && !pending_counts_threads());
	ck_assert(!pending_add(count_call) && !pending_after(count_call));
	ck_assert_uint_eq(adds, 0);
	initialised = 1;
	ck_assert(pending_counts_threads() && pending_add(count_call));
	version = 0x030bffff;
	ck_assert(!pending_counts_threads());
	full = -1;
	ck_assert(!pending_add(count_call) && !pending_after(count_call));
	full = 0;
	lock = NULL;
	ck_assert(!pending_after(count_call));
	lock = &lock;
	innermost = 4; /* C that no Python has called */
	ck_assert(!pending_after(count_call));
}
END_TEST

static void *add_elsewhere(void *arg)
{
	ck_assert(!pending_add(count_call));
	version = 0x030cffff;
	ck_assert(!pending_add_any(count_call));
	version = 0x030d00f0;
	ck_assert(!arg || pending_add_any(count_call));
	ck_assert(pending_ready());
	return NULL;
}

/* 3.9 to 3.12 forget a signal for the main thread then. */
START_TEST(no_other_thread_asks)
{
	pthread_t id;

	ck_assert(pending_find());
	ck_assert_int_eq(pthread_create(&id, NULL, add_elsewhere, NULL), 0);
	pthread_join(id, NULL);
	ck_assert_uint_eq(adds, 0);
	ck_assert(pending_add(count_call));
	ck_assert_uint_eq(adds, 1);
	ck_assert_int_eq(pthread_create(&id, NULL, add_elsewhere, &id), 0);
	pthread_join(id, NULL);
	ck_assert_uint_eq(adds, 2); /* since 3.13 nothing is lost by it */
}
END_TEST

/* Frame 2 calls a function of C, and that runs Python: frames 1 and 0. */
START_TEST(a_call_waits_until_the_function_has_returned)
{
	pending_find();
	innermost = 2;
	ck_assert(pending_after(count_call));
	for (unsigned i = 0; i < 5; i++) {
		innermost = i % 2;
		ck_assert_int_eq(queued(NULL), 0);
	}
	ck_assert_uint_eq(calls, 0);
	ck_assert_uint_eq(adds, 6);
	innermost = _i ? 2 : 3; /* back in it, or it has returned as well */
	ck_assert_int_eq(queued(NULL), 0);
	ck_assert_uint_eq(calls, 1);
	ck_assert_uint_eq(adds, 6);
	ck_assert_int_eq(references, 0);
}
END_TEST

START_TEST(a_call_waits_no_longer_than_it_may)
{
	pending_find();
	innermost = 2;
	ck_assert(pending_after(count_call));
	innermost = 0;
	full = -1;
	queued(NULL); /* too many calls wait: it is made now */
	ck_assert_uint_eq(calls, 1);
	full = 0;
	innermost = 2;
	ck_assert(pending_after(count_call));
	innermost = 0;
	/* Each costs the program; and it may be the one that takes long. */
	for (adds = 0; calls < 2 && adds < 30000;) {
		if (_i)
			usleep(40000);
		queued(NULL);
	}
	ck_assert_uint_eq(calls, 2);
	ck_assert_uint_le(adds, _i ? 4 : 20000);
	ck_assert_int_eq(references, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("python pending");

	tcase_add_test(tc, nothing_is_asked_of_no_interpreter);
	tcase_add_loop_test(tc, a_call_waits_until_the_function_has_returned, 0, 2);
	tcase_add_loop_test(tc, a_call_waits_no_longer_than_it_may, 0, 2);
	tcase_add_test(tc, no_other_thread_asks);
	return unit_run(tc, "python pending");
}
