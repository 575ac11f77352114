/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/recover/fill.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE    4096
#define GOES_ON (1 << 20)

/* A long text of which only `head` may be read: what comes behind it is a fault. */
static struct span only(const char *head)
{
	char *base = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	char *room = mmap(NULL, GOES_ON, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t n = strlen(head);

	ck_assert_ptr_ne(base, MAP_FAILED);
	ck_assert_ptr_ne(room, MAP_FAILED);
	base = mremap(base, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, room);
	ck_assert_ptr_ne(base, MAP_FAILED);
	memcpy(base + PAGE - n, head, n);
	return (struct span){ base + PAGE - n, base + GOES_ON };
}

START_TEST(events_are_not_read_for_a_heap_that_is_not_there)
{
	struct span heap;

	ck_assert_int_eq(
		refill_find(only("{\"schemaVersion\": 1,\n\"proflaunch\": {\"version\": "
				 "\"1\", \"config\": {\"a\": \"}\"}},\n"),
			    &heap),
		REFILL_NOTHING);
}
END_TEST

START_TEST(events_are_not_read_for_a_heap_that_is)
{
	struct span heap;

	ck_assert_int_eq(
		refill_find(only("{\"proflaunch\": {\"heap\": {\"mode\": \"all\"}},"),
			    &heap),
		REFILL_HEAP);
	ck_assert_uint_eq((size_t)(heap.end - heap.at), strlen("{\"mode\": \"all\"}"));
	ck_assert_int_eq(memcmp(heap.at, "{\"mode\": \"all\"}", 15), 0);
}
END_TEST

START_TEST(a_head_that_is_cut_needs_more)
{
	static const char whole[] =
		"{\"a\": [1], \"proflaunch\": {\"b\": 2, \"heap\": {\"c\": 3}},";
	const size_t heap_end = strlen(whole) - 2;
	struct span heap;

	for (size_t n = 1; n <= heap_end; n++)
		ck_assert_msg(refill_find((struct span){ whole, whole + n }, &heap) ==
				      (n < heap_end ? REFILL_MORE : REFILL_HEAP),
			      "%zu bytes", n);
}
END_TEST

START_TEST(others_have_none)
{
	static const char *const texts[] = {
		"",
		"[",
		"x",
		"{\"traceEvents\": [{\"heap\": {}}]}",
		"{\"proflaunch\": {}, \"proflaunch\": {\"heap\": {}}}",
	};
	struct span heap;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		ck_assert_int_eq(refill_find((struct span){ texts[i],
							    texts[i] + strlen(texts[i]) },
					     &heap),
				 REFILL_NOTHING);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("refill");

	tcase_add_test(tc, events_are_not_read_for_a_heap_that_is_not_there);
	tcase_add_test(tc, events_are_not_read_for_a_heap_that_is);
	tcase_add_test(tc, a_head_that_is_cut_needs_more);
	tcase_add_test(tc, others_have_none);
	return unit_run(tc, "refill");
}
