/* SPDX-License-Identifier: Apache-2.0 */
/* A tool that stands between a program and its allocators, with ours in front of it. */
#include "tests/unit/domain_bench.h"

#if HEAP_HOOKS

#define TOOL (&heap_domain_ours[HEAP_DOMAIN_TOOL][HEAP_DOMAIN_OBJECT])

static const struct allocator *behind; /* what the tool has found */
static size_t before; /* bytes that it has in front of each block */
static bool takes_notes; /* and a block of its own besides */

static void take_note(void)
{
	if (takes_notes)
		hook_test_free(hook_test_malloc(300));
}

static void *tool_malloc(void *context, size_t size)
{
	char *p = behind->malloc(context, size + 2 * before);

	take_note();
	return p ? p + before : p;
}

static void *tool_calloc(void *context, size_t count, size_t size)
{
	char *p = behind->calloc(context, 1, count * size + 2 * before);

	take_note();
	return p ? p + before : p;
}

static void *tool_realloc(void *context, void *old, size_t size)
{
	char *p = behind->realloc(context, old ? (char *)old - before : NULL,
				  size + 2 * before);

	take_note();
	return p ? p + before : p;
}

static void tool_free(void *context, void *p)
{
	behind->free(context, p ? (char *)p - before : p);
	take_note();
}

static const struct allocator theirs = { NULL, their_malloc, their_calloc, their_realloc,
					 their_free };

/* Six tools: three that hand on what they get and three that do not, those of each kind
 * with ours in front of the interpreter's, in front of that alone, and with notes. */
static struct cycle_info *window_of_tool(int kind, bool sample)
{
	heap_domain_next[HEAP_DOMAIN_TOOL][HEAP_DOMAIN_OBJECT] =
		(struct allocator){ NULL, tool_malloc, tool_calloc, tool_realloc,
				    tool_free };
	behind = kind % 3 ? &theirs : OBJECT;
	takes_notes = kind % 3 == 2;
	before = kind / 3 * 16;
	return window_of(sample);
}

static unsigned objects_of(enum record_kind kind)
{
	return heap_records(kind, HEAP_PYOBJECT);
}

static bool lives(const void *p)
{
	unsigned made = 0, gone = 0;

	for (unsigned i = 0; i < objects_of(REC_ALLOC); i++)
		made += heap_record(REC_ALLOC, HEAP_PYOBJECT, i)->end == (uintptr_t)p;
	for (unsigned i = 0; i < objects_of(REC_FREE); i++)
		gone += heap_record(REC_FREE, HEAP_PYOBJECT, i)->end == (uintptr_t)p;
	return made && !gone;
}

/* As the program gets it, with the size that it has asked for. */
START_TEST(what_a_tool_gives_is_recorded_once)
{
	void *p, *q, *moved;

	window_of_tool(_i, false);
	p = TOOL->malloc(given, 40);
	q = TOOL->calloc(given, 3, 10);
	ck_assert(lives(p) && lives(q));
	ck_assert_uint_eq(objects_of(REC_ALLOC), 2);
	moved = TOOL->realloc(given, p, 50);
	ck_assert(!lives(p) && lives(moved) && lives(q));
	ck_assert_uint_eq(objects_of(REC_ALLOC), 3);
	ck_assert_uint_eq(
		((const struct rec_alloc *)heap_record(REC_ALLOC, HEAP_PYOBJECT, 2))
			->bytes,
		50);
	TOOL->free(given, moved);
	TOOL->free(given, q);
	TOOL->free(given, NULL);
	ck_assert(!lives(moved) && !lives(q));
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC), takes_notes ? 6 : 0);
	ck_assert_uint_eq(guard_word, 0);
}
END_TEST

START_TEST(what_a_tool_has_of_malloc_is_mallocs)
{
	unsigned notes;
	void *p;

	window_of_tool(_i, false);
	notes = takes_notes;
	p = TOOL->malloc(given, LARGE);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_MALLOC), 1 + notes);
	ck_assert_uint_eq(objects_of(REC_ALLOC), 0);
	TOOL->free(given, p);
	ck_assert_uint_eq(heap_records(REC_FREE, HEAP_FREE), 1 + 2 * notes);
	/* From a pool to malloc, and on from there. */
	p = TOOL->malloc(given, 100);
	ck_assert(lives(p));
	TOOL->realloc(given, p, 5000);
	ck_assert(!lives(p));
	ck_assert_uint_eq(objects_of(REC_ALLOC), 1);
	p = TOOL->realloc(given, TOOL->calloc(given, 1, LARGE), 6000);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_REALLOC), 1);
	ck_assert_uint_eq(heap_records(REC_FREE, HEAP_REALLOC), 1);
	ck_assert_uint_eq(objects_of(REC_ALLOC), 1);
	TOOL->realloc(given, NULL, LARGE);
	ck_assert_uint_eq(objects_of(REC_ALLOC), 1);
	ck_assert_uint_eq(guard_word, 0);
}
END_TEST

