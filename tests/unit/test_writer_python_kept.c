/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks and frames of every size, kept and forgotten. */
#include "tests/unit/python_bench.h"

START_TEST(text_is_escaped)
{
	start_with_folders("\"/a\\b\"");
	ck_assert_str_eq(
		written(call(0, add_code("C:\\x\"\n\xff.py", "<l\xc3\xa4>\\", 1), 0),
			false),
		"\"Call stack\":\"C:\\\\x\\\"\\n\xef\xbf\xbd.py(1): <l\xc3\xa4>"
		"\\u005c\",");
	ck_assert(is_valid());
	is_shown_as("/a\\b/x.py", "x.py");
	python_free(&trace);
}
END_TEST

/* Names as long as they can be, all of whose bytes are escaped: the text goes through the
 * file's buffer in pieces. */
START_TEST(the_longest_stack_there_is_is_written_whole)
{
	char name[CODES_TEXT + 1];
	uint32_t id = 0;
	size_t len;

	start_writing();
	config.stack_depth = STACKS_MOST;
	memset(name, '\x01', CODES_TEXT);
	name[CODES_TEXT] = '\0';
	for (unsigned i = 0; i < STACKS_MOST; i++)
		id = call(id, add_code(name, name, UINT32_MAX - i), 0);
	for (unsigned again = 0; again < 2; again++) {
		len = strlen(written(id, false));
		ck_assert_uint_eq(len, STACKS_MOST * (12ul * CODES_TEXT + 15) - 1 + 16);
		ck_assert(is_valid());
	}
	python_free(&trace);
}
END_TEST

/* A stack is kept up to some length: below, at and above it no byte is lost. */
START_TEST(stacks_of_each_length_are_written_whole)
{
	char name[CODES_TEXT + 1], want[10 * CODES_TEXT];
	uint32_t id = 0;

	start_writing();
	memset(name, 'n', CODES_TEXT);
	name[CODES_TEXT] = '\0';
	for (unsigned i = 0; i < 7; i++)
		id = call(id, add_code("", name, 1), 2 * i);
	for (int n = 900; n < 1020; n++) {
		uint32_t inner;
		size_t len = (size_t)sprintf(want, "\"Call stack\":\"(2): %.*s", n, name);

		for (unsigned i = 0; i < 7; i++)
			len += (size_t)sprintf(want + len, ";(1): %s", name);
		sprintf(want + len, "\",");
		name[n] = '\0';
		inner = call(id, add_code("", name, 2), 0);
		name[n] = 'n';
		for (unsigned again = 0; again < 3; again++)
			ck_assert_str_eq(written(inner, false), want);
	}
	python_free(&trace);
}
END_TEST

/* ---- what is kept, and forgotten ---- */

static void is_written_so(uint32_t id, unsigned inner, unsigned outer)
{
	char want[128];

	fmt(want, sizeof(want), "\"Call stack\":\"x.py(%u): f;x.py(%u): f\",", inner,
	    outer);
	if (strcmp(written(id, false), want))
		ck_abort_msg("%s instead of %s", text, want);
}

/* More stacks than are kept, in an order in which they push each other out. */
START_TEST(stacks_that_were_forgotten_are_written_again)
{
	enum { INNER = 100, OUTER = 60 };
	static uint32_t code[INNER], id[OUTER][INNER];
	uint64_t x = 88172645463325252ull;

	start_writing();
	for (unsigned i = 0; i < INNER; i++)
		code[i] = add_code("x.py", "f", 1 + i);
	for (unsigned o = 0; o < OUTER; o++)
		for (unsigned i = 0; i < INNER; i++)
			id[o][i] = call(call(0, code[o], 0), code[i], 0);
	for (unsigned n = 0; n < 100000; n++) {
		unsigned o, i;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		o = x % OUTER;
		i = (x >> 32) % INNER;
		is_written_so(id[o][i], 1 + i, 1 + o);
	}
	python_free(&trace);
}
END_TEST

/* More frames than the index holds, each twice, then all of them once more. */
START_TEST(frames_that_were_forgotten_are_written_again)
{
	enum { FRAMES = 150000 };
	uint32_t code, outer;

	start_writing();
	outer = call(0, add_code("x.py", "f", 9), 0);
	code = add_code("x.py", "f", 8);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < FRAMES; i++)
			for (unsigned again = 0; again < 2; again++)
				is_written_so(call(outer, code, 2 * i), 8, 9);
	python_free(&trace);
}
END_TEST

static size_t mapped_bytes(void)
{
	unsigned long pages;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages * 4096;
}

/* 12 KiB for each frame: the memory for their texts is full long before the index is. */
START_TEST(long_frames_are_forgotten_in_time)
{
	enum { FRAMES = 12000 };
	char name[CODES_TEXT + 1];
	size_t before, len = 12ul * CODES_TEXT + 5 + 16;
	uint32_t code;

	start_writing();
	memset(name, '\x01', CODES_TEXT);
	name[CODES_TEXT] = '\0';
	code = add_code(name, name, 7);
	call(0, code, 0); /* the index of stacks is there */
	before = mapped_bytes();
	for (unsigned i = 0; i < FRAMES; i++)
		ck_assert_uint_eq(strlen(written(call(0, code, 2 * i), false)), len);
	ck_assert_uint_le(mapped_bytes() - before, 80u << 20);
	python_free(&trace);
	ck_assert_uint_lt(mapped_bytes(), before);
}
END_TEST

START_TEST(a_hostile_spool_makes_a_valid_file)
{
	uint64_t x = 88172645463325252ull;
	static uint32_t code[200];
	uint32_t id[300];

	start_with_folders("\"/:a:\x01:\"");
	for (unsigned i = 0; i < 200; i++) {
		char bytes[192];

		for (unsigned k = 0; k < sizeof(bytes); k++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			bytes[k] = (char)(x >> 16);
		}
		code[i] = codes_add((struct code_text){ bytes, x % 64 },
				    (struct code_text){ bytes + 64, x / 64 % 64 },
				    (uint32_t)x, (enum code_lines)(i % 5),
				    (struct code_text){ bytes + 128, x / 4096 % 64 });
	}
	for (unsigned i = 0; i < 300; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		id[i] = call(i % 60 ? id[i - 1] : 0,
			     x & 7 ? code[x / 8 % 200] : (uint32_t)(x >> 33),
			     (uint32_t)(x >> 40) & 127);
	}
	for (unsigned i = 0; i < 600; i++) {
		written(id[i % 300], true);
		ck_assert_msg(is_valid(), "%s", text);
	}
	python_free(&trace);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("python");

	tcase_add_test(tc, text_is_escaped);
	tcase_add_test(tc, the_longest_stack_there_is_is_written_whole);
	tcase_add_test(tc, stacks_of_each_length_are_written_whole);
	tcase_add_test(tc, stacks_that_were_forgotten_are_written_again);
	tcase_add_test(tc, frames_that_were_forgotten_are_written_again);
	tcase_add_test(tc, long_frames_are_forgotten_in_time);
	tcase_add_test(tc, a_hostile_spool_makes_a_valid_file);
	return unit_run(tc, "writer python kept");
}
