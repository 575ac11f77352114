/* SPDX-License-Identifier: Apache-2.0 */
/* What lies just at an edge of the core: a byte, a word, an instruction too far. */
#include "agent/core/chunk.h"
#include "agent/core/thread.c"
#include "config/config.h"
#include "tests/unit/emit_bench.h"
#include "tests/unit/step.h"

#include <sys/wait.h>
#include <unistd.h>

#define CAP (1 << 20)

/* ---- a thread's end ---- */

static uint64_t next_at, left_then;
static bool was_quiet;

/* Its writer need not wait for anybody: what is left later is not in the window's. */
static void close_window(void)
{
	gate_set(2, next_at);
	was_quiet = thread_quiet(1);
	left_then = atomic_load(&leftover);
}

static struct thread *ending;

static void end_it(void)
{
	thread_end(ending);
}

START_TEST(a_window_may_end_while_a_thread_does)
{
	unsigned left = 0, kept = 0;

	bench_open((unsigned)_i, CAP);
	bench_cycle(1);
	next_at = bench_descriptor(2);
	ck_assert(emit_one(1));
	ending = thread_mine;
	for (unsigned k = 0;; k++) {
		struct chunk *chunk = ending->chunk;
		uint8_t *at = ending->at, *limit = ending->limit;
		bool more;

		was_quiet = false;
		more = step_run(end_it, k, close_window);
		ck_assert_uint_eq(atomic_load(&ending->emitting), 0);
		if (was_quiet)
			ck_assert_uint_eq(atomic_load(&leftover), left_then);
		*(atomic_load(&leftover) & OFFSETS ? &left : &kept) += 1;
		if (!more)
			break;
		thread_leave_nothing();
		gate_set(1, next_at);
		ending->chunk = chunk;
		ending->at = at;
		ending->limit = ending->end = limit;
		ending->cycle = 1;
	}
	ck_assert_uint_gt(left, 0);
	ck_assert_uint_gt(kept, 0);
}
END_TEST

/* ---- a thread's first chunk ---- */

static bool in_child;

/* A handler that forks: its child goes on where it was interrupted, with the gate that
 * the kernel has wiped. */
static void go_on_in_a_child(void)
{
	int status;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (!child) {
		in_child = true;
		gate_set(0, 0);
		return;
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

static void emit_first(void)
{
	emit_one(1);
}

START_TEST(a_child_of_a_handler_goes_on_from_each_instruction)
{
	uint64_t used, passes = 0;
	bool more = true;

	bench_open(WAY_OWN, CAP);
	bench_cycle(1);
	used = atomic_load(&spool.head->used);
	/* Nothing is ready: the chunk is one that counts as such. */
	for (; more; passes++) {
		atomic_store(&spool.head->ready, 0);
		more = step_run(emit_first, (unsigned)passes, go_on_in_a_child);
		if (in_child)
			_exit(0);
		*thread_mine = (struct thread){ .live = 1,
						.next = thread_mine->next,
						.tid = thread_mine->tid };
		atomic_store(&spool.head->used, used);
	}
	ck_assert_uint_ge(atomic_load(&bench_info()->faulted), passes);
}
END_TEST

/* ---- facts ---- */

/* With " = ", its newline and the zero that ends all. */
START_TEST(the_last_fact_fits_or_is_not_there)
{
	char value[SPOOL_FACTS + 16];

	bench_open(0, CAP);
	for (size_t len = SPOOL_FACTS - 16; len < SPOOL_FACTS + 8; len++) {
		uint8_t *behind = (uint8_t *)spool.head->facts + SPOOL_FACTS;

		memset(value, '7', len);
		value[len] = '\0';
		memset(spool.head->facts, 0, SPOOL_FACTS);
		*behind = 0xee;
		spool_fact("k", value);
		ck_assert_int_eq(spool.head->facts[0] != 0, len + 6 < SPOOL_FACTS);
		ck_assert_uint_eq(*behind, 0xee);
	}
}
END_TEST

/* ---- options ---- */

/* Neither the begin of such a word nor what begins with one. */
START_TEST(a_part_of_a_word_is_no_flag)
{
	static const char *const words[] = { "o", "of",   "offf", "n",     "nope",
					     "y", "yess", "t",    "tru",   "truee",
					     "f", "00",   "11",   "on off" };
	static struct config c;

	config_defaults(&c);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const char *no = config_set(&c, "quiet", words[i]);

		ck_assert_msg(no && strstr(no, "is neither on nor off"), "%s", words[i]);
	}
	ck_assert_uint_eq(c.quiet, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core edges");

	unit_not_under_thread_sanitizer("a signal behind each instruction waits there");
	tcase_add_loop_test(tc, a_window_may_end_while_a_thread_does, 0, WAYS);
	tcase_add_test(tc, a_child_of_a_handler_goes_on_from_each_instruction);
	tcase_add_test(tc, the_last_fact_fits_or_is_not_there);
	tcase_add_test(tc, a_part_of_a_word_is_no_flag);
	return unit_run(tc, "core edges");
}