START_TEST(samples_of_a_tool_are_told_once)
{
	void *p, *q;

	window_of_tool(_i, true);
	heap_gap.left = takes_notes ? 300 : 0;
	p = TOOL->malloc(given, 100);
	ck_assert_uint_eq(heap_records(REC_ALLOC, HEAP_PYOBJECT | HEAP_SAMPLED), 1);
	heap_gap.left = 1 << 20;
	q = TOOL->calloc(given, 1, 100);
	p = TOOL->realloc(given, p, 80);
	ck_assert_uint_eq(heap_records(REC_FREE, HEAP_PYOBJECT | HEAP_SAMPLED), 1);
	ck_assert_uint_eq(heap_gap.left, (1 << 20) - 180 - (takes_notes ? 600 : 0));
	TOOL->free(given, p);
	TOOL->free(given, q);
	ck_records(1, 1);
}
END_TEST

START_TEST(what_fails_in_a_tool_leaves_no_record)
{
	void *p;

	window_of_tool(_i, false);
	takes_notes = false;
	p = TOOL->malloc(given, 10);
	fails = true;
	ck_assert_ptr_null(TOOL->malloc(given, 10));
	ck_assert_ptr_null(TOOL->calloc(given, 1, 10));
	ck_assert_ptr_null(TOOL->realloc(given, p, 20));
	fails = false;
	ck_records(1, 0);
	guard_word = GUARD_OURS;
	TOOL->free(given, TOOL->realloc(given, TOOL->malloc(given, 10), 20));
	ck_assert_uint_eq(guard_word, GUARD_OURS);
	guard_word = 0;
	ck_records(1, 0);
}
END_TEST

static const struct allocator *idle;

static void hear_idle(const struct allocator *ours)
{
	idle = ours;
}

START_TEST(it_is_told_that_there_is_nothing_to_record)
{
	struct cycle_info *info = window_of_tool(_i, false);

	heap_domain_idle = hear_idle;
	TOOL->free(given, TOOL->malloc(given, 10));
	ck_assert_ptr_null(idle);
	gate_set(0, 0);
	heap_ended(info, true);
	TOOL->malloc(given, 10);
	ck_assert_ptr_eq(idle, _i % 3 ? TOOL : OBJECT);
	MEM->realloc(given, NULL, 10);
	ck_assert_ptr_eq(idle, MEM);
	OBJECT->calloc(given, 1, 10);
	ck_assert_ptr_eq(idle, OBJECT);
	idle = NULL;
	OBJECT->free(given, pool);
	ck_assert_ptr_eq(idle, OBJECT);
}
END_TEST

/* Debug hooks have taken ours for what is behind them. */
START_TEST(who_calls_itself_is_stepped_over)
{
	struct allocator kept = theirs;
	struct allocator_behind below = { &kept, theirs };
	void *p;

	below.was.context = given;
	window_of_tool(0, false);
	heap_domain_next[HEAP_DOMAIN_TOOL][HEAP_DOMAIN_OBJECT].context = &below;
	behind = &kept;
	before = 16;
	p = TOOL->malloc(given, 10);
	ck_assert_ptr_eq(p, at - 32); /* 42 bytes are 48 */
	kept = *TOOL;
	p = TOOL->realloc(&kept, TOOL->malloc(&kept, 10), 20);
	ck_assert_ptr_eq(p, at - 32);
	TOOL->free(&kept, p);
	p = TOOL->calloc(&kept, 1, 10);
	ck_assert_ptr_eq(p, at - 16);
	ck_assert_uint_eq(objects_of(REC_ALLOC), 4);
}
END_TEST

#endif

int main(void)
{
	TCase *tc = tcase_create("heap_tool");

#if HEAP_HOOKS
	tcase_add_test(tc, who_calls_itself_is_stepped_over);
	tcase_add_loop_test(tc, what_a_tool_gives_is_recorded_once, 0, 6);
	tcase_add_loop_test(tc, what_a_tool_has_of_malloc_is_mallocs, 0, 6);
	tcase_add_loop_test(tc, samples_of_a_tool_are_told_once, 0, 6);
	tcase_add_loop_test(tc, what_fails_in_a_tool_leaves_no_record, 0, 6);
	tcase_add_loop_test(tc, it_is_told_that_there_is_nothing_to_record, 0, 6);
#endif
	return unit_run(tc, "heap_tool");
}
