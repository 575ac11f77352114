/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are called through ours: while a window is open, and as they were else.
 */
#include "agent/core/names.h"
#include "agent/python/c_place.h"
#include "tests/unit/emit_bench.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>

static void *last[5];

static void *add_five(void *a, void *b, void *c, void *d, void *e)
{
	last[0] = a, last[1] = b, last[2] = c, last[3] = d, last[4] = e;
	errno = 7;
	return (char *)a + 1;
}

static void *never(void *a, void *b, void *c, void *d, void *e)
{
	(void)a, (void)b, (void)c, (void)d, (void)e;
	return NULL;
}

static c_place_function *row[3];

static void setup_rows(void)
{
	row[0] = add_five;
	row[1] = never;
	row[2] = add_five;
	ck_assert(c_place_add(&row[0], "numpy.add_five", 14));
	ck_assert(c_place_add(&row[1], "numpy.never", 11));
}

static void *call_row(unsigned i)
{
	char *at = (char *)row;

	return row[i](at, at + 1, at + 2, at + 3, at + 4);
}

static const struct record *nth_call(unsigned n)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at))) {
		const uint8_t *p = (const uint8_t *)(c + 1);
		const uint8_t *end = (const uint8_t *)c + c->used;

		for (; c->kind == CHUNK_DATA && p < end;
		     p += ((const struct record *)p)->units * 8u)
			if (((const struct record *)p)->kind == REC_C_CALL && !n--)
				return (const struct record *)p;
	}
	return NULL;
}

static bool is_named(const struct record *r, const char *name)
{
	struct spool_view v;
	const struct name *n;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	n = names_get(&v, r->name);
	return n && n->len == strlen(name) && !memcmp(n->text, name, n->len);
}

START_TEST(calls_are_records_in_a_window_alone)
{
	bench_open((unsigned)_i, 4 << 20);
	setup_rows();
	ck_assert(c_place_find(&row[0]) && c_place_find(&row[1]) &&
		  !c_place_find(&row[2]));
	ck_assert_uint_eq(c_place_count(), 2);
	c_place_settle();
	ck_assert(row[0] == add_five);
	bench_cycle(1);
	c_place_settle();
	c_place_settle();
	ck_assert(row[0] != add_five && row[1] != never && row[2] == add_five);
	errno = 0;
	for (unsigned i = 0; i < 200; i++) {
		ck_assert_ptr_eq(call_row(0), (char *)row + 1);
		ck_assert_int_eq(errno, 7);
	}
	for (unsigned i = 0; i < 5; i++)
		ck_assert_ptr_eq(last[i], (char *)row + i);
	ck_assert_ptr_null(call_row(1));
	ck_assert(is_named(nth_call(0), "numpy.add_five"));
	ck_assert(is_named(nth_call(199), "numpy.add_five"));
	ck_assert(is_named(nth_call(200), "numpy.never"));
	ck_assert_ptr_null(nth_call(201));
	for (unsigned i = 0; i < 201; i++)
		ck_assert_uint_ge(nth_call(i)->end, nth_call(i)->begin);
	gate_set(0, 0);
	/* Who has the pointer still gets what was there. */
	ck_assert_ptr_eq(call_row(0), (char *)row + 1);
	c_place_settle();
	ck_assert(row[0] == add_five && row[1] == never);
	ck_assert_ptr_null(nth_call(201));
}
END_TEST

/* Each event has the same chance to be timed. */
START_TEST(some_calls_are_timed)
{
	bench_open(WAY_OWN, 4 << 20);
	setup_rows();
	bench_cycle(1);
	c_place_settle();
	for (unsigned i = 0; i < 2000; i++)
		call_row(0);
	ck_assert_uint_gt(bench_info()->cost[COST_C_CALL].samples, 5);
	ck_assert_uint_lt(bench_info()->cost[COST_C_CALL].samples, 200);
	ck_assert_uint_gt(bench_info()->cost[COST_C_CALL].ticks, 0);
}
END_TEST

START_TEST(what_another_tool_has_put_there_stays)
{
	bench_open(WAY_OWN, 4 << 20);
	setup_rows();
	bench_cycle(1);
	row[0] = never;
	c_place_settle();
	ck_assert(row[0] == never && row[1] != never);
	row[1] = add_five;
	c_place_leave();
	ck_assert(row[0] == never && row[1] == add_five);
	row[0] = add_five;
	c_place_settle(); /* the interpreter has ended */
	ck_assert(row[0] == add_five);
}
END_TEST

START_TEST(constants_are_left_alone)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	c_place_function **at = (c_place_function **)(void *)pages;

	ck_assert_ptr_ne(pages, MAP_FAILED);
	at[0] = add_five;
	at[512] = add_five;
	ck_assert_int_eq(mprotect(pages, 4096, PROT_READ), 0);
	ck_assert(!sys_can_write(at) && sys_can_write(&at[512]) && at[512] == add_five);
	ck_assert(!sys_can_write(NULL));
	ck_assert(c_place_add(&at[512], "b", 1));
	ck_assert(!c_place_add(&at[0], "a", 1));
	ck_assert_uint_eq(c_place_count(), 1);
	ck_assert(!c_place_find(&at[0]));
}
END_TEST

START_TEST(no_more_than_there_is_room_for)
{
	static c_place_function *many[C_PLACES + 1];

	for (unsigned i = 0; i <= C_PLACES; i++) {
		many[i] = add_five;
		ck_assert_int_eq(c_place_add(&many[i], "n", 1), i < C_PLACES);
	}
	bench_open(WAY_OWN, 4 << 20);
	bench_cycle(1);
	c_place_settle();
	for (unsigned i = 0; i < C_PLACES; i++)
		ck_assert(many[i] != add_five && (!i || many[i] != many[i - 1]));
	ck_assert(many[C_PLACES] == add_five);
	ck_assert_ptr_eq(many[C_PLACES - 1](row, 0, 0, 0, 0), (char *)row + 1);
	ck_assert_ptr_nonnull(nth_call(0));
}
END_TEST

/* Its names are in another spool. */
START_TEST(a_forks_child_has_what_was_there)
{
	int status;
	pid_t pid;

	bench_open(WAY_OWN, 4 << 20);
	setup_rows();
	bench_cycle(1);
	c_place_settle();
	call_row(0);
	pid = fork();
	if (!pid) {
		c_place_fork_child();
		_exit(row[0] == add_five && row[1] == never ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert(row[0] != add_five);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("c place");

	tcase_add_loop_test(tc, calls_are_records_in_a_window_alone, 0, WAYS);
	tcase_add_test(tc, some_calls_are_timed);
	tcase_add_test(tc, what_another_tool_has_put_there_stays);
	tcase_add_test(tc, constants_are_left_alone);
	tcase_add_test(tc, no_more_than_there_is_room_for);
	tcase_add_test(tc, a_forks_child_has_what_was_there);
	return unit_run(tc, "c place");
}
