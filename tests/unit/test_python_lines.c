/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sys.h"
#include "tests/unit/line_tables.h"
#include "tests/unit/unit.h"
#include "writer/python/lines.h"

#define PAGES  (16u << 12)
#define TABLES (sizeof(line_tables) / sizeof(*line_tables))

/* Where a table ends, and pages that nobody may read begin. */
static uint8_t *wall;

static void build_wall(void)
{
	uint8_t *pages = sys_map(PAGES + 4096);

	wall = pages + PAGES;
	ck_assert_int_eq(mprotect(wall, 4096, PROT_NONE), 0);
}

/* A code object whose table is the last thing before the wall. */
static struct code *code_before_wall(enum code_lines lines, uint32_t first_line,
				     const uint8_t *table, size_t len)
{
	uint16_t file_len = (uint16_t)(-(len + 2) & 7);
	size_t size = sizeof(struct code) + file_len + 2 + len;
	struct code *c = (struct code *)(wall - size);

	ck_assert_uint_le(size, PAGES);
	memset(c, 0, size);
	c->file_len = file_len;
	c->lines = (uint8_t)lines;
	c->first_line = first_line;
	c->table_len = (uint32_t)len;
	memcpy(wall - len, table, len);
	return c;
}

static uint32_t find(enum code_lines lines, uint32_t first_line, uint32_t offset,
		     const char *table, size_t len)
{
	if (!wall)
		build_wall();
	return lines_find(
		code_before_wall(lines, first_line, (const uint8_t *)table, len), offset);
}
/* The table is a string constant. */
#define FIND(lines, first_line, offset, table) \
	find(lines, first_line, offset, table, sizeof(table) - 1)

/* ---- CPython's own ---- */

