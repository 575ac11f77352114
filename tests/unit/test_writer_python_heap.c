/* SPDX-License-Identifier: Apache-2.0 */
/* Which allocations of a file have a Python stack, and how call sites are told apart. */
#include "tests/unit/heap_image.h"
#include "tests/unit/pair_image.h"

static struct spool_image *image_of_python(enum cfg_python_stack wanted)
{
	struct spool_image *m = heap_image(1000, 100000);

	m->config.python_stack = wanted;
	return m;
}

#define GROW   "\"Call stack\":\"x.py(3): grow\","
#define SHRINK "\"Call stack\":\"x.py(3): shrink\","

/* The line of the first site or event that holds so many bytes. */
static bool has(const struct spool_image *m, const char *bytes, const char *want)
{
	const char *line = strstr(m->text, bytes), *at;

	ck_assert_msg(line, "no %s", bytes);
	while (line[-1] != '\n' && line[-1] != '[')
		line--;
	at = strstr(line, want);
	return at && at < strchr(line, '\n');
}

START_TEST(each_allocation_has_its_line)
{
	struct spool_image *m = image_of_python(PYTHON_OPS);
	uint32_t native = image_call_stack(m, image_module(m, "/x.so"), 0x100, 2);
	uint32_t grow = image_python_stack(m, "grow"),
		 shrink = image_python_stack(m, "shrink");

	image_alloc(m, HEAP_MALLOC, image_pair(m, native, grow), 0x5000, 1001, 3000);
	image_alloc(m, HEAP_MALLOC, image_pair(m, native, shrink), 0x6000, 2002, 4000);
	image_alloc(m, HEAP_MALLOC, native, 0x7000, 4004, 5000);
	image_alloc(m, HEAP_MALLOC, image_pair(m, 0, grow), 0x8000, 8008, 6000);
	image_write(m);
	heap_adds_up(m);
	ck_assert_uint_eq(heap_site_count(m), 4);
	ck_assert(has(m, "\"bytes\": 1001", "\"stack\": 0, " GROW));
	ck_assert(has(m, "\"bytes\": 2002", "\"stack\": 0, " SHRINK));
	ck_assert(has(m, "\"bytes\": 4004", "\"stack\": 0, \"op\""));
	ck_assert(has(m, "\"bytes\": 8008", "\"stack\": null, " GROW));
	ck_assert(has(m, "\"bytes\":1001", GROW));
	ck_assert(has(m, "\"bytes\":2002", SHRINK));
	ck_assert(!has(m, "\"bytes\":4004", "Call stack"));
	image_free(m);
}
END_TEST

/* Two that look the same are one site; and where nobody asked for stacks of Python there
 * are none, as a spool may have them all the same. */
START_TEST(what_is_shown_alike_is_one_site)
{
	struct spool_image *m = image_of_python(_i ? PYTHON_OPS : PYTHON_OFF);
	uint32_t native = image_call_stack(m, image_module(m, "/x.so"), 0x100, 2);
	uint32_t grow = image_python_stack(m, "grow");

	for (unsigned i = 0; i < 3; i++)
		image_alloc(m, HEAP_MALLOC, image_pair(m, native, grow), 0x5000 + 64 * i,
			    10, 3000 + i);
	image_write(m);
	heap_adds_up(m);
	ck_assert_uint_eq(heap_site_count(m), 1);
	ck_assert_int_eq(!!strstr(m->text, GROW), _i);
	image_free(m);
}
END_TEST

/* A stack of Python's like another one, stored again. */
static uint32_t again(struct spool_image *m, uint32_t stack)
{
	struct stack *s = image_stacks_room(m, sizeof(*s));

	*s = *(struct stack *)(m->base + 8ul * stack);
	return (uint32_t)(((uint8_t *)s - m->base) / 8);
}

/* Where the agent's index was crowded equal stacks have several ids. */
START_TEST(what_is_stored_again_is_one_site)
{
	enum { COPIES = 30 };
	struct spool_image *m = image_of_python(PYTHON_OPS);
	uint32_t module = image_module(m, "/x.so"), other = image_module(m, "/y.so");
	uint32_t grow = image_python_stack(m, "grow"),
		 shrink = image_python_stack(m, "shrink");

	for (unsigned i = 0; i < COPIES; i++) {
		uint32_t native = image_call_stack(m, module, 0x100, 3);
		uint32_t inner = image_call_stack(m, other, 0x100, 3);

		image_alloc(m, HEAP_MALLOC, image_pair(m, native, again(m, grow)),
			    0x50000 + 64 * i, 1, 3000 + i);
		image_alloc(m, HEAP_MALLOC, image_pair(m, inner, again(m, grow)),
			    0x60000 + 64 * i, 100, 3000 + i);
		image_alloc(m, HEAP_MALLOC, image_pair(m, native, again(m, shrink)),
			    0x70000 + 64 * i, 10000, 3000 + i);
		image_alloc(m, HEAP_MALLOC, image_call_stack(m, module, 0x110, 2),
			    0x80000 + 64 * i, 1000000, 3000 + i);
	}
	image_write(m);
	heap_adds_up(m);
	ck_assert_uint_eq(heap_site_count(m), 4);
	ck_assert(has(m, "\"bytes\": 30,", GROW));
	ck_assert(has(m, "\"bytes\": 3000,", GROW));
	ck_assert(has(m, "\"bytes\": 300000,", SHRINK));
	ck_assert(has(m, "\"bytes\": 30000000,", "\"op\""));
	image_free(m);
}
END_TEST

