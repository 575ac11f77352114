/* SPDX-License-Identifier: Apache-2.0 */
/* Each instruction and operation of unwind tables by itself, and what it says of a frame.
 */
#include "agent/unwind/tables.h"
#include "tests/unit/unit.h"

#include <string.h>

#define BEGIN 0x40000000u /* of the function */

struct row {
	uint8_t byte[24];
	uint64_t rule;
	uint8_t size; /* 0: up to the last byte that is not 0 */
};

static uint64_t rule_of(const uint8_t *byte, size_t size, uintptr_t at, bool signal)
{
	/* CFA = rsp + 8, the return address below it. */
	static const uint8_t first[] = { 0x0c, 7, 8, 0x90, 1 };
	struct unwind_cie cie = {
		.instructions = { first, first + sizeof(first), false },
		.code_align = 4,
		.data_align = -8,
		.ra = REG_RA,
		.signal = signal,
	};

	return unwind_cfa_rule(&cie, (struct unwind_reader){ byte, byte + size, false },
			       BEGIN, BEGIN + at);
}

static void check(const struct row *row, size_t n, bool signal)
{
	for (size_t i = 0; i < n; i++) {
		size_t size = row[i].size;

		for (size_t at = 0; !row[i].size && at < sizeof(row[i].byte); at++)
			size = row[i].byte[at] ? at + 1 : size;
		ck_assert_msg(rule_of(row[i].byte, size, 0, signal) == row[i].rule,
			      "row %zu (%02x %02x): %lx", i, row[i].byte[0],
			      row[i].byte[1],
			      (unsigned long)rule_of(row[i].byte, size, 0, signal));
	}
}
#define CHECK(rows) check(rows, sizeof(rows) / sizeof(*(rows)), false)

#define SP(offset)      RULE(RULE_SP, offset, 0, BP_SAME, 0)
#define WITH_BP(bp, at) RULE(RULE_SP, 8, 0, bp, at)

/* ---- CFA ---- */

START_TEST(cfa_is_a_register_and_an_offset)
{
	static const struct row rows[] = {
		{ { 0 }, SP(8) },
		{ { 0x0c, 7, 40 }, SP(40) },
		{ { 0x0c, 6, 16 }, RULE(RULE_BP, 16, 0, BP_SAME, 0) },
		{ { 0x0c, 10, 16 }, RULE_NONE },
		{ { 0x12, 7, 0x7d }, SP(24) }, /* in units */
		{ { 0x12, 6, 2 }, RULE(RULE_BP, -16, 0, BP_SAME, 0) },
		{ { 0x0d, 6 }, RULE(RULE_BP, 8, 0, BP_SAME, 0) },
		{ { 0x0e, 0xa8, 1 }, SP(168) },
		{ { 0x13, 0x7c }, SP(32) },
		{ { 0x13, 3 }, SP(-24) },
		{ { 0x0c, 6, 16, 0x0d, 7, 0x0e, 24 }, SP(24) },
		{ { 0x2e, 33 }, SP(8) },
		{ { 0x1f }, RULE_NONE },
	};

	CHECK(rows);
}
END_TEST

