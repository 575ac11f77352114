/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are no accident: what is endless, backwards or huge ends in numbers or in a
 * message, and takes no more memory than it should. */
#include "report/model.h"
#include "report/row_order.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

static struct model model;
static char path[32], why[512];

static FILE *new_file(void)
{
	int fd;

	strcpy(path, "/tmp/report_robust.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	return fdopen(fd, "w");
}

static int read_file(FILE *out)
{
	int status;

	fclose(out);
	status = model_read(&model, path, ~0u, why, sizeof(why));
	unlink(path);
	return status;
}

static void put_slice(FILE *out, int tid, const char *ts, const char *dur)
{
	fprintf(out,
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":%d,"
		"\"ts\":%s,\"dur\":%s},\n",
		tid, ts, dur);
}

static size_t peak_kb(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (size_t)used.ru_maxrss;
}

/* 400 MB of blanks in 400 KB. */
START_TEST(a_gzip_bomb_takes_time_not_memory)
{
	static char blanks[1 << 20];
	size_t before = peak_kb();
	gzFile gz;

	fclose(new_file());
	gz = gzopen(path, "wb1");
	memset(blanks, ' ', sizeof(blanks));
	gzputs(gz, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"a\"},");
	for (int i = 0; i < 400; i++)
		ck_assert_int_eq(gzwrite(gz, blanks, sizeof(blanks)), sizeof(blanks));
	gzputs(gz, "{\"ph\":\"M\",\"name\":\"b\"}]}");
	ck_assert_int_eq(gzclose(gz), Z_OK);
	ck_assert_int_eq(model_read(&model, path, ~0u, why, sizeof(why)), 0);
	unlink(path);
	ck_assert_uint_eq(model.events, 2);
#ifndef SANITIZED_ADDRESS
	ck_assert_uint_lt(peak_kb() - before, 64 << 10);
#else
	(void)before;
#endif
}
END_TEST

/* Each event has a row of its own. */
START_TEST(rows_may_be_as_many_as_events)
{
	FILE *out = new_file();

	fputs("{\"traceEvents\":[", out);
	for (int i = 0; i < 100000; i++)
		put_slice(out, 100000 - i, "5", "1");
	fputs("{}]}", out);
	ck_assert_int_eq(read_file(out), 0);
	ck_assert_uint_eq(model.threads_n, 100000);
	ck_assert_uint_eq(model.slices_n, 100000);
}
END_TEST

START_TEST(times_may_run_backwards)
{
	char ts[32];
	FILE *out = new_file();

	fputs("{\"traceEvents\":[", out);
	for (int i = 0; i < 200000; i++) {
		snprintf(ts, sizeof(ts), "%d", 200000 - i);
		put_slice(out, i % 3, ts, "0.5");
	}
	fputs("{}]}", out);
	ck_assert_int_eq(read_file(out), 0);
	ck_assert_uint_eq(model.slices_n, 200000);
	for (size_t i = 1; i < model.slices_n; i++)
		ck_assert(model.slices[i - 1].thread < model.slices[i].thread ||
			  model.slices[i - 1].begin < model.slices[i].begin);
}
END_TEST

START_TEST(times_may_be_no_times)
{
	FILE *out = new_file();

	fputs("{\"traceEvents\":[", out);
	put_slice(out, 1, "NaN", "1");
	put_slice(out, 1, "1", "nan");
	put_slice(out, 1, "1e999", "1");
	put_slice(out, 1, "-5", "1");
	put_slice(out, 1, "9223372036854775", "9223372036854775");
	put_slice(out, 1, "1", "-1");
	put_slice(out, 1, "7", "1");
	fputs("{}]}", out);
	ck_assert_int_eq(read_file(out), 0);
	ck_assert_uint_eq(model.slices_n, 1);
	ck_assert_int_eq(model.slices[0].begin, 7000);
	ck_assert_uint_eq(model.unread, 6);
	ck_assert_uint_eq(model.damage.repaired, 2);
}
END_TEST

/* ---- sorting ---- */

struct pair {
	uint32_t group, key, number;
};

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->group != y->group ? (x->group < y->group ? -1 : 1)
				    : (x->key > y->key) - (x->key < y->key);
}

/* Any order becomes the right one, and equal rows keep theirs. */
START_TEST(rows_of_any_order_are_sorted)
{
	static struct pair rows[3000];
	struct row_order o = { rows, 0, sizeof(*rows), by_pair, 0, 0 };
	uint64_t seed = 1;

	for (unsigned round = 0; round < 300; round++) {
		o.n = round % 7 ? round * 10 : round / 7;
		o.groups = round % 2 ? 5 : 0;
		for (uint32_t i = 0; i < o.n; i++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			rows[i] = (struct pair){ (uint32_t)(seed % 5),
						 (uint32_t)(round % 3 ? seed >> 7
								      : o.n - i) %
							 (round % 5 ? 3000 : 4),
						 i };
		}
		ck_assert(row_order_sort(&o));
		for (size_t i = 1; i < o.n; i++) {
			int order = by_pair(&rows[i - 1], &rows[i]);

			ck_assert(order < 0 ||
				  (!order && rows[i - 1].number < rows[i].number));
		}
	}
}
END_TEST

static void stop(void)
{
	model_free(&model);
}

int main(void)
{
	TCase *tc = tcase_create("report_robust");

	tcase_add_checked_fixture(tc, NULL, stop);
	tcase_add_test(tc, a_gzip_bomb_takes_time_not_memory);
	tcase_add_test(tc, rows_may_be_as_many_as_events);
	tcase_add_test(tc, times_may_run_backwards);
	tcase_add_test(tc, times_may_be_no_times);
	tcase_add_test(tc, rows_of_any_order_are_sorted);
	return unit_run(tc, "report_robust");
}
