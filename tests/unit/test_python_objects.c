/* SPDX-License-Identifier: Apache-2.0 */
/* The allocators of an interpreter that the test plays itself. */
#include "agent/core/gate.h"
#include "agent/python/check.h"
#include "agent/python/interpreter.h"
#include "agent/python/objects.h"
#include "tests/unit/emit_bench.h"

static bool lock_held = true;
static unsigned interpreters, sets;
static struct cycle_info *looking; /* whoever ended the window looks again and again */
static struct python_layout layout = { .minor = 12 };

/* _PyRuntime, with its three allocators somewhere in it. */
static struct {
	char before[1 << 15];
	struct allocator raw, there[OBJECTS_DOMAINS];
	char after[1 << 16];
} runtime;
static struct allocator next[OBJECTS_DOMAINS];
static void *interpreter_runtime = &runtime;

static void *take(void *context, size_t size)
{
	(void)context;
	return malloc(size);
}

static void *take_from_pool(void *context, size_t size)
{
	return take(context, size);
}

static const struct allocator by_malloc = { .malloc = take },
			      pools = { .malloc = take_from_pool },
			      tool = { .context = &runtime, .malloc = take },
			      ours[OBJECTS_DOMAINS] = { { .calloc = (void *)1 },
							{ .calloc = (void *)2 } };

bool check_holds_lock(void)
{
	return lock_held;
}

/* ---- the interpreter ---- */

static void get_allocator(int domain, struct allocator *into)
{
	*into = (&runtime.raw)[domain];
}

static void set_allocator(int domain, const struct allocator *from)
{
	(&runtime.raw)[domain] = *from;
	sets++;
	if (looking)
		objects_ended(looking);
}

static void *newest_interpreter(void)
{
	return interpreters > 1 ? (void *)&interpreters : (void *)&interpreter;
}

static void *oldest_interpreter(void)
{
	return &interpreter;
}

bool interpreter_find(const struct interpreter_symbol *symbol, size_t n)
{
	const struct {
		const char *name;
		void *is;
	} known[] = {
		{ "PyMem_GetAllocator", (void *)get_allocator },
		{ "PyMem_SetAllocator", (void *)set_allocator },
		{ "PyInterpreterState_Head", (void *)newest_interpreter },
		{ "PyInterpreterState_Main", (void *)oldest_interpreter },
		{ "_PyRuntime", interpreter_runtime },
	};

	for (size_t i = 0; i < n; i++) {
		ck_assert_str_eq(symbol[i].name, known[i].name);
		memcpy(symbol[i].to, &known[i].is, sizeof(void *));
	}
	return true;
}

struct interpreter interpreter;

/* ---- windows ---- */

static bool are_there(const struct allocator *mem, const struct allocator *object)
{
	return !memcmp(&runtime.there[0], mem, sizeof(*mem)) &&
	       !memcmp(&runtime.there[1], object, sizeof(*object));
}

static void put(const struct allocator *a)
{
	runtime.there[0] = runtime.there[1] = *a;
}

static void setup(void)
{
	interpreter.layout = &layout;
	bench_open(WAY_OWN, 16 << 20);
	bench_cycle(1);
	runtime.raw = by_malloc;
	put(&pools);
	objects_prepare(ours, next);
}

/* A window begins; since when they are recorded in it. */
static uint64_t begin(uint64_t number)
{
	if (number > 1)
		bench_cycle(number);
	bench_info()->begin = 77;
	ck_assert(objects_missing(bench_info()->number));
	objects_begin(bench_info());
	ck_assert(!objects_missing(bench_info()->number));
	return atomic_load(&bench_info()->python[PYTHON_OBJECTS]);
}

static bool exchanged(struct cycle_info *info)
{
	objects_ended(info);
	return atomic_load(&info->python[PYTHON_EXCHANGED]);
}

static struct cycle_info *end(void)
{
	struct cycle_info *info = bench_info();

	gate_set(0, 0);
	return info;
}

START_TEST(ours_are_there_in_a_window)
{
	layout.minor = _i ? 12 : 11;
	setup();
	ck_assert(!objects_missing(0));
	ck_assert_uint_gt(begin(1), 77);
	ck_assert(are_there(&ours[0], &ours[1]));
	ck_assert(!memcmp(&next[0], &pools, sizeof(pools)));
	objects_begin(bench_info()); /* again: nothing */
	ck_assert_uint_eq(sets, 2);
	objects_over(); /* it is still open */
	ck_assert(are_there(&ours[0], &ours[1]));
	looking = end();
	ck_assert(!exchanged(looking));
	objects_over();
	ck_assert(are_there(&pools, &pools));
	ck_assert(!exchanged(looking));
	objects_over();
	/* What can be looked at is written without a call, too. */
	ck_assert_uint_eq(sets, _i ? 2 : 4);
	looking = NULL;
	ck_assert_uint_gt(begin(2), 77);
	ck_assert(are_there(&ours[0], &ours[1]));
}
END_TEST

