/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables that are cut or hostile: laid out by hand before a page that is not
 * there. */
#include "agent/unwind/walk.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mman.h>

static uint8_t *end; /* behind it nothing is mapped */

static void setup(void)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	munmap(page + 4096, 4096);
	end = page + 4096;
	ck_assert(unwind_rules_start(false));
}

static struct unwind_reader last(const void *bytes, size_t size)
{
	memcpy(end - size, bytes, size);
	return (struct unwind_reader){ end - size, end, false };
}

/* ---- .eh_frame_hdr ---- */

START_TEST(a_header_has_no_more_entries_than_bytes)
{
	uint8_t hdr[12 + 2 * 8] = { 1, 0x1b, 0x03, 0x3b };
	struct unwind_tables t;
	uintptr_t frame;

	for (uint32_t count = 0; count < 5; count++) {
		struct unwind_reader r;

		memcpy(hdr + 8, &count, 4);
		r = last(hdr, sizeof(hdr));
		ck_assert_int_eq(unwind_tables_open(&t, r.at, r.end, &frame), count <= 2);
		ck_assert_uint_eq(t.count, count <= 2 ? count : 0);
	}
}
END_TEST

/* ---- .eh_frame ---- */

/* One function of 64 bytes, its rules in a segment that ends with them. */
static struct {
	uint32_t entry[2]; /* the header's table */
	uint8_t cie[24];
	uint8_t fde[24];
} image = {
	.cie = { 20, 0, 0,    0,  0, 0,    0,    0, 1, 'z',  'R', 'B',
		 0,  1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1 },
	.fde = { 20, 0, 0, 0, 28, 0,    0, 0,    0,    0,  0, 0,
		 64, 0, 0, 0, 0,  0x90, 1, 0x44, 0x0e, 16, 0, 0 },
};

static struct unwind_tables lay_out(void)
{
	uint8_t *at = end - sizeof(image);
	uint8_t *cie = at + offsetof(typeof(image), cie),
		*fde = at + offsetof(typeof(image), fde);
	struct unwind_tables t = {
		.hdr = at, .hdr_end = end, .lo = at, .hi = end, .table = at, .count = 1
	};
	int32_t begin = (int32_t)(at - (fde + 8)); /* the function lies at the image */

	image.entry[0] = 0;
	image.entry[1] = (uint32_t)(fde - at);
	memcpy(image.fde + 8, &begin, 4);
	memcpy(at, &image, sizeof(image));
	ck_assert_uint_eq(fde + 4 - cie, 28);
	return t;
}

static uint64_t rule_at(uintptr_t offset)
{
	struct unwind_tables t = lay_out();

	return unwind_tables_rule(&t, (uintptr_t)t.hdr + offset);
}

START_TEST(a_rule_is_that_of_the_instruction)
{
	ck_assert_uint_eq(rule_at(0), RULE(RULE_SP, 8, 0, BP_SAME, 0));
	ck_assert_uint_eq(rule_at(3), RULE(RULE_SP, 8, 0, BP_SAME, 0));
	ck_assert_uint_eq(rule_at(4), RULE(RULE_SP, 16, 0, BP_SAME, 0));
	ck_assert_uint_eq(rule_at(63), RULE(RULE_SP, 16, 0, BP_SAME, 0));
	ck_assert_uint_eq(rule_at(64), RULE_NONE);
}
END_TEST

/* What is remembered of an address is so of the object that had it. */
START_TEST(another_object_at_an_address_has_other_rules)
{
	struct unwind_module one = { .tables = lay_out() }, other = { 0 }, *m = &one;
	uintptr_t at = (uintptr_t)one.tables.hdr + 4;

	one.begin = other.begin = at - 4;
	one.end = other.end = at + 60;
	for (int i = 0; i < 2; i++) {
		m = &one;
		ck_assert_uint_eq(unwind_rule_fresh(at, &m),
				  RULE(RULE_SP, 16, 0, BP_SAME, 0));
		m = &other; /* without tables */
		ck_assert_uint_eq(unwind_rule_fresh(at, &m), RULE_NONE);
	}
}
END_TEST