START_TEST(cfa_is_what_an_expression_comes_to)
{
	static const struct row rows[] = {
		{ { 0x0f, 2, 0x77, 16 }, SP(16) },
		{ { 0x0f, 2, 0x76, 0x70 }, RULE(RULE_BP, -16, 0, BP_SAME, 0) },
		{ { 0x0f, 2, 0x73, 8 }, RULE_NONE },
		{ { 0x0f, 3, 0x77, 16, 0x06 }, RULE(RULE_LOAD_SP, 16, 0, BP_SAME, 0) },
		{ { 0x0f, 5, 0x76, 0x78, 0x06, 0x23, 127 },
		  RULE(RULE_LOAD_BP, -8, 127, BP_SAME, 0) },
		{ { 0x0f, 6, 0x76, 0x78, 0x06, 0x23, 0x80, 1 }, RULE_NONE },
		{ { 0x0f, 5, 0x77, 16, 0x06, 0x38, 0x1c },
		  RULE(RULE_LOAD_SP, 16, -8, BP_SAME, 0) },
		{ { 0x0f, 4, 0x77, 16, 0x06, 0x06 }, RULE_NONE },
		{ { 0x0f, 2, 0x38, 0x06 }, RULE_NONE },
		{ { 0x0f, 1, 0x22 }, RULE_NONE },
		{ { 0x0f, 5, 0x77, 8, 0x76, 8, 0x22 }, RULE_NONE },
		{ { 0x0f, 4, 0x38, 0x77, 8, 0x1c }, RULE_NONE },
		{ { 0x0f, 4, 0x38, 0x77, 8, 0x22 }, SP(16) },
		{ { 0x0f, 4, 0x77, 8, 0x38, 0x22 }, SP(16) },
		{ { 0x0f, 9, 0x77, 1 }, RULE_NONE }, /* longer than the table */
		{ { 0x0f, 0 }, RULE_NONE, 2 },
	};

	CHECK(rows);
}
END_TEST

