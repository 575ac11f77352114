/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace that is not whole lets `memory --leaks` say. */
#include "report/memory.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

static char said[4096];

static int judged(const char *text, unsigned steps, int64_t growth)
{
	struct memory_options o = {
		.top = 10, .depth = 3, .first = INT64_MIN, .last = INT64_MAX
	};
	struct leak_options l = { steps, growth };
	char path[] = "/tmp/report_leaks.XXXXXX", why[512];
	int fd = mkstemp(path), status;
	struct memory_view view;
	struct model model;
	FILE *out;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	ck_assert_msg(!model_read(&model, path, WANT(SLICE_OP) | WANT(SLICE_NOTE), why,
				  sizeof(why)),
		      "%s", why);
	unlink(path);
	ck_assert(memory_make(&view, &model, &o));
	out = fmemopen(said, sizeof(said), "w");
	status = leaks_print(&view, &l, "x", out);
	fclose(out);
	memory_free(&view);
	model_free(&model);
	return status;
}

#define STEP(number, ts)                                                             \
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#" #number \
	"\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":99},"
#define TENSOR(ts, addr, bytes)                                                     \
	"{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" #ts       \
	",\"args\":{\"Addr\":" #addr ",\"Bytes\":" #bytes ",\"Total Allocated\":1," \
	"\"Total Reserved\":0,\"Device Type\":0,\"Device Id\":-1}},"
/* The heap's steps, and what its one site held at their ends. */
#define HEAP(steps, held)                                                   \
	"\"heap\":{\"mode\":\"all\",\"since\":\"window\",\"steps\":" steps  \
	",\"total\":{\"allocs\":9},\"sites\":[{\"stack\":null,\"op\":null," \
	"\"allocs\":9,\"call\":\"malloc\",\"steps\":" held "}],\"other\":{}}"
#define FILE_OF(ours, events)                                 \
	"{\"proflaunch\":{" ours "},\"traceEvents\":[" events \
	"{\"ph\":\"M\",\"name\":\"end\"}]}"
#define TWO_STEPS STEP(3, 100) TENSOR(110, 64, 8) STEP(4, 200)

/* Tensors of two steps, the heap of one: of its growth nothing is known. */
START_TEST(what_cannot_be_judged_is_no_no_leak)
{
	const char *text = FILE_OF(HEAP("[4]", "[7]"), TWO_STEPS);

	ck_assert_int_eq(judged(text, 2, 100), 2);
	ck_assert_ptr_nonnull(
		strstr(said, "cannot say whether the heap leaks: it has too few steps"));
	ck_assert_ptr_null(strstr(said, "no leak"));
	ck_assert_int_eq(judged(text, 1, 100), 0);
	ck_assert_int_eq(judged(text, 1, 6), 1);
}
END_TEST

START_TEST(a_leak_elsewhere_is_one)
{
	const char *text = FILE_OF(HEAP("[4]", "[7]"), TWO_STEPS TENSOR(210, 32, 8));

	ck_assert_int_eq(judged(text, 2, 7), 1);
	ck_assert_ptr_nonnull(strstr(said, "leak in cpu"));
	ck_assert_ptr_nonnull(strstr(said, "cannot say whether the heap leaks"));
}
END_TEST

#define DROPS(kinds, reasons) "\"drops\":{" kinds "},\"drop reasons\":{" reasons "},"
#define STEADY                HEAP("[3,4]", "[7,7]")
#define GROWS                 HEAP("[3,4]", "[700,1400]")
#define LATE                  "\"after the window's end\":"
#define FULL                  "\"buffer full\":"

static const struct {
	const char *ours;
	int want;
} rows[] = {
	{ STEADY, 0 },
	{ GROWS, 1 },
	{ DROPS("\"heap_allocations\":9", FULL "9") STEADY, 2 },
	{ DROPS("\"heap_frees\":1", FULL "1") STEADY, 2 },
	{ DROPS("\"heap_frees\":1", FULL "1") GROWS, 2 },
	{ DROPS("\"memory\":1", FULL "1") STEADY, 2 },
	{ DROPS("\"memory\":1", FULL "1") GROWS, 1 }, /* the heap's are all there */
	{ DROPS("\"steps\":1", FULL "1") GROWS, 2 },
	{ DROPS("\"operators\":9,\"kernels\":9", FULL "18") STEADY, 0 },
	/* What is of no window is missing in none. */
	{ DROPS("\"heap_frees\":9", LATE "9") STEADY, 0 },
	{ DROPS("\"heap_frees\":9", LATE "8," FULL "1") STEADY, 2 },
	{ DROPS("\"heap_frees\":9", "") STEADY, 2 },
};

START_TEST(with_records_missing_it_cannot_be_said)
{
	char text[4096];

	snprintf(text, sizeof(text), FILE_OF("%s", TWO_STEPS), rows[_i].ours);
	ck_assert_int_eq(judged(text, 2, 100), rows[_i].want);
	if (rows[_i].want == 2)
		ck_assert_ptr_nonnull(strstr(said, "larger --buffer-mb"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("leaks");

	tcase_add_test(tc, what_cannot_be_judged_is_no_no_leak);
	tcase_add_test(tc, a_leak_elsewhere_is_one);
	tcase_add_loop_test(tc, with_records_missing_it_cannot_be_said, 0,
			    sizeof(rows) / sizeof(*rows));
	return unit_run(tc, "report leaks");
}
