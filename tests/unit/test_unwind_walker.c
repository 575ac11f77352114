/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread keeps of its walks, and when that may not be used again. */
#include "agent/core/clock.h"
#include "agent/core/spool_view.h"
#include "agent/unwind/unwind.c"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"
#include "tests/unit/unwind_walk.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

static struct cycle_info info;

static void start(void)
{
	clock_start();
	ck_assert_int_eq(thread_start(), 0);
	ck_assert_int_eq(spool_open(NULL, 64 << 20), 0);
	ck_assert_int_eq(spool_prepare(64 << 20), 0);
	ck_assert_ptr_nonnull(thread_new());
	unwind_start(64, true);
}

static __attribute__((noinline)) uint32_t id_here(int depth)
{
	volatile uint32_t id = depth ? id_here(depth - 1) : unwind_stack(&info, 0);

	return id;
}

static unsigned depth_of(uint32_t id, unsigned *flags)
{
	static struct stack_frame f[STACKS_MOST];
	struct spool_view v;

	spool_view_init(&v, spool.base, spool.head->cap);
	return stacks_get(&v, id, f, STACKS_MOST, flags);
}

/* ---- another spool ---- */

/* In a chunk of stacks, and in the part of it that is handed out? */
static bool is_a_stacks(uint32_t id)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0, where = (uint64_t)id * 8;

	spool_view_init(&v, spool.base, spool.head->cap);
	while ((c = spool_view_next(&v, &at)))
		if (where - (uint64_t)((const uint8_t *)c - spool.base) < c->size)
			return c->kind == CHUNK_STACKS &&
			       (const uint8_t *)c + c->used > spool.base + where;
	return false;
}

/* What a thread has of room for stacks is of the spool that was: of the parent's, in a
 * child. */
START_TEST(room_is_of_the_spool_that_there_is)
{
	start();
	ck_assert(is_a_stacks(id_here(10)));
	spool_forget();
	ck_assert_int_eq(spool_open(NULL, 64 << 20), 0);
	ck_assert_int_eq(spool_prepare(64 << 20), 0);
	for (int i = 0; i < 16; i++)
		ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	for (int i = 0; i < 60; i++)
		ck_assert(is_a_stacks(id_here(i)));
}
END_TEST

/* ---- what was found out ---- */

static int (*linker)(void *pc, struct unwind_object *result);
static bool hidden;

static int hide(void *pc, struct unwind_object *result)
{
	return hidden ? -1 : linker(pc, result);
}

/* Code that nobody knows: an object may be there the next time. */
START_TEST(a_walk_that_ended_is_walked_again)
{
	unsigned flags;

	start();
	linker = unwind_find_object;
	unwind_find_object = hide;
	if (!linker)
		return;
	for (int i = 0; i < 10; i++) {
		hidden = i < 5;
		ck_assert_uint_eq(depth_of(id_here(10), &flags) > 10, !hidden);
		ck_assert_uint_eq(flags, hidden ? STACK_ENDED : 0);
	}
}
END_TEST

static struct unwind_result near_result;
static uintptr_t near_pc[STACKS_MOST];

static __attribute__((noinline)) bool near_here(int depth)
{
	static struct unwind_frame frame[STACKS_MOST];
	static uintptr_t bp[STACKS_MOST];
	static struct unwind_near near = {
		.room = STACKS_MOST, .matter = STACKS_MOST, .frame = frame, .bp = bp
	};
	volatile bool known = depth ? near_here(depth - 1)
				    : unwind_near(UNWIND_CALLER, &near, &near_result);

	if (!depth && known)
		unwind_near_pcs(&near, near_pc);
	return known;
}

/* The outermost stack has the flags of all: with others its number is another one. */
START_TEST(frames_are_known_by_the_flags_of_their_walk)
{
	uintptr_t end;

	start();
	ck_assert(near_here(5));
	ck_assert_uint_eq(near_result.flags, 0);
	end = near_pc[near_result.depth - 2] - 1;
	unwind_unmapped(); /* else what is there is not asked for */
	unwind_rule_keep(end, unwind_epoch, RULE_NONE);
	for (int i = 0; i < 2; i++)
		ck_assert(near_here(i));
	ck_assert_uint_eq(near_result.flags, STACK_ENDED);
	ck_assert_uint_gt(near_result.known, 0);
	unwind_rule_keep(end, unwind_epoch, RULE_OUTERMOST);
	for (int i = 0; i < 2; i++) {
		ck_assert(near_here(i));
		ck_assert_uint_eq(near_result.flags, 0);
		ck_assert_int_eq(near_result.known != 0, i);
	}
}
END_TEST

/* ---- modules ---- */

static uint8_t *object;

static int say(void *pc, struct unwind_object *o)
{
	static struct link_map map;
	struct {
		unsigned long long flags;
		void *begin, *end;
		struct link_map *map;
		void *eh_frame;
	} said = { 0, object, object + 8192, &map, NULL };

	if ((uintptr_t)pc - (uintptr_t)object >= 8192)
		return -1;
	map.l_addr = (uintptr_t)object - 0x5000; /* its first segment is not its first */
	map.l_name = (char *)"/lib/high.so";
	memcpy(o, &said, sizeof(said));
	return 0;
}

