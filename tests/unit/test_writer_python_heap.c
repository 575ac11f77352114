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
	tcase_add_test(tc, damaged_pairs_are_read_within_their_bounds);
	return unit_run(tc, "python heap");
}
