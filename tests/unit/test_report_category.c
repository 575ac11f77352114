/* SPDX-License-Identifier: Apache-2.0 */
/* Categories, timelines, processes and JSON at their edges. */
#include "report/memory/category.h"
#include "report/memory/processes.h"
#include "report/memory/timeline.h"
#include "tests/unit/report_trace.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- categories ---- */

#define NODE   "autograd::engine::evaluate_function: "
#define ACC    "torch::autograd::AccumulateGrad"
#define SEQ(f) "\"Sequence number\":7,\"Fwd thread id\":" #f

/* One layer of 100 floats, forward and back. */
static void train(const char *optimizer)
{
	char name[64];

	slice(1, "cpu_op", "aten::linear", 20, 10, SEQ(0));
	memory(20.5, 400, 48);
	slice(1, "cpu_op", NODE "AddmmBackward0", 40, 8, SEQ(1));
	slice(1, "cpu_op", NODE ACC, 50, 6, "");
	slice(1, "cpu_op", ACC, 51, 4,
	      "\"Input Dims\":[[10, 10]],\"Input type\":[\"float\"]");
	snprintf(name, sizeof(name), "Optimizer.step#%s.step", optimizer);
	slice(1, "user_annotation", name, 60, 20, "");
}

static enum category category_of(uint64_t addr)
{
	for (size_t i = 0; i < view.blocks.n; i++)
		if (view.blocks.rows[i].from != NO_ROW &&
		    model.memory[view.blocks.rows[i].from].addr == addr)
			return view.blocks.rows[i].category;
	ck_abort_msg("no block");
	return CATEGORIES;
}

/* From the first nanosecond of the pass on; and of three blocks of a parameter's size
 * one is it. */
START_TEST(categories_at_their_edges)
{
	for (unsigned i = 0; i < 3; i++)
		memory(5 + i, 100 + i, 400);
	train("SGD");
	look();
	ck_assert_int_eq(category_of(400), CATEGORY_ACTIVATION);
	ck_assert_int_eq(category_of(100), CATEGORY_PARAMETER);
	ck_assert_int_ne(category_of(101), CATEGORY_PARAMETER);
	ck_assert_int_ne(category_of(102), CATEGORY_PARAMETER);
}
END_TEST

static const struct {
	const char *name;
	int64_t want;
} optimizers[] = {
	{ "SGD", 0 }, { "Adam", 800 }, { "AdamW", 800 }, { "RMSprop", 400 }, { "Mine", 0 }
};

START_TEST(what_an_optimizer_keeps)
{
	int64_t before[CATEGORIES];

	train(optimizers[_i].name);
	look();
	preexisting_set(&view.blocks, 0, before);
	ck_assert_int_eq(before[CATEGORY_PARAMETER], 400);
	ck_assert_int_eq(before[CATEGORY_OPTIMIZER], optimizers[_i].want);
}
END_TEST

/* What was there before is no more than what the allocator says, and no part of it twice.
 */
START_TEST(what_is_older_has_one_category)
{
	const struct memory_space *s;
	int64_t sum = 0;

	train("Adam");
	memory_of(1, 0, -1, 58, 500, 2, 1000);
	look();
	s = &view.spaces[0];
	ck_assert_int_eq(s->peak, 1000);
	ck_assert_int_eq(s->category[CATEGORY_PARAMETER], 400);
	ck_assert_int_eq(s->category[CATEGORY_OPTIMIZER], 550);
	for (unsigned i = 0; i < CATEGORIES; i++)
		sum += s->category[i];
	ck_assert_int_eq(sum + s->older, s->peak);
}
END_TEST

/* ---- timelines ---- */

static rlim_t room_again;

static void make_room(int sig)
{
	struct rlimit limit = { 0 };

	(void)sig;
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = room_again;
	setrlimit(RLIMIT_FSIZE, &limit);
}

/* What was lost in the middle does not come back when there is room again. */
START_TEST(a_timeline_with_a_hole_is_an_error)
{
	FILE *out = tmpfile();
	char why[512];
	struct rlimit limit;
	int err;

	memory(5, 64, 10);
	look();
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	room_again = limit.rlim_cur;
	limit.rlim_cur = 1;
	signal(SIGXFSZ, make_room);
	/* An assertion writes into a file as well. */
	err = setrlimit(RLIMIT_FSIZE, &limit)
		      ? 0
		      : timeline_write(&view, NULL, "x.html", out, why, sizeof(why));
	ck_assert_int_eq(err, -1);
	fclose(out);
}
END_TEST