START_TEST(a_frame_lies_where_its_file_says)
{
	struct stack_frame f[STACKS_MOST];
	const struct stack_module *m;
	struct spool_view v;
	unsigned flags;
	uint32_t id;

	start();
	object = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	unwind_find_object = say;
	id = add_frame(NULL, 0, (uintptr_t)object + 0x123, 0);
	spool_view_init(&v, spool.base, spool.head->cap);
	ck_assert_uint_eq(stacks_get(&v, id, f, STACKS_MOST, &flags), 1);
	m = stacks_module_get(&v, f[0].module);
	ck_assert_ptr_nonnull(m);
	ck_assert_str_eq(m->path, "/lib/high.so");
	ck_assert_uint_eq(m->bias, (uintptr_t)object - 0x5000);
	ck_assert_uint_eq(f[0].offset, 0x5122);
	id = add_frame(NULL, 0, 0x1001, STACK_ENDED); /* nobody's */
	ck_assert_uint_eq(stacks_get(&v, id, f, STACKS_MOST, &flags), 1);
	ck_assert_uint_eq(f[0].module, 0);
	ck_assert_uint_eq(f[0].offset, 0x1000);
	ck_assert_uint_eq(flags, STACK_ENDED);
}
END_TEST

/* ---- frames known by heart ---- */

START_TEST(a_thread_with_many_ways_knows_more_of_them)
{
	struct walker *w;
	uint32_t first;

	start();
	w = walker_mine();
	forget_walk(w, epochs_now());
	first = add_frame(w, 0, 0x1001, 0);
	ck_assert_uint_ne(first, 0);
	ck_assert_uint_eq(w->callees, CALLEES_NEW);
	for (uintptr_t i = 0; i < 10 * CALLEES; i++) {
		uint32_t id = add_known_frame(w, first, 0x2000 + i);

		ck_assert_uint_eq(add_known_frame(w, first, 0x2000 + i), id);
		ck_assert_uint_le(w->callees, CALLEES);
	}
	ck_assert_uint_eq(w->callees, CALLEES);
	unwind_fork_child();
	ck_assert_uint_eq(w->callees, CALLEES_NEW);
	forget_walk(w, epochs_now() + 1);
	for (uintptr_t i = 0; i < CALLEES; i++)
		ck_assert(w->callee[i].pc != ((0x2000 + i) | w->turns));
}
END_TEST

/* ---- fork ---- */

static void *count_one_stack(void *arg)
{
	(void)arg;
	ck_assert_ptr_nonnull(thread_new());
	bump_count(walker_mine(), HEAP_STACKS);
	return thread_mine;
}

/* It has the state of one of the parent's threads, but not its counts. */
START_TEST(a_childs_new_thread_is_counted_on_its_own)
{
	void *before, *after;
	pthread_t thread;

	start();
	for (int i = 0; i < 5; i++)
		bump_count(walker_mine(), HEAP_STACKS);
	ck_assert_int_eq(pthread_create(&thread, NULL, count_one_stack, NULL), 0);
	pthread_join(thread, &before);
	thread_forget();
	unwind_fork_child(); /* as in a child */
	ck_assert_int_eq(pthread_create(&thread, NULL, count_one_stack, NULL), 0);
	pthread_join(thread, &after);
	ck_assert_ptr_eq(after, before);
	unwind_settle(&info);
	ck_assert_uint_eq(atomic_load(&info.heap[HEAP_STACKS]), 1);
}
END_TEST

/* ---- out of a handler ---- */

#define PART (256u << 10)

static uintptr_t seen_pc[100];
static unsigned seen, seen_flags;
static ucontext_t back, coroutine;
static volatile uintptr_t came_from;

static void handler(int number, siginfo_t *i, void *context)
{
	(void)number, (void)i;
	came_from = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
	seen = unwind_walk(seen_pc, 100, &seen_flags);
}

static void run_coroutine(void)
{
	raise(SIGUSR1);
}

/* The handler has a stack of its own, above the one that was interrupted and that nobody
 * knows the end of: what lies between the two is not to be read. */
START_TEST(where_a_signal_came_on_an_unknown_stack_is_the_end)
{
	struct sigaction act = { .sa_sigaction = handler,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK };
	char *all = mmap(NULL, 3 * PART, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t own = { .ss_sp = all + 2 * PART, .ss_size = PART };

	start();
	mprotect(all, PART, PROT_READ | PROT_WRITE);
	mprotect(all + 2 * PART, PART, PROT_READ | PROT_WRITE);
	ck_assert_int_eq(sigaltstack(&own, NULL), 0);
	ck_assert_int_eq(sigaction(SIGUSR1, &act, NULL), 0);
	getcontext(&coroutine);
	coroutine.uc_stack = (stack_t){ .ss_sp = all, .ss_size = PART };
	coroutine.uc_link = &back;
	makecontext(&coroutine, run_coroutine, 0);
	swapcontext(&back, &coroutine);
	ck_assert_uint_gt(seen, 2);
	ck_assert_uint_eq(seen_flags, STACK_FOREIGN);
	ck_assert_uint_eq(seen_pc[seen - 1], came_from + 1);
	raise(SIGUSR1); /* on the thread's own it goes on */
	ck_assert_uint_eq(seen_flags, 0);
	ck_assert_uint_ne(seen_pc[seen - 1], came_from + 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind walker");

	unit_not_under_thread_sanitizer("signals wait there, and stacks are its own");
	tcase_add_test(tc, room_is_of_the_spool_that_there_is);
	tcase_add_test(tc, a_walk_that_ended_is_walked_again);
	tcase_add_test(tc, frames_are_known_by_the_flags_of_their_walk);
	tcase_add_test(tc, a_frame_lies_where_its_file_says);
	tcase_add_test(tc, a_childs_new_thread_is_counted_on_its_own);
	tcase_add_test(tc, a_thread_with_many_ways_knows_more_of_them);
	tcase_add_test(tc, where_a_signal_came_on_an_unknown_stack_is_the_end);
	return unit_run(tc, "unwind_walker");
}
