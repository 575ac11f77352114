/* SPDX-License-Identifier: Apache-2.0 */
#include "report/view/table.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct table_column columns[] = {
	{ "name", "Name", TABLE_TEXT, 0 },  { "count", "Calls", TABLE_COUNT, 0 },
	{ "time", "Time", TABLE_TIME, 0 },  { "share", "of all", TABLE_SHARE, 1 },
	{ "size", "Size", TABLE_BYTES, 2 }, { "wide", "Number", TABLE_NUMBER, 0 },
};
static struct table table;
static char *text;

static void add(const char *name, int64_t count, int64_t time, double share, int64_t size,
		double number)
{
	struct table_cell *c = table_add(&table);

	c[0].text = name;
	c[1].n = count;
	c[2].n = time;
	c[3].x = share;
	c[4].n = size;
	c[5].x = number;
}

static void begin(void)
{
	table_begin(&table, columns, 6);
}

static void end(void)
{
	table_free(&table);
	free(text);
	text = NULL;
}

/* Prints the table by any of its printers. */
static const char *printed(unsigned width, bool utf8, int format, size_t limit)
{
	size_t len;
	FILE *out;
	struct screen s = { .width = width, .utf8 = utf8 };

	free(text);
	s.out = out = open_memstream(&text, &len);
	if (format == 't')
		table_text(&table, &s, limit);
	else if (format == 'm')
		table_markdown(&table, &s, limit);
	else if (format == 'c')
		table_csv(&table, out, limit);
	else
		table_json(&table, out, limit);
	fclose(out);
	return text;
}

START_TEST(numbers_stand_at_the_right_and_names_at_the_left)
{
	begin();
	add("aten::mm", 12345, 1234567, 0.5, 2048, 1);
	add("b", 1, 999, 0.001, 0, NAN);
	ck_assert_str_eq(printed(80, true, 't', TABLE_ALL),
			 "  Name       Calls     Time  of all     Size  Number\n"
			 "  aten::mm  12,345  1.23 ms    50 %  2.0 KiB    1.00\n"
			 "  b              1   999 ns    <1 %      0 B       -\n");
	end();
}
END_TEST

START_TEST(a_long_name_loses_its_middle)
{
	char name[200];

	memset(name, 'x', 199);
	memcpy(name, "begin", 5);
	memcpy(name + 196, "end", 4);
	begin();
	add(name, 1, 1, 1, 1, 1);
	for (unsigned width = 80; width <= 200; width += 40) {
		const char *row = strchr(printed(width, true, 't', 1), '\n') + 1;

		ck_assert_ptr_nonnull(strstr(row, "beginx"));
		ck_assert_ptr_nonnull(strstr(row, "x…x"));
		ck_assert_ptr_nonnull(strstr(row, "xend "));
		/* Two bytes of the dots' are no columns. */
		ck_assert_uint_eq(strcspn(row, "\n"), width + 2);
	}
	ck_assert_ptr_nonnull(strstr(printed(80, false, 't', 1), "x...x"));
	end();
}
END_TEST

START_TEST(columns_without_room_go_in_their_order_and_are_named)
{
	char name[24] = "twenty characters wide";

	begin();
	add(name, 1, 1, 1, 1, 1);
	printed(50, true, 't', 1);
	ck_assert_ptr_nonnull(strstr(text, "no room in 50 columns for: Size\n"));
	ck_assert_ptr_nonnull(strstr(text, "100 %"));
	printed(46, true, 't', 1);
	ck_assert_ptr_nonnull(strstr(text, "no room in 46 columns for: of all, Size\n"));
	end();
}
END_TEST

START_TEST(a_column_that_says_nothing_is_left_out_for_people_alone)
{
	begin();
	add("a", 1, 1, 0, TABLE_NONE, NAN);
	ck_assert_str_eq(printed(80, true, 't', 1), "  Name  Calls  Time\n"
						    "  a         1  1 ns\n");
	ck_assert_ptr_null(strstr(printed(80, true, 'm', 1), "Size"));
	ck_assert_str_eq(printed(80, true, 'c', 1), "name,count,time,share,size,wide\n"
						    "a,1,0.001,0.000000,,\n");
	end();
}
END_TEST

START_TEST(rows_left_out_are_counted)
{
	begin();
	for (unsigned i = 0; i < 30; i++)
		add("a", 1, 1, 1, 1, 1);
	ck_assert_ptr_nonnull(
		strstr(printed(80, true, 't', 20), "  ... and 10 more: --limit 30\n"));
	ck_assert_ptr_nonnull(
		strstr(printed(80, true, 'm', 20), "\n... and 10 more: `--limit 30`\n"));
	ck_assert_ptr_null(strstr(printed(80, true, 't', 30), "more"));
	end();
}
END_TEST