START_TEST(an_entry_ends_where_its_segment_does)
{
	image.fde[0] = 24; /* four bytes more than there are */
	ck_assert_uint_eq(rule_at(40), RULE_NONE);
	image.fde[0] = 20;
	image.cie[1] = 255;
	ck_assert_uint_eq(rule_at(40), RULE_NONE);
	image.cie[1] = 0;
	image.fde[16] = 8; /* augmentation data beyond the entry */
	ck_assert_uint_eq(rule_at(40), RULE_NONE);
	image.fde[16] = 0;
	image.cie[16] = 100;
	ck_assert_uint_eq(rule_at(40), RULE_NONE);
	image.cie[16] = 1;
	ck_assert_uint_ne(rule_at(40), RULE_NONE);
}
END_TEST

/* ---- instructions ---- */

static uint64_t rule_of(const void *bytes, size_t size)
{
	static const uint8_t first[] = { 0x0c, 7, 8, 0x90, 1 };
	struct unwind_cie cie = {
		.instructions = { first, first + sizeof(first), false },
		.code_align = 1,
		.data_align = -8,
		.ra = REG_RA,
	};

	return unwind_cfa_rule(&cie, last(bytes, size), 0x1000, 0x1010);
}

/* DW_CFA_offset_extended, _sf and GNU_negative_offset_extended: of rbp, two. */
START_TEST(offsets_are_scaled_however_they_are_said)
{
	ck_assert_uint_eq(rule_of("\x05\x06\x02", 3),
			  RULE(RULE_SP, 8, 0, BP_AT_CFA, -16));
	ck_assert_uint_eq(rule_of("\x11\x06\x02", 3),
			  RULE(RULE_SP, 8, 0, BP_AT_CFA, -16));
	ck_assert_uint_eq(rule_of("\x2f\x06\x02", 3), RULE(RULE_SP, 8, 0, BP_AT_CFA, 16));
}
END_TEST

/* DW_CFA_remember_state so often, an offset, then DW_CFA_restore_state as often. */
START_TEST(states_are_restored_and_there_are_eight_at_most)
{
	for (size_t n = 0; n < 40; n++) {
		uint8_t bytes[100];
		uint64_t want =
			n <= 8 ? RULE(RULE_SP, n ? 8 : 32, 0, BP_SAME, 0) : RULE_NONE;

		memset(bytes, 0x0a, n);
		memcpy(bytes + n, "\x0e\x20", 2);
		memset(bytes + n + 2, 0x0b, n);
		ck_assert_uint_eq(rule_of(bytes, 2 * n + 2), want);
	}
	ck_assert_uint_eq(rule_of("\x0b", 1), RULE_NONE);
}
END_TEST

/* DW_CFA_def_cfa_offset; 24 bits of a rule are its offset's. */
START_TEST(an_offset_that_does_not_fit_a_rule_is_none)
{
	static const uint8_t fits[] = { 0x0e, 0xff, 0xff, 0xff, 0x03 };
	static const uint8_t one_more[] = { 0x0e, 0x80, 0x80, 0x80, 0x04 };

	ck_assert_uint_eq(rule_of(fits, sizeof(fits)),
			  RULE(RULE_SP, (1 << 23) - 1, 0, BP_SAME, 0));
	ck_assert_uint_eq(rule_of(one_more, sizeof(one_more)), RULE_NONE);
}
END_TEST

/* What is saved at an odd place is not where the frame pointer is. */
START_TEST(a_frame_pointer_out_of_reach_is_lost)
{
	static const uint8_t near[] = { 0x86, 2 };
	static const uint8_t far[] = { 0x86, 0x80, 0x80, 0x80, 0x01 };

	ck_assert_uint_eq(rule_of(near, sizeof(near)),
			  RULE(RULE_SP, 8, 0, BP_AT_CFA, -16));
	ck_assert_int_eq(rule_bp(rule_of(far, sizeof(far))), BP_LOST);
}
END_TEST

