/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that records point to, and what is none. */
#include "agent/cupti/flow/text.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096u

/* Two pages that can be read before one that cannot. */
static char *pages(void)
{
	char *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	memset(at, 'x', 2 * PAGE);
	ck_assert_int_eq(munmap(at + 2 * PAGE, PAGE), 0);
	return at;
}

START_TEST(a_text_is_measured)
{
	char *at = pages();
	size_t n = 0;

	strcpy(at + PAGE - 3, "gemm"); /* over the edge of a page */
	ck_assert(text_length(at + PAGE - 3, &n));
	ck_assert_uint_eq(n, 4);
	at[2 * PAGE - 1] = '\0';
	ck_assert(text_length(at + 2 * PAGE - 1, &n));
	ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(what_cannot_be_read_is_no_text)
{
	char *at = pages();
	size_t n = 77;

	ck_assert(!text_length(at + 2 * PAGE, &n));
	ck_assert(!text_length(at + PAGE, &n)); /* has no end before the edge */
	ck_assert(!text_length((const char *)8, &n));
	ck_assert(!text_length((const char *)0x8000000000000000ull, &n));
	ck_assert_uint_eq(n, 77);
}
END_TEST

/* A pointer into somebody's data: a name is never so long. */
START_TEST(nobody_reads_a_long_text_to_its_end)
{
	static char text[1 << 20];
	size_t n = 0;

	memset(text, 'x', sizeof(text) - 1);
	ck_assert(text_length(text, &n));
	ck_assert_uint_gt(n, 8192);
	ck_assert_uint_le(n, 8192 + PAGE);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, a_text_is_measured);
	tcase_add_test(tc, what_cannot_be_read_is_no_text);
	tcase_add_test(tc, nobody_reads_a_long_text_to_its_end);
	return unit_run(tc, "texts of CUPTI's records");
}