/* A caller that is its own, one outside of the file, or one at another depth: it is none
 * of those that look like it. */
START_TEST(damaged_stacks_keep_their_ids)
{
	struct spool_image *m = image_of_python(PYTHON_OPS);
	uint32_t stack = image_call_stack(m, image_module(m, "/x.so"), 0x100, 3);
	uint32_t copy = again(m, stack);
	struct stack *s = (struct stack *)(m->base + 8ul * copy);

	s->caller = _i == 0 ? copy : _i == 1 ? UINT32_MAX : s->caller;
	s->depth = _i == 2 ? 7 : s->depth;
	image_alloc(m, HEAP_MALLOC, stack, 0x5000, 10, 3000);
	image_alloc(m, HEAP_MALLOC, copy, 0x6000, 20, 3000);
	image_write(m);
	heap_adds_up(m);
	ck_assert_uint_eq(heap_site_count(m), 2);
	ck_assert_int_eq(heap_site_at(m, 0).stack, -1);
	ck_assert_int_eq(heap_site_at(m, 0).bytes, 20);
	ck_assert_int_eq(heap_site_at(m, 1).stack, 0);
	image_free(m);
}
END_TEST

/* A recursion of several depths looks the same where few frames are shown. */
START_TEST(the_deepest_of_those_that_look_alike_is_known)
{
	static const unsigned depth[] = { 10, 20, 15, 512 };
	struct spool_image *m = image_of_python(_i ? PYTHON_OPS : PYTHON_OFF);
	uint32_t module = image_module(m, "/x.so"), grow = image_python_stack(m, "grow");

	m->config.stack_depth = 4;
	for (unsigned i = 0; i < 4; i++)
		image_alloc(
			m, HEAP_MALLOC,
			image_pair(m, image_call_stack(m, module, 0x100, depth[i]), grow),
			0x5000 + 64 * i, 10, 3000 + i);
	image_alloc(m, HEAP_MALLOC, image_call_stack(m, module, 0x100, 30), 0x6000, 20,
		    4000);
	image_write(m);
	ck_assert_uint_eq(m->result.merges.cut, _i);
	ck_assert_uint_eq(m->result.merges.deepest, _i ? 20 : 0);
	image_free(m);
}
END_TEST

/* Small objects, as the agent says whether it saw all that became of them. */
static struct spool_image *image_of_objects(uint64_t since, uint64_t exchanged)
{
	struct spool_image *m = image_of_python(PYTHON_OPS);
	uint32_t grow = image_python_stack(m, "grow");

	m->info->python[PYTHON_OBJECTS] = since;
	m->info->python[PYTHON_EXCHANGED] = exchanged;
	image_alloc(m, HEAP_PYOBJECT, image_pair(m, 0, grow), 0x5000, 11, 5000);
	image_alloc(m, HEAP_PYMEM, image_pair(m, 0, grow), 0x6000, 22, 6000);
	image_alloc(m, HEAP_MALLOC, image_pair(m, 0, grow), 0x7000, 44, 7000);
	image_alloc(m, HEAP_MALLOC, image_pair(m, 0, grow), 0x8000, 44, 8000);
	image_release(m, 0x8000, 9000);
	image_write(m);
	heap_adds_up(m);
	return m;
}

START_TEST(small_objects_are_sites_of_their_own)
{
	struct spool_image *m = image_of_objects(4000, 0);

	ck_assert_uint_eq(heap_site_count(m), 3);
	ck_assert(has(m, "\"bytes\": 11", "\"call\": \"PyObject_Malloc\""));
	ck_assert(has(m, "\"bytes\": 22", "\"call\": \"PyMem_Malloc\""));
	ck_assert(strstr(m->text, "\"python objects\": {\"late_us\": 3, \"exchanged\": "
				  "false}"));
	image_free(m);
}
END_TEST

/* Then some of them may have been freed unseen. */
START_TEST(exchanged_allocators_leave_small_objects_out)
{
	struct spool_image *m = image_of_objects(500, 1);

	ck_assert_uint_eq(heap_site_count(m), 1);
	ck_assert(strstr(m->text, "\"call\": \"malloc\""));
	ck_assert_ptr_null(strstr(m->text, "PyObject_Malloc"));
	ck_assert(strstr(m->text, "\"python objects\": {\"late_us\": 0, \"exchanged\": "
				  "true}"));
	image_free(m);
}
END_TEST

