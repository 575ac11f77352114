/* SPDX-License-Identifier: Apache-2.0 */
/* operator new and delete on C++ libraries that the test plays itself. */
#include "tests/unit/heap_bench.h"

#if HEAP_HOOKS

int heap_personality(int version, int actions, uint64_t class, void *exception,
		     void *context);

static struct cycle_info *info;
static unsigned deleted;

/* libstdc++'s: by malloc, which comes back to us. */
static void *new_by_malloc(size_t size)
{
	return hook_test_malloc(size);
}

/* ... after its handler has made room. */
static void *new_with_a_handler(size_t size)
{
	void *p = hook_test_malloc((size_t)1 << 62);

	ck_assert_ptr_null(p);
	hook_test_malloc(50); /* the program's handler */
	return hook_test_malloc(size);
}

/* A window ends and the next one begins meanwhile; malloc is called between them. */
static void *new_across_windows(size_t size)
{
	void *p;

	gate_set(0, 0);
	heap_ended(info, true);
	p = hook_test_malloc(size);
	info = heap_begin_window(2);
	return p;
}

static void delete_nothing(void *p)
{
	(void)p;
	deleted++;
}

#define FORMS(DO)                                                     \
	DO(_Znwm, HEAP_NEW, (7))                                      \
	DO(_Znam, HEAP_NEW_ARRAY, (7))                                \
	DO(_ZnwmRKSt9nothrow_t, HEAP_NEW, (7, ""))                    \
	DO(_ZnamRKSt9nothrow_t, HEAP_NEW_ARRAY, (7, ""))              \
	DO(_ZnwmSt11align_val_t, HEAP_NEW, (7, 16))                   \
	DO(_ZnamSt11align_val_t, HEAP_NEW_ARRAY, (7, 16))             \
	DO(_ZnwmSt11align_val_tRKSt9nothrow_t, HEAP_NEW, (7, 16, "")) \
	DO(_ZnamSt11align_val_tRKSt9nothrow_t, HEAP_NEW_ARRAY, (7, 16, ""))

START_TEST(each_form_is_one_record_of_its_name)
{
	info = heap_window(HEAP_ALL);
#define CALL(name, call, args)                                                      \
	{                                                                           \
		unsigned before = heap_records(REC_ALLOC, call);                    \
                                                                                    \
		*(void **)&heap_real.name = (void *)new_by_malloc;                  \
		ck_assert_ptr_nonnull(hook_test_##name args);                       \
		ck_assert_msg(heap_records(REC_ALLOC, call) == before + 1, #name);  \
		ck_assert_ptr_nonnull(hook_test_##name args); /* now it is known */ \
		ck_assert_msg(heap_records(REC_ALLOC, call) == before + 2, #name);  \
	}
	FORMS(CALL)
#undef CALL
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 16);
}
END_TEST

/* Where our hooks could not be hidden, and no object had the form. */
START_TEST(a_form_that_nobody_has_is_served_by_malloc)
{
	void *p = hook_test__ZnwmSt11align_val_t(7, 256);

	ck_assert_uint_eq((uintptr_t)p % 256, 0);
	hook_test__ZdlPvSt11align_val_t(p, 256);
	p = hook_test__ZnwmSt11align_val_t(7, 1); /* less than malloc knows of */
	ck_assert_ptr_nonnull(p);
	hook_test__ZdlPvSt11align_val_t(p, 1);
	ck_assert_ptr_nonnull(p = hook_test__Znam(0));
	hook_test__ZdaPv(p);
	ck_assert_ptr_null(
		hook_test__ZnwmRKSt9nothrow_t((size_t)1 << 62, (const void *)""));
}
END_TEST

START_TEST(what_a_new_handler_allocates_is_the_programs)
{
	info = heap_window(HEAP_ALL);
	*(void **)&heap_real._Znwm = (void *)new_with_a_handler;
	ck_assert_ptr_nonnull(hook_test__Znwm(7));
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC), 2);
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 2);
	ck_assert_uint_eq(guard_word, 0);
}
END_TEST

START_TEST(nothing_is_learnt_from_a_call_across_windows)
{
	info = heap_window(HEAP_ALL);
	*(void **)&heap_real._Znwm = (void *)new_across_windows;
	hook_test__Znwm(7);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC), 0);
	*(void **)&heap_real._Znwm = (void *)new_by_malloc;
	hook_test__Znwm(7);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC), 0);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_NEW), 2);
}
END_TEST

/* The unwinder's two rounds: it searches, then it leaves the frames behind. */
START_TEST(an_exception_ends_the_call)
{
	enum { SEARCHING = 1, CLEANING = 2, GO_ON = 8 };

	guard_word = 4096;
	ck_assert_int_eq(heap_personality(1, SEARCHING, 0, NULL, NULL), GO_ON);
	ck_assert_uint_eq(guard_word, 4096);
	ck_assert_int_eq(heap_personality(1, CLEANING, 0, NULL, NULL), GO_ON);
	ck_assert_uint_eq(guard_word, 0);
}
END_TEST

START_TEST(a_block_of_the_arena_is_no_librarys_to_delete)
{
	void *p = boot_malloc(10), *q;

	heap_prepare(HEAP_ALL);
	heap_start(&heap_config, 1);
	*(void **)&heap_real._ZdlPv = (void *)delete_nothing;
	hook_test__ZdlPv(p); /* no window is open */
	ck_assert_uint_eq(deleted, 0);
	info = heap_begin_window(1);
	hook_test__ZdlPv(p);
	ck_assert_uint_eq(deleted, 0);
	ck_assert_uint_eq(heap_records(REC_FREE, -1), 0);
	q = hook_test_malloc(10);
	hook_test__ZdlPv(q);
	ck_assert_uint_eq(deleted, 1);
	ck_assert_uint_eq(heap_records(REC_FREE, HEAP_DELETE), 1);
}
END_TEST

START_TEST(nothing_is_not_deleted)
{
	info = heap_window(HEAP_ALL);
	*(void **)&heap_real._ZdlPv = (void *)delete_nothing;
	hook_test__ZdlPv(NULL);
	ck_assert_uint_eq(deleted, 0);
	ck_assert_uint_eq(heap_records(REC_FREE, -1), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap new");

	tcase_add_test(tc, each_form_is_one_record_of_its_name);
	tcase_add_test(tc, a_form_that_nobody_has_is_served_by_malloc);
	tcase_add_test(tc, what_a_new_handler_allocates_is_the_programs);
	tcase_add_test(tc, nothing_is_learnt_from_a_call_across_windows);
	tcase_add_test(tc, an_exception_ends_the_call);
	tcase_add_test(tc, a_block_of_the_arena_is_no_librarys_to_delete);
	tcase_add_test(tc, nothing_is_not_deleted);
	return unit_run(tc, "heap_new");
}

#else

int main(void)
{
	puts("not under a sanitizer: it brings its own malloc, so there are no hooks");
	return 77;
}

#endif
