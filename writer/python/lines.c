/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPython's line tables are rows, each of which is for a run of instructions: how long
 * the run is, and by how much its line differs from the last run's.
 */
#include "writer/python/lines.h"

/* Forms of a row since 3.11. Those below ROW_SAME_LINES keep the line. */
enum row_form {
	ROW_SAME_LINES = 10, /* 10, 11, 12: 0, 1, 2 lines further down */
	ROW_NO_COLUMNS = 13,
	ROW_LONG = 14,
	ROW_NO_LINE = 15,
};
#define ROW_BEGIN 0x80 /* no other byte of a row has this bit */

/* CPython's lines are positive numbers of its type int. */
static uint32_t sound_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* A row says how far its line's code lies behind that of the row before: the last line
 * goes on to the end of the code, unless the table was cut. */
static uint32_t find_in_lnotab(const uint8_t *table, uint32_t len, int64_t line,
			       uint32_t offset)
{
	uint64_t begin = 0;

	for (uint32_t i = 0; i + 2 <= len; i += 2) {
		begin += table[i];
		if (begin > offset)
			return sound_line(line);
		line += (int8_t)table[i + 1];
	}
	return len < CODES_TABLE ? sound_line(line) : 0;
}

static uint32_t find_in_linetable(const uint8_t *table, uint32_t len, int64_t line,
				  uint32_t offset)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i + 2 <= len; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != INT8_MIN)
			line += delta;
		if (end > offset)
			return delta != INT8_MIN ? sound_line(line) : 0;
	}
	return 0;
}

/* Six bits a byte, the lowest first; the number's own lowest bit is its sign. False: the
 * table ends inside of the number, or the number is longer than any of CPython's. */
static bool read_signed(const uint8_t *at, const uint8_t *end, int64_t *number)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift <= 30 && at < end; shift += 6, at++) {
		n |= (uint64_t)(*at & 63) << shift;
		if (*at & 64)
			continue;
		*number = n & 1 ? -(int64_t)(n >> 1) : (int64_t)(n >> 1);
		return true;
	}
	return false;
}

/* By how much the line of the row at `at` differs; false: the row is damaged. */
static bool row_delta(const uint8_t *at, const uint8_t *end, int64_t *delta)
{
	unsigned form = *at >> 3 & 15;

	*delta = 0;
	if (form == ROW_NO_COLUMNS || form == ROW_LONG)
		return read_signed(at + 1, end, delta);
	if (form >= ROW_SAME_LINES && form < ROW_NO_COLUMNS)
		*delta = form - ROW_SAME_LINES;
	return true;
}

static uint32_t find_in_locations(const uint8_t *at, uint32_t len, int64_t line,
				  uint32_t offset)
{
	const uint8_t *end = at + len;
	uint64_t stop = 0;
	int64_t delta;

	while (at < end && *at & ROW_BEGIN && row_delta(at, end, &delta)) {
		line += delta;
		stop += ((*at & 7u) + 1) * 2;
		if (stop > offset)
			return (*at >> 3 & 15) != ROW_NO_LINE ? sound_line(line) : 0;
		for (at++; at < end && !(*at & ROW_BEGIN); at++)
			;
	}
	return 0;
}

uint32_t lines_find(const struct code *c, uint32_t offset)
{
	uint32_t len = c->table_len < CODES_TABLE ? c->table_len : CODES_TABLE;
	const uint8_t *table = code_table(c);

	if (offset == CODES_BEGIN)
		return sound_line(c->first_line);
	switch (c->lines) {
	case CODE_LNOTAB:
		return find_in_lnotab(table, len, c->first_line, offset);
	case CODE_LINETABLE:
		return find_in_linetable(table, len, c->first_line, offset);
	case CODE_LOCATIONS:
		return find_in_locations(table, len, c->first_line, offset);
	default:
		return 0;
	}
}