START_TEST(csv_quotes_what_would_be_read_as_two)
{
	begin();
	add("a,b", 1, 1500, 0.25, -1, 2.5);
	add("say \"hi\"", 1, 1, 1, 1, 1);
	add("two\nlines", 1, 1, 1, 1, 1);
	add(" blank", 1, 1, 1, 1, 1);
	add("\033[31mred\xe2\x80\xae", 1, -1, 1, 1, 1);
	ck_assert_str_eq(printed(80, true, 'c', TABLE_ALL),
			 "name,count,time,share,size,wide\n"
			 "\"a,b\",1,1.500,0.250000,-1,2.500000\n"
			 "\"say \"\"hi\"\"\",1,0.001,1.000000,1,1.000000\n"
			 "\"two?lines\",1,0.001,1.000000,1,1.000000\n"
			 "\" blank\",1,0.001,1.000000,1,1.000000\n"
			 "?[31mred?,1,-0.001,1.000000,1,1.000000\n");
	end();
}
END_TEST

/* Parts of a long text are written one after the other, never half a character. */
START_TEST(csv_keeps_long_names_whole)
{
	char name[2000], want[2100];
	size_t n = 0;

	name[n++] = ',';
	while (n < 1900)
		n += (size_t)sprintf(name + n, "ü");
	begin();
	add(name, 1, 1, 1, 1, 1);
	snprintf(want, sizeof(want), "\n\"%s\",1,", name);
	ck_assert_ptr_nonnull(strstr(printed(80, true, 'c', 1), want));
	end();
}
END_TEST

START_TEST(markdown_cells_end_where_they_should)
{
	begin();
	add("a|b`c<script>\nx", 1, 1, 1, 1, 1);
	ck_assert_str_eq(printed(80, true, 'm', 1),
			 "| Name | Calls | Time | of all | Size | Number |\n"
			 "| --- | ---: | ---: | ---: | ---: | ---: |\n"
			 "| `a\\|b'c<script>?x` | 1 | 1 ns | 100 % | 1 B | 1.00 |\n");
	end();
}
END_TEST

START_TEST(json_says_null_for_what_is_not_known)
{
	begin();
	add("a\"b\\\n", 1, 1234567, 0.5, TABLE_NONE, NAN);
	add(NULL, TABLE_NONE, TABLE_NONE, INFINITY, 1, 1);
	ck_assert_str_eq(
		printed(80, true, 'j', TABLE_ALL),
		"[\n{\"name\": \"a\\\"b\\\\\\u000a\", \"count\": 1, \"time\": 1234.567, "
		"\"share\": 0.500000, \"size\": null, \"wide\": null},\n"
		"{\"name\": null, \"count\": null, \"time\": null, \"share\": null, "
		"\"size\": 1, \"wide\": 1.000000}]");
	end();
}
END_TEST

static const char *order(const char *key)
{
	static char names[16];
	size_t n = 0;

	ck_assert(table_sort(&table, (unsigned)table_column(&table, key)));
	for (size_t i = 0; i < table.n; i++)
		names[n++] = *table_words(&table, i, 0);
	names[n] = '\0';
	return names;
}

START_TEST(rows_are_sorted_by_any_column)
{
	begin();
	add("b", 2, 10, 0.1, 5, NAN);
	add("a", 1, 20, 0.2, TABLE_NONE, 1);
	add("c", 2, 30, 0.3, 7, 2);
	ck_assert_str_eq(order("name"), "abc");
	ck_assert_str_eq(order("count"), "bca"); /* equal ones stay in order */
	ck_assert_str_eq(order("time"), "cab");
	ck_assert_str_eq(order("size"), "cba"); /* what is not known is last */
	ck_assert_str_eq(order("wide"), "cab");
	ck_assert_int_eq(table_column(&table, "nothing"), -1);
	end();
}
END_TEST

START_TEST(no_terminal_obeys_a_name)
{
	begin();
	add("\033]0;x\007\xc2\x9b\xe2\x80\xae"
	    "end\r\n",
	    1, 1, 1, 1, 1);
	for (const char *format = "tmcj"; *format; format++) {
		printed(80, true, *format, 1);
		for (const char *c = text; *c; c++)
			ck_assert_msg(*c == '\n' || (unsigned char)*c >= 0x20, "%c: %02x",
				      *format, *c);
		ck_assert_ptr_null(strstr(text, "\xe2\x80\xae"));
		ck_assert_ptr_null(strstr(text, "\xc2\x9b"));
	}
	end();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_table");

	tcase_add_test(tc, numbers_stand_at_the_right_and_names_at_the_left);
	tcase_add_test(tc, a_long_name_loses_its_middle);
	tcase_add_test(tc, columns_without_room_go_in_their_order_and_are_named);
	tcase_add_test(tc, a_column_that_says_nothing_is_left_out_for_people_alone);
	tcase_add_test(tc, rows_left_out_are_counted);
	tcase_add_test(tc, csv_quotes_what_would_be_read_as_two);
	tcase_add_test(tc, csv_keeps_long_names_whole);
	tcase_add_test(tc, markdown_cells_end_where_they_should);
	tcase_add_test(tc, json_says_null_for_what_is_not_known);
	tcase_add_test(tc, rows_are_sorted_by_any_column);
	tcase_add_test(tc, no_terminal_obeys_a_name);
	return unit_run(tc, "report_table");
}