static size_t bytes_of(const struct line_table *l, uint8_t table[2048])
{
	size_t len = strlen(l->table) / 2;

	ck_assert_uint_le(len, 2048);
	for (size_t i = 0; i < len; i++) {
		char digits[3] = { l->table[2 * i], l->table[2 * i + 1] };

		table[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return len;
}

/* Calls look for each two bytes of code with the line that they should have. Returns the
 * code's size. */
static uint32_t each_instruction(const struct line_table *l, const struct code *c,
				 void (*look)(const struct line_table *l,
					      const struct code *c, uint32_t offset,
					      uint32_t want))
{
	uint32_t offset = 0;
	char *at = (char *)l->want;

	while (*at) {
		uint32_t end = offset + (uint32_t)strtoul(at, &at, 10);
		uint32_t want = (uint32_t)strtoul(at + 1, &at, 10);

		for (at++; offset < end; offset += 2)
			look(l, c, offset, want);
	}
	return offset;
}

static void is_line(const struct line_table *l, const struct code *c, uint32_t offset,
		    uint32_t want)
{
	uint32_t line = lines_find(c, offset);

	if (line != want)
		ck_abort_msg("%s at %u: %u, not %u", l->what, offset, line, want);
}

START_TEST(each_instruction_has_the_line_that_cpython_gives_it)
{
	const struct line_table *l = &line_tables[_i];
	uint8_t table[2048];
	size_t len = bytes_of(l, table);
	const struct code *c;
	uint32_t end;

	build_wall();
	c = code_before_wall(l->lines, l->first_line, table, len);
	end = each_instruction(l, c, is_line);
	ck_assert_uint_gt(end, 0);
	if (l->lines != CODE_LNOTAB)
		ck_assert_uint_eq(lines_find(c, end), 0);
	lines_find(c, UINT32_MAX);
}
END_TEST

/* ---- damaged ones ---- */

static void is_line_or_none(const struct line_table *l, const struct code *c,
			    uint32_t offset, uint32_t want)
{
	uint32_t line = lines_find(c, offset);

	/* A table that ends early gives what follows the line that was reached. */
	if (line && line != want && l->lines != CODE_LNOTAB)
		ck_abort_msg("%s, %u bytes, at %u: %u, not %u", l->what, c->table_len,
			     offset, line, want);
}

START_TEST(a_table_that_was_cut_gives_the_right_line_or_none)
{
	const struct line_table *l = &line_tables[_i];
	uint8_t table[2048];
	size_t len = bytes_of(l, table);

	build_wall();
	while (len--)
		each_instruction(l, code_before_wall(l->lines, l->first_line, table, len),
				 is_line_or_none);
}
END_TEST

static uint64_t noise(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13, x ^= x >> 7, x ^= x << 17;
	return x;
}

/* What lies behind the table cannot be read, whatever the table says. */
START_TEST(noise_is_read_within_its_bounds)
{
	uint8_t table[600];
	unsigned found = 0;

	build_wall();
	for (unsigned round = 0; round < 40000; round++) {
		size_t len = noise() % (round % 8 ? 40 : sizeof(table));
		const struct code *c;

		for (size_t i = 0; i < len; i++)
			table[i] = (uint8_t)(noise() >> 24 | (i ? 0 : 0x80));
		c = code_before_wall((enum code_lines)(noise() % 5), (uint32_t)noise(),
				     table, len);
		for (unsigned i = 0; i < 20; i++)
			found += lines_find(c,
					    (uint32_t)noise() % (i ? (uint32_t)len * 8 + 1
								   : UINT32_MAX)) != 0;
	}
	ck_assert_uint_gt(found, 1000);
}
END_TEST

/* A real table with one byte that is another. */
START_TEST(a_table_with_a_wrong_byte_is_read_within_its_bounds)
{
	const struct line_table *l = &line_tables[_i];
	uint8_t table[2048];
	size_t len = bytes_of(l, table);

	build_wall();
	for (size_t i = 0; i < len; i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			const struct code *c;

			table[i] ^= (uint8_t)(1 << bit);
			c = code_before_wall(l->lines, l->first_line, table, len);
			for (uint32_t offset = 0; offset < 600; offset += 34)
				lines_find(c, offset);
			table[i] ^= (uint8_t)(1 << bit);
		}
}
END_TEST

/* ---- single rows ---- */

START_TEST(without_a_table_there_is_no_line)
{
	ck_assert_uint_eq(FIND(CODE_NO_LINES, 7, 0, "\x02\x01"), 0);
	ck_assert_uint_eq(FIND((enum code_lines)9, 7, 0, "\x02\x01"), 0);
	ck_assert_uint_eq(FIND(CODE_LINETABLE, 7, 0, ""), 0);
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, 7, 0, ""), 0);
	/* All of the code is the first line's. */
	ck_assert_uint_eq(FIND(CODE_LNOTAB, 7, 0, ""), 7);
	ck_assert_uint_eq(FIND(CODE_LNOTAB, 7, 1000, "\x00"), 7);
}
END_TEST

START_TEST(an_instruction_may_have_no_line)
{
	/* 3.10: two bytes of line 7, four of none, two of line 8. */
	static const char rows[] = "\x02\x00\x04\x80\x02\x01";
	/* 3.11: one unit of line 7, two of none, one of line 8. */
	static const char since[] = "\xe8\x00\xf9\xe8\x02";

	for (uint32_t offset = 0; offset < 10; offset++) {
		uint32_t want = offset < 2 ? 7 : offset < 6 ? 0 : offset < 8 ? 8 : 0;

		ck_assert_uint_eq(FIND(CODE_LINETABLE, 7, offset, rows), want);
		ck_assert_uint_eq(FIND(CODE_LOCATIONS, 7, offset, since), want);
	}
}
END_TEST