/* breg7 0; what is in the row; plus. */
START_TEST(numbers_of_each_width)
{
	static const struct {
		uint8_t byte[6], size;
		int64_t value;
	} rows[] = {
		{ { 0x08, 200 }, 2, 200 },
		{ { 0x09, 0xf8 }, 2, -8 },
		{ { 0x09, 0x7f }, 2, 127 },
		{ { 0x0a, 0x34, 0xf2 }, 3, 0xf234 },
		{ { 0x0b, 0xf0, 0xff }, 3, -16 },
		{ { 0x10, 0xac, 0x02 }, 3, 300 },
		{ { 0x11, 0xd4, 0x7d }, 3, -300 },
		{ { 0x11, 0xac, 0x02 }, 3, 300 },
		{ { 0x30 }, 1, 0 },
		{ { 0x4f }, 1, 31 },
		{ { 0x3f, 0x3a, 0x1a }, 3, 10 }, /* and */
		{ { 0x33, 0x32, 0x24 }, 3, 12 }, /* shl */
		{ { 0x33, 0x08, 64, 0x24 }, 4, 0 },
		{ { 0x33, 0x09, 0xff, 0x24 }, 4, 0 },
		{ { 0x33, 0x32, 0x2a }, 3, 1 }, /* ge */
		{ { 0x33, 0x33, 0x2a }, 3, 1 },
		{ { 0x32, 0x33, 0x2a }, 3, 0 },
		{ { 0x09, 0xff, 0x30, 0x2a }, 4, 0 },
		{ { 0x39, 0x33, 0x1c }, 3, 6 }, /* minus */
		{ { 0x33, 0x39, 0x1c }, 3, -6 },
		{ { 0x33, 0x23, 0x81, 0x01 }, 4, 132 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint8_t byte[16] = { 0x0f, (uint8_t)(rows[i].size + 3), 0x77, 0 };

		memcpy(byte + 4, rows[i].byte, rows[i].size);
		byte[4 + rows[i].size] = 0x22;
		ck_assert_msg(rule_of(byte, 5u + rows[i].size, 0, false) ==
				      SP(rows[i].value),
			      "row %zu", i);
	}
}
END_TEST

/* As linkers write it of a PLT: eleven bytes into each sixteen a word has been pushed. */
START_TEST(a_plt_is_told_by_where_one_is_in_it)
{
	static const uint8_t byte[] = { 0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
					0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };

	for (uintptr_t at = 0; at < 64; at++)
		ck_assert_uint_eq(rule_of(byte, sizeof(byte), at, false),
				  SP(at % 16 >= 11 ? 16 : 8));
}
END_TEST

/* ---- registers ---- */

START_TEST(the_frame_pointer_is_somewhere)
{
	static const struct row rows[] = {
		{ { 0x86, 2 }, WITH_BP(BP_AT_CFA, -16) },
		{ { 0x05, 6, 3 }, WITH_BP(BP_AT_CFA, -24) },
		{ { 0x11, 6, 2 }, WITH_BP(BP_AT_CFA, -16) },
		{ { 0x11, 6, 0x7e }, WITH_BP(BP_AT_CFA, 16) },
		{ { 0x2f, 6, 2 }, WITH_BP(BP_AT_CFA, 16) },
		{ { 0x07, 6 }, WITH_BP(BP_LOST, 0) },
		{ { 0x09, 6, 3 }, WITH_BP(BP_LOST, 0) },
		{ { 0x14, 6, 1 }, WITH_BP(BP_LOST, 0) },
		{ { 0x15, 6, 1 }, WITH_BP(BP_LOST, 0) },
		{ { 0x86, 2, 0x08, 6 }, SP(8) },
		{ { 0x86, 2, 0xc6 }, SP(8) },
		{ { 0x86, 2, 0x06, 6 }, SP(8) },
		{ { 0x83, 2, 0xc3 }, SP(8) }, /* another's */
		{ { 0x10, 6, 2, 0x76, 8 }, WITH_BP(BP_AT_BP, 8) },
		{ { 0x10, 6, 2, 0x23, 8 }, WITH_BP(BP_AT_CFA, 8) },
		{ { 0x10, 6, 2, 0x77, 24 }, WITH_BP(BP_AT_CFA, 16) },
		{ { 0x10, 6, 3, 0x77, 24, 0x06 }, WITH_BP(BP_LOST, 0) },
		{ { 0x16, 6, 2, 0x77, 8 }, WITH_BP(BP_LOST, 0) },
		{ { 0x0c, 6, 16, 0x86, 2 }, RULE_FRAME_POINTER },
		/* Where CFA is not told by rsp what is, is nowhere that a rule can say.
		 */
		{ { 0x0c, 6, 16, 0x10, 6, 2, 0x77, 8 },
		  RULE(RULE_BP, 16, 0, BP_LOST, 8) },
		{ { 0x0f, 3, 0x77, 8, 0x06, 0x10, 6, 2, 0x77, 8 },
		  RULE(RULE_LOAD_SP, 8, 0, BP_LOST, 8) },
	};

	CHECK(rows);
}
END_TEST

START_TEST(the_return_address_is_below_cfa_or_nowhere)
{
	static const struct row rows[] = {
		{ { 0x07, 16 }, RULE_OUTERMOST },
		{ { 0x08, 16 }, RULE_NONE },
		{ { 0x09, 16, 3 }, RULE_NONE },
		{ { 0x90, 2 }, RULE_NONE },
		{ { 0x07, 16, 0xd0 }, SP(8) }, /* what it was in the beginning */
		{ { 0x07, 16, 0x06, 16 }, SP(8) },
		{ { 0x07, 16, 0x90, 1 }, SP(8) },
		{ { 0x10, 16, 2, 0x77, 0 }, RULE_NONE, 5 },
		{ { 0x87, 2 }, RULE_NONE }, /* rsp is CFA */
		{ { 0x87, 2, 0xc7 }, SP(8) },
		{ { 0x87, 2, 0x06, 7 }, SP(8) },
		{ { 0x87, 2, 0x08, 7 }, SP(8) },
	};

	CHECK(rows);
}
END_TEST

START_TEST(a_handlers_frame_is_the_kernels_or_none)
{
	static const struct row rows[] = {
		{ { 0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3,
		    0x77, 0xa8, 1 },
		  RULE(RULE_SIGNAL, 0, 0, BP_SAME, 0) },
		{ { 0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3,
		    0x77, 0xb0, 1 },
		  RULE_NONE },
		{ { 0x0f, 4, 0x77, 0xa0, 1, 0x06, 0x10, 6, 3, 0x77, 0xf0, 0, 0x10, 16, 3,
		    0x77, 0xa8, 1 },
		  RULE_NONE },
		{ { 0x0f, 4, 0x77, 0xa8, 1, 0x06, 0x10, 6, 3, 0x77, 0xf8, 0, 0x10, 16, 3,
		    0x77, 0xa8, 1 },
		  RULE_NONE },
		{ { 0x0e, 8 }, RULE_NONE },
	};

	check(rows, sizeof(rows) / sizeof(*rows), true);
}
END_TEST

/* ---- where ---- */

/* What is said of an instruction holds from it on, and not before. */
START_TEST(code_is_counted_in_units)
{
	static const struct {
		uint8_t byte[12], size;
		uintptr_t from;
	} rows[] = {
		{ { 0x43, 0x0e, 16 }, 3, 12 },
		{ { 0x7f, 0x0e, 16 }, 3, 252 },
		{ { 0x02, 200, 0x0e, 16 }, 4, 800 },
		{ { 0x03, 0x34, 0x12, 0x0e, 16 }, 5, 0x48d0 },
		{ { 0x04, 0x78, 0x56, 0x34, 0x01, 0x0e, 16 }, 7, 0x4d159e0 },
		{ { 0x01, 0x34, 0x12, 0, 0x40, 0, 0, 0, 0, 0x0e, 16 }, 11, 0x1234 },
		{ { 0x41, 0x00, 0x41, 0x0e, 16 }, 5, 8 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ck_assert_uint_eq(
			rule_of(rows[i].byte, rows[i].size, rows[i].from - 1, false),
			SP(8));
		ck_assert_uint_eq(
			rule_of(rows[i].byte, rows[i].size, rows[i].from, false), SP(16));
	}
}
END_TEST

START_TEST(pointers_of_each_encoding)
{
	static const uint8_t byte[] = { 0xf6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const struct {
		uint8_t encoding, size;
		int64_t value;
	} rows[] = {
		{ 0x00, 8, -10 },    { 0x04, 8, -10 },        { 0x0c, 8, -10 },
		{ 0x02, 2, 0xfff6 }, { 0x03, 4, 0xfffffff6 }, { 0x0a, 2, -10 },
		{ 0x0b, 4, -10 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (unsigned base = 0; base < 3; base++) {
			uint8_t encoding = (uint8_t)(rows[i].encoding | base << 4);
			struct unwind_reader r = { byte, byte + 8, false };
			uint64_t from = base == 1 ? (uintptr_t)byte : 0;
			uint64_t value = unwind_pointer(&r, encoding, 1000);

			ck_assert_int_eq(r.bad, base == 2); /* text: nobody's */
			ck_assert_ptr_eq(r.at, byte + rows[i].size);
			if (!r.bad)
				ck_assert_uint_eq(value, from + (uint64_t)rows[i].value);
			r = (struct unwind_reader){ byte, byte + 8, false };
			ck_assert_uint_eq(
				unwind_pointer(&r, rows[i].encoding | 0x30, 1000),
				(uint64_t)rows[i].value + 1000);
			r = (struct unwind_reader){ byte, byte + rows[i].size - 1,
						    false };
			unwind_pointer(&r, rows[i].encoding, 0);
			ck_assert(r.bad);
			r = (struct unwind_reader){ byte, byte + 8, false };
			unwind_pointer(&r, rows[i].encoding | 0x80, 0); /* indirect */
			ck_assert(r.bad);
		}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind ops");

	tcase_add_test(tc, cfa_is_a_register_and_an_offset);
	tcase_add_test(tc, cfa_is_what_an_expression_comes_to);
	tcase_add_test(tc, numbers_of_each_width);
	tcase_add_test(tc, a_plt_is_told_by_where_one_is_in_it);
	tcase_add_test(tc, the_frame_pointer_is_somewhere);
	tcase_add_test(tc, the_return_address_is_below_cfa_or_nowhere);
	tcase_add_test(tc, a_handlers_frame_is_the_kernels_or_none);
	tcase_add_test(tc, code_is_counted_in_units);
	tcase_add_test(tc, pointers_of_each_encoding);
	return unit_run(tc, "unwind_ops");
}