START_TEST(instructions_that_are_cut_are_none)
{
	ck_assert_uint_eq(rule_of("\x0e", 1), RULE_NONE);
	ck_assert_uint_eq(rule_of("\x0e\x80", 2), RULE_NONE);
	ck_assert_uint_eq(rule_of("\x04\1\1", 3), RULE_NONE);
	ck_assert_uint_eq(rule_of("\x0f\x7f\x30", 3), RULE_NONE);
}
END_TEST

/* ---- expressions ---- */

static struct unwind_value value_of(const char *bytes, size_t size)
{
	struct unwind_reader r = last(bytes, size);
	struct unwind_value v =
		unwind_expression(&r, 0x1010, (struct unwind_value){ VALUE_NONE });

	ck_assert(r.bad || r.at == end);
	return v;
}

START_TEST(an_expression_has_eight_values_at_most)
{
	/* literals from 1 on */
	struct unwind_value v = value_of("\x08\x31\x32\x33\x34\x35\x36\x37\x38", 9);

	ck_assert_int_eq(v.kind, VALUE_CONST);
	ck_assert_int_eq(v.offset, 8);
	v = value_of("\x09\x31\x32\x33\x34\x35\x36\x37\x38\x39", 10);
	ck_assert_int_eq(v.kind, VALUE_NONE);
}
END_TEST

START_TEST(an_expression_ends_where_its_tables_do)
{
	ck_assert_int_eq(value_of("\x02\x31", 2).kind, VALUE_NONE);
	ck_assert_int_eq(value_of("\x7f", 1).kind, VALUE_NONE);
	ck_assert_int_eq(value_of("\x80", 1).kind, VALUE_NONE);
	ck_assert_int_eq(value_of("\x02\x0a\x01", 3).kind, VALUE_NONE);
}
END_TEST

START_TEST(a_rule_keeps_what_it_is_made_of)
{
	uint64_t rule = RULE(RULE_LOAD_BP, -8, -16, BP_AT_BP, -(1 << 23));

	ck_assert_int_eq(rule_kind(rule), RULE_LOAD_BP);
	ck_assert_int_eq(rule_bp(rule), BP_AT_BP);
	ck_assert_int_eq(rule_offset(rule), -8);
	ck_assert_int_eq(rule_add(rule), -16);
	ck_assert_int_eq(rule_bp_offset(rule), -(1 << 23));
}
END_TEST

START_TEST(what_is_not_understood_is_none)
{
	static const uint8_t elsewhere[] = { 0x90, 2 };

	ck_assert_uint_eq(rule_of(elsewhere, sizeof(elsewhere)), RULE_NONE);
	image.cie[8] = 4; /* its version */
	ck_assert_uint_eq(rule_at(40), RULE_NONE);
	image.cie[8] = 1;
	image.cie[11] = 'X'; /* of its augmentation */
	ck_assert_uint_eq(rule_at(40), RULE_NONE);
	image.cie[11] = 'B';
	ck_assert_uint_ne(rule_at(40), RULE_NONE);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind tables");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_header_has_no_more_entries_than_bytes);
	tcase_add_test(tc, a_rule_is_that_of_the_instruction);
	tcase_add_test(tc, another_object_at_an_address_has_other_rules);
	tcase_add_test(tc, an_entry_ends_where_its_segment_does);
	tcase_add_test(tc, offsets_are_scaled_however_they_are_said);
	tcase_add_test(tc, states_are_restored_and_there_are_eight_at_most);
	tcase_add_test(tc, an_offset_that_does_not_fit_a_rule_is_none);
	tcase_add_test(tc, a_frame_pointer_out_of_reach_is_lost);
	tcase_add_test(tc, instructions_that_are_cut_are_none);
	tcase_add_test(tc, an_expression_has_eight_values_at_most);
	tcase_add_test(tc, an_expression_ends_where_its_tables_do);
	tcase_add_test(tc, a_rule_keeps_what_it_is_made_of);
	tcase_add_test(tc, what_is_not_understood_is_none);
	return unit_run(tc, "unwind_tables");
}