/* Of what is drawn as one point the fullest moment stays; names are text. */
START_TEST(a_page_shows_the_fullest_moment)
{
	struct memory_space space;
	struct timeline t = { .view = &view, .space = &space };
	struct timeline_row rows[] = { { 10, 100, 2, 7 },
				       { 11, 900, 2, 7 },
				       { 12, -800, 4, 7 },
				       { 900000000, 5, 2, 7 } };
	FILE *out;

	memory(5, 64, 10);
	look();
	space = view.spaces[0];
	snprintf(space.name, sizeof(space.name), "a<b>&\"c'");
	t.rows = rows;
	t.n = sizeof(rows) / sizeof(*rows);
	out = open_memstream(&said, &said_len);
	timeline_html(&t, out);
	fclose(out);
	says(said, "a&#60;b&#62;&#38;&#34;c&#39;");
	says(said, "[0,0,0,0,0,0,0,1000]");
	says(said, "[0,0,0,0,0,0,0,205]");
	says(said, "peak:[0.000001,1000]");
}
END_TEST

/* ---- processes ---- */

static const char *processes(const char *trace, unsigned top, bool json)
{
	char path[] = "/tmp/report_processes.XXXXXX";
	int fd = mkstemp(path);
	FILE *out = open_memstream(&said, &said_len);
	bool is;

	ck_assert_int_eq(write(fd, trace, strlen(trace)), strlen(trace));
	close(fd);
	is = processes_print(path, top, json, out);
	fclose(out);
	unlink(path);
	return is ? said : NULL;
}

#define PROCESS(name, pid, peak)                                                         \
	"{\"ph\":\"X\",\"cat\":\"process\",\"name\":\"" name "\",\"pid\":1,\"tid\":1,"   \
	"\"ts\":1,\"dur\":2,\"args\":{\"process\":" #pid ",\"parent\":1,\"peak\":" #peak \
	",\"allocations\":1000,\"frees\":7}},"
#define END_EVENT "{\"ph\":\"M\",\"name\":\"end\"}]}"

START_TEST(processes_by_their_peak)
{
	const char *trace =
		"{\"proflaunch\":{\"version\":\"1\",\"processes\":3,\"job\":\"j\"},"
		"\"traceEvents\":[" PROCESS("small", 11, 10) PROCESS("large", 12, 3000)
			PROCESS("middle", 13, 200) END_EVENT;
	const char *large, *middle;

	says(processes(trace, 2, false), "3 processes, 3,000 allocations, 21 frees");
	large = strstr(said, "large");
	middle = strstr(said, "middle");
	ck_assert(large && middle && large < middle);
	ck_assert_ptr_null(strstr(said, "small"));
	says(said, "... and 1 more");
	free(said);
	says(processes(trace, 2, true), "\"command\": \"small\"");
	free(said);
	/* Another view's, and one that is cut. */
	ck_assert_ptr_null(
		processes("{\"proflaunch\":{},\"traceEvents\":[" END_EVENT, 2, false));
	free(said);
	ck_assert_ptr_null(processes(
		"{\"proflaunch\":{\"processes\":3},\"traceEvents\":[", 2, false));
	fclose(file);
}
END_TEST

/* ---- JSON ---- */

START_TEST(json_has_null_and_whole_nanoseconds)
{
	op("aten::a", 1, 10);
	memory(5.003, 64, 10);
	look();
	says(as_json(), "\"peak_step\": null");
	says(said, "\"peak_us\": 5.003");
}
END_TEST

START_TEST(what_is_missing_is_said)
{
	op("aten::a", 1, 10);
	memory(5, 64, 10);
	end();
	begin();
	ours("\"drops\":{\"operators\":1234}");
	memory(5, 64, 10);
	look();
	says(printed(), "INCOMPLETE: 1,234 records are missing");
	ck_assert_uint_eq(model.dropped, 1234);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("views");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, categories_at_their_edges);
	tcase_add_loop_test(tc, what_an_optimizer_keeps, 0,
			    sizeof(optimizers) / sizeof(*optimizers));
	tcase_add_test(tc, what_is_older_has_one_category);
	tcase_add_test(tc, a_timeline_with_a_hole_is_an_error);
	tcase_add_test(tc, a_page_shows_the_fullest_moment);
	tcase_add_test(tc, processes_by_their_peak);
	tcase_add_test(tc, json_has_null_and_whole_nanoseconds);
	tcase_add_test(tc, what_is_missing_is_said);
	return unit_run(tc, "report views");
}