START_TEST(objects_that_were_not_seen_are_left_out)
{
	struct spool_image *m = image_of_objects(0, 0);

	ck_assert_uint_eq(heap_site_count(m), 1);
	ck_assert(strstr(m->text, "\"python objects\": null"));
	m->info->python[PYTHON_UNSEEN] = 1;
	image_write(m);
	ck_assert(strstr(m->text, "\"python objects\": {\"unseen\": true}"));
	image_free(m);
}
END_TEST

static void release_object(struct spool_image *m, uint64_t address, unsigned sampled,
			   uint64_t ticks)
{
	image_release(m, address, ticks)->flags = (uint8_t)(HEAP_PYOBJECT | sampled);
}

/* Python's free says nothing of a block of malloc's, but that of a sample. */
START_TEST(each_block_is_freed_once)
{
	struct spool_image *m = image_of_python(PYTHON_OPS);
	const char *heap;

	m->info->python[PYTHON_OBJECTS] = 1000;
	image_alloc(m, HEAP_PYOBJECT, 0, 0x5000, 11, 2000);
	image_alloc(m, HEAP_MALLOC, 0, 0x6000, 1000, 3000);
	image_alloc(m, HEAP_MALLOC, 0, 0x7000, 1000, 4000);
	release_object(m, 0x5000, 0, 5000);
	release_object(m, 0x5000, 0, 5500);
	release_object(m, 0x6000, 0, 6000);
	image_release(m, 0x6000, 6500);
	release_object(m, 0x7000, HEAP_SAMPLED, 7000);
	release_object(m, 0x9000, 0, 8000); /* older, or malloc's: nobody knows */
	image_write(m);
	heap_adds_up(m);
	heap = strstr(m->text, "\"total\": {");
	ck_assert_int_eq(heap_number(heap, "\"frees\": "), 3);
	ck_assert_int_eq(heap_number(heap, "\"freed\": "), 2011);
	ck_assert_int_eq(heap_number(heap, "\"foreign_frees\": "), 0);
	image_free(m);
}
END_TEST

/* Nobody asked for them, or the heap's mode has none. */
START_TEST(it_is_said_where_small_objects_are_not_recorded)
{
	struct spool_image *m = image_of_python(PYTHON_OPS);

	m->config.python_heap = _i != 1;
	m->config.malloc = _i == 2 ? MALLOC_COUNT : MALLOC_ALL;
	image_alloc(m, HEAP_MALLOC, 0, 0x5000, 11, 5000);
	image_write(m);
	ck_assert_int_eq(!!strstr(m->text, "\"python objects\": null"), _i == 0);
	ck_assert_int_eq(!!strstr(m->text, "python objects"), _i == 0);
	image_free(m);
}
END_TEST

/* Ids that lead nowhere, to other kinds, or back to themselves. */
START_TEST(damaged_pairs_are_read_within_their_bounds)
{
	struct spool_image *m = image_of_python(PYTHON_OPS);
	uint32_t native = image_call_stack(m, image_module(m, "/x.so"), 0x100, 2);
	uint32_t grow = image_python_stack(m, "grow"), pair = image_pair(m, native, grow);
	const uint32_t id[] = { image_pair(m, 0xfffffff0, grow),
				image_pair(m, native, 0xfffffff0),
				image_pair(m, pair, pair),
				image_pair(m, grow, native),
				image_pair(m, 1, 2),
				0xffffffff };

	for (unsigned i = 0; i < sizeof(id) / sizeof(*id); i++)
		image_alloc(m, HEAP_MALLOC, id[i], 0x5000 + 4096 * i, 1 << i, 3000 + i);
	image_write(m);
	heap_adds_up(m);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("python heap");

	tcase_add_test(tc, each_allocation_has_its_line);
	tcase_add_loop_test(tc, what_is_shown_alike_is_one_site, 0, 2);
	tcase_add_test(tc, what_is_stored_again_is_one_site);
	tcase_add_loop_test(tc, damaged_stacks_keep_their_ids, 0, 3);
	tcase_add_loop_test(tc, the_deepest_of_those_that_look_alike_is_known, 0, 2);
	tcase_add_test(tc, small_objects_are_sites_of_their_own);
	tcase_add_test(tc, exchanged_allocators_leave_small_objects_out);
	tcase_add_test(tc, each_block_is_freed_once);
	tcase_add_test(tc, objects_that_were_not_seen_are_left_out);
	tcase_add_loop_test(tc, it_is_said_where_small_objects_are_not_recorded, 0, 3);
	tcase_add_test(tc, damaged_pairs_are_read_within_their_bounds);
	return unit_run(tc, "python heap");
}