/* No line is what lines of no program are: 0, negative ones, and what no int holds. */
START_TEST(a_line_that_no_program_has_is_none)
{
	ck_assert_uint_eq(FIND(CODE_LNOTAB, 1, 0, "\x00\xff"), 0);
	ck_assert_uint_eq(FIND(CODE_LNOTAB, 1, 0, "\x00\xfe"), 0);
	ck_assert_uint_eq(FIND(CODE_LNOTAB, INT32_MAX, 0, ""), INT32_MAX);
	ck_assert_uint_eq(FIND(CODE_LNOTAB, INT32_MAX, 0, "\x00\x01"), 0);
	ck_assert_uint_eq(FIND(CODE_LNOTAB, UINT32_MAX, 0, ""), 0);
	ck_assert_uint_eq(FIND(CODE_LINETABLE, UINT32_MAX, 0, "\x02\x7f"), 0);
	ck_assert_uint_eq(FIND(CODE_LINETABLE, INT32_MAX, 0, "\x02\x01"), 0);
	ck_assert_uint_eq(FIND(CODE_LINETABLE, 5, 0, "\x02\xfb"), 0);
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, INT32_MAX, 0, "\xd8\x00"), 0);
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, INT32_MAX - 1, 0, "\xd8\x00"), INT32_MAX);
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, 7, 0, "\xe8\x0f"), 0);
}
END_TEST

START_TEST(numbers_since_3_11_have_six_bytes_at_most)
{
	/* + 2^31 - 1, the largest; the same with a seventh byte; one that is too large.
	 */
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, 0, 0, "\xe8\x7e\x7f\x7f\x7f\x7f\x03"),
			  INT32_MAX);
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, 0, 0, "\xe8\x7e\x7f\x7f\x7f\x7f\x43\x00"),
			  0);
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, 0, 0, "\xe8\x7e\x7f\x7f\x7f\x7f\x0f"), 0);
	/* The number goes on behind the end. */
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, 7, 0, "\xe8"), 0);
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, 7, 0, "\xf0\x42"), 0);
	/* What is no row's begin is no row. */
	ck_assert_uint_eq(FIND(CODE_LOCATIONS, 7, 0, "\x68\x00"), 0);
}
END_TEST

/* Of a long table the agent keeps the beginning. */
START_TEST(behind_the_part_that_was_kept_there_is_no_line)
{
	static char table[CODES_TABLE + 8];

	for (size_t i = 0; i < sizeof(table); i += 2)
		table[i] = 1;
	ck_assert_uint_eq(find(CODE_LNOTAB, 7, CODES_TABLE / 2 - 2, table, CODES_TABLE),
			  7);
	ck_assert_uint_eq(find(CODE_LNOTAB, 7, CODES_TABLE / 2, table, CODES_TABLE), 0);
	ck_assert_uint_eq(find(CODE_LNOTAB, 7, CODES_TABLE / 2, table, CODES_TABLE - 2),
			  7);
	ck_assert_uint_eq(find(CODE_LNOTAB, 7, CODES_TABLE / 2, table, sizeof(table)), 0);
	ck_assert_uint_eq(find(CODE_LINETABLE, 7, CODES_TABLE / 2, table, sizeof(table)),
			  0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("lines");

	tcase_add_loop_test(tc, each_instruction_has_the_line_that_cpython_gives_it, 0,
			    TABLES);
	tcase_add_loop_test(tc, a_table_that_was_cut_gives_the_right_line_or_none, 0,
			    TABLES);
	tcase_add_loop_test(tc, a_table_with_a_wrong_byte_is_read_within_its_bounds, 0,
			    TABLES);
	tcase_add_test(tc, noise_is_read_within_its_bounds);
	tcase_add_test(tc, without_a_table_there_is_no_line);
	tcase_add_test(tc, an_instruction_may_have_no_line);
	tcase_add_test(tc, a_line_that_no_program_has_is_none);
	tcase_add_test(tc, numbers_since_3_11_have_six_bytes_at_most);
	tcase_add_test(tc, behind_the_part_that_was_kept_there_is_no_line);
	return unit_run(tc, "python lines");
}