START_TEST(a_window_that_follows_at_once_has_them_from_its_begin)
{
	setup();
	begin(1);
	end();
	ck_assert_uint_eq(begin(2), 77);
	ck_assert_uint_eq(sets, 2);
	ck_assert(!memcmp(&next[0], &pools, sizeof(pools)));
}
END_TEST

START_TEST(nothing_is_exchanged_without_the_lock)
{
	setup();
	lock_held = false;
	objects_begin(bench_info());
	ck_assert(objects_missing(bench_info()->number));
	ck_assert_uint_eq(sets, 0);
	lock_held = true;
	begin(1);
	end();
	lock_held = false;
	objects_over();
	ck_assert(are_there(&ours[0], &ours[1]));
	lock_held = true;
	for (unsigned i = 0; i < 5000; i++)
		objects_over();
	ck_assert(are_there(&pools, &pools));
}
END_TEST

START_TEST(interpreters_with_a_lock_each_keep_theirs)
{
	setup();
	interpreters = 2;
	ck_assert_uint_eq(begin(1), 0);
	ck_assert_uint_eq(sets, 0);
	layout.minor = 11;
	end();
	ck_assert_uint_ne(begin(2), 0);
	ck_assert(are_there(&ours[0], &ours[1]));
	/* Nor are they put back where there are several by now. */
	end();
	layout.minor = 12;
	objects_over();
	ck_assert(are_there(&ours[0], &ours[1]));
	interpreters = 1;
	for (unsigned i = 0; i < 5000; i++)
		objects_over();
	ck_assert(are_there(&pools, &pools));
}
END_TEST

/* What they give is no block of what is behind them. */
START_TEST(in_front_of_another_tool_they_are_not)
{
	setup();
	put(&tool);
	ck_assert_uint_eq(begin(1), 0);
	ck_assert(are_there(&tool, &tool));
	ck_assert(!exchanged(end()));
	runtime.there[0] = pools; /* of the objects alone */
	ck_assert_uint_eq(begin(2), 0);
	ck_assert_uint_eq(sets, 0);
	end();
	put(&by_malloc); /* malloc's hooks see each of them */
	ck_assert_uint_eq(begin(3), 77);
	ck_assert(!exchanged(end()));
	ck_assert_uint_eq(sets, 0);
}
END_TEST

START_TEST(behind_another_tool_ours_stay_until_it_is_gone)
{
	setup();
	begin(1);
	runtime.there[1] = tool;
	ck_assert(exchanged(end())); /* nobody knows what it does */
	objects_over();
	ck_assert(are_there(&pools, &tool));
	ck_assert_uint_eq(begin(2),
			  0); /* in front of the tool they would call themselves */
	ck_assert(are_there(&pools, &tool));
	end();
	runtime.there[1] = ours[1]; /* the tool puts back what it had found */
	for (unsigned i = 0; i < 5000; i++)
		objects_over();
	ck_assert(are_there(&pools, &pools));
	ck_assert_uint_gt(begin(3), 77);
	ck_assert(are_there(&ours[0], &ours[1]));
}
END_TEST

START_TEST(a_tool_that_takes_ours_away_is_seen)
{
	struct cycle_info *info;

	setup();
	begin(1);
	put(&pools);
	info = end();
	/* The next window has begun before anybody looks. */
	ck_assert_uint_gt(begin(2), 77);
	ck_assert(are_there(&ours[0], &ours[1]));
	ck_assert(exchanged(info));
	ck_assert(!exchanged(end()));
}
END_TEST

START_TEST(what_cannot_be_looked_at_is_not_exchanged)
{
	setup();
	memset(runtime.after, 1, sizeof(runtime.after));
	interpreter_runtime = runtime.after;
	objects_prepare(ours, next);
	ck_assert_uint_eq(begin(1), 0);
	ck_assert(are_there(&pools, &pools));
}
END_TEST

START_TEST(a_forks_child_counts_windows_anew)
{
	setup();
	begin(1);
	objects_fork_child();
	ck_assert(objects_missing(bench_info()->number));
	objects_begin(bench_info());
	ck_assert_uint_eq(atomic_load(&bench_info()->python[PYTHON_OBJECTS]), 77);
	ck_assert_uint_eq(sets, 2);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("python_objects");

	tcase_add_loop_test(tc, ours_are_there_in_a_window, 0, 2);
	tcase_add_test(tc, a_window_that_follows_at_once_has_them_from_its_begin);
	tcase_add_test(tc, nothing_is_exchanged_without_the_lock);
	tcase_add_test(tc, interpreters_with_a_lock_each_keep_theirs);
	tcase_add_test(tc, in_front_of_another_tool_they_are_not);
	tcase_add_test(tc, behind_another_tool_ours_stay_until_it_is_gone);
	tcase_add_test(tc, a_tool_that_takes_ours_away_is_seen);
	tcase_add_test(tc, what_cannot_be_looked_at_is_not_exchanged);
	tcase_add_test(tc, a_forks_child_counts_windows_anew);
	return unit_run(tc, "python_objects");
}
