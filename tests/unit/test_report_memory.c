/* SPDX-License-Identifier: Apache-2.0 */
#include "report/memory/memory.h"
#include "report/memory/timeline.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>
#include <zlib.h>

static struct model model;
static struct memory_view view;
static char why[512];

/* ---- handmade traces ---- */

#define WANTED (WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON))

static char *written(const char *text, bool packed)
{
	static char path[] = "/tmp/report_memory.XXXXXX";
	int fd;

	memcpy(path + strlen(path) - 6, "XXXXXX", 6);
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	if (packed) {
		gzFile gz = gzdopen(fd, "wb");

		gzputs(gz, text);
		gzclose(gz);
	} else {
		ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
		close(fd);
	}
	return path;
}

static void look(const char *text)
{
	struct memory_options o = {
		.top = 10, .depth = 3, .first = INT64_MIN, .last = INT64_MAX
	};
	char *path = written(text, false);

	ck_assert_msg(!model_read(&model, path, WANTED, why, sizeof(why)), "%s", why);
	unlink(path);
	ck_assert(memory_make(&view, &model, &o));
}

static void done(void)
{
	memory_free(&view);
	model_free(&model);
}

#define X(cat, name, ts, dur, args)                                                    \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":1," \
	"\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" args "}},"
#define OP(name, ts, dur)   X("cpu_op", name, ts, dur, "")
#define NOTE(name, ts, dur) X("user_annotation", name, ts, dur, "")
#define MEMORY(ts, addr, bytes, total)                                                    \
	"{\"ph\":\"i\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" #ts \
	",\"args\":{\"Addr\":" #addr ",\"Bytes\":" #bytes ",\"Total Allocated\":" #total  \
	",\"Total Reserved\":0,\"Device Type\":0,\"Device Id\":-1}},"
#define FILE_OF(events)                                             \
	"{\"baseTimeNanoseconds\": 1000, \"traceEvents\": [" events \
	"{\"ph\":\"M\",\"name\":\"end\"}]}"

static const struct memory_row *row(const struct memory_table *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].label == TEXT_NONE
			    ? !name
			    : name && !strcmp(texts_get(&model.texts, t->rows[i].label),
					      name))
			return &t->rows[i];
	ck_abort_msg("no row %s", name ? name : "outside");
	return NULL;
}

/* Two steps; aten::mul keeps 100 bytes in each. */
static const char two_steps[] = FILE_OF(
	NOTE("ProfilerStep#3", 100, 100) NOTE("ProfilerStep#4", 201, 99)
		OP("aten::randn", 110, 20) OP("aten::empty", 112, 3) MEMORY(
			113, 4096, 1000, 5000) MEMORY(120, 8192, 16, 5016)
			MEMORY(125, 8192, -16, 5000) OP("aten::mul", 140, 10) MEMORY(
				145, 12288, 100, 5100) MEMORY(160, 4096, -1000, 4100)
				MEMORY(170, 20480, -50, 4050) OP("aten::mul", 240, 10)
					MEMORY(245, 16384, 100, 4150)
						MEMORY(260, 99, 7, 4157));

START_TEST(tables_of_tensors)
{
	const struct memory_space *s;

	look(two_steps);
	ck_assert_uint_eq(view.spaces_n, 1);
	s = &view.spaces[0];
	ck_assert_str_eq(s->name, "cpu");
	ck_assert_int_eq(s->peak, 5100);
	ck_assert_int_eq(s->peak_ts, 145000);
	ck_assert_int_eq(s->peak_seen, 1100);
	ck_assert_int_eq(s->peak_step, 3);
	ck_assert_str_eq(texts_get(&model.texts, s->peak_op), "aten::mul");
	ck_assert_int_eq(s->allocs, 5);
	ck_assert_int_eq(s->frees, 2);
	ck_assert_int_eq(s->foreign, 1);
	ck_assert_int_eq(s->brief, 1);
	ck_assert_int_eq(s->end, 207);
	ck_assert_int_eq(row(&s->by_op, "aten::randn (aten::empty)")->peak, 1000);
	ck_assert_int_eq(row(&s->by_op, "aten::randn")->bytes, 16);
	ck_assert_int_eq(row(&s->by_op, "aten::mul")->end, 200);
	ck_assert_int_eq(row(&s->by_op, NULL)->bytes, 7);
	ck_assert_int_eq(row(&s->by_site, "aten::empty < aten::randn")->allocs, 1);
	done();
}
END_TEST

START_TEST(growth_and_churn)
{
	const struct memory_space *s;
	const struct memory_row *mul;

	look(two_steps);
	s = &view.spaces[0];
	mul = row(&s->by_op, "aten::mul");
	ck_assert_uint_eq(s->steps_n, 2);
	ck_assert_int_eq(s->numbers[1], 4);
	ck_assert_int_eq(mul->steps[0], 100);
	ck_assert_int_eq(mul->steps[1], 200);
	ck_assert_int_eq(memory_growth(mul, 1), 100);
	ck_assert_int_eq(s->churn[0].allocs, 3);
	ck_assert_int_eq(s->churn[0].bytes, 1116);
	ck_assert_int_eq(s->churn[0].freed, 1066);
	ck_assert_int_eq(s->churn[0].end, 100);
	ck_assert_int_eq(s->churn[1].end, 207);
	done();
}
END_TEST

static int judged(unsigned steps, int64_t growth)
{
	struct leak_options o = { steps, growth };
	FILE *out = fopen("/dev/null", "w");
	int status = leaks_print(&view, &o, "x", out);

	memory_print(&view, "x", out);
	memory_json(&view, "x", out);
	fclose(out);
	return status;
}

/* From two steps nobody knows; test_report_leaks has more. */
START_TEST(leaks_are_judged)
{
	look(two_steps);
	ck_assert_int_eq(judged(0, 99), 2);
	done();
	look(FILE_OF(OP("aten::mul", 1, 2)));
	ck_assert_uint_eq(view.spaces_n, 0);
	ck_assert_int_eq(judged(1, 1), 2);
	done();
}
END_TEST

/* An address that is given out again, two devices with one address, order by time. */
START_TEST(blocks_are_paired)
{
	look(FILE_OF(MEMORY(30, 64, -10, 0) MEMORY(10, 64, 10, 0) MEMORY(
		20, 64, 20,
		0) "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":2,\"ts\":25,\"args\":"
		   "{\"Addr\":64,\"Bytes\":-5,\"Device Type\":1,\"Device Id\":3}},"
		   "{\"ph\":\"i\",\"name\":\"[OutOfMemory]\",\"pid\":1,\"tid\":2,\"ts\":26,\"args\":"
		   "{\"Bytes\":99,\"Device Type\":1,\"Device Id\":3}},"));
	ck_assert_uint_eq(view.blocks.n, 3);
	ck_assert_uint_eq(view.blocks.overwritten, 1);
	ck_assert_uint_eq(view.spaces_n, 2);
	ck_assert_int_eq(view.spaces[0].frees, 2);
	ck_assert_int_eq(view.spaces[0].peak, 30);
	ck_assert_str_eq(view.spaces[1].name, "cuda:3");
	ck_assert_int_eq(view.spaces[1].foreign, 1);
	ck_assert_int_eq(view.spaces[1].oom, 1);
	done();
}
END_TEST

/* ---- categories ---- */

#define NODE "autograd::engine::evaluate_function: "
static const char training[] = FILE_OF(
	MEMORY(5, 100, 400, 0) OP("aten::randn", 7, 3) MEMORY(8, 200, 64, 0) NOTE(
		"enumerate(DataLoader)#_Single.__next__", 10,
		9) OP("aten::stack", 11,
		      5) MEMORY(12, 300, 32,
				0) X("cpu_op", "aten::linear", 20, 10,
				     "\"Sequence number\":7,\"Fwd thread id\":0")
		MEMORY(22, 400, 48, 0) MEMORY(23, 500, 8, 0) MEMORY(
			25, 500, -8,
			0) X("cpu_op", NODE "AddmmBackward0", 40, 10,
			     "\"Sequence number\":7,\"Fwd thread id\":1")
			X("cpu_op", "AddmmBackward0", 41, 5,
			  "\"Sequence number\":7,\"Fwd thread id\":1") MEMORY(42, 600,
									      400, 0)
				MEMORY(43, 700, 24, 0) MEMORY(52, 400, -48, 0) X(
					"cpu_op",
					NODE "torch::autograd::AccumulateGrad", 50, 6,
					"") X("cpu_op", "torch::autograd::AccumulateGrad",
					      51, 4,
					      "\"Input Dims\":[[10, 10]],\"Input type\":[\"float\"]")
					MEMORY(53, 700, -24,
					       0) NOTE("Optimizer.step#SGD.step", 60,
						       20) OP("aten::zeros_like", 61,
							      5) MEMORY(62, 800, 400, 0)
						OP("aten::mul", 67,
						   2) MEMORY(68, 900, 12,
							     0) MEMORY(75, 900, -12, 0)
							NOTE("Optimizer.zero_grad#SGD.zero_grad",
							     90,
							     5) MEMORY(91, 600, -400, 0)
								MEMORY(92, 1000, -77, 0));

START_TEST(categories_are_told)
{
	static const struct {
		uint64_t addr;
		enum category category;
	} rows[] = {
		{ 100, CATEGORY_PARAMETER }, { 200, CATEGORY_INPUT },
		{ 300, CATEGORY_INPUT },     { 400, CATEGORY_ACTIVATION },
		{ 500, CATEGORY_TEMPORARY }, { 600, CATEGORY_GRADIENT },
		{ 700, CATEGORY_AUTOGRAD },  { 800, CATEGORY_OPTIMIZER },
		{ 900, CATEGORY_TEMPORARY }, { 1000, CATEGORY_GRADIENT },
	};

	look(training);
	ck_assert_uint_eq(view.blocks.n, sizeof(rows) / sizeof(*rows));
	for (size_t i = 0; i < view.blocks.n; i++) {
		const struct block *b = &view.blocks.rows[i];
		uint64_t addr = model.memory[b->from == NO_ROW ? b->to : b->from].addr;

		for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
			if (rows[k].addr == addr)
				ck_assert_msg(b->category == rows[k].category, "%d: %d",
					      (int)addr, b->category);
	}
	done();
}
END_TEST

static const char *timeline_text(const char *suffix)
{
	static char text[65536];
	char path[128];
	FILE *in, *out;
	size_t n;

	snprintf(path, sizeof(path), "/tmp/report_memory.%d.%s", (int)getpid(), suffix);
	out = fopen(path, "w");
	ck_assert_msg(!timeline_write(&view, NULL, path, out, why, sizeof(why)), "%s",
		      why);
	fclose(out);
	in = fopen(path, "r");
	n = fread(text, 1, sizeof(text) - 1, in);
	text[n] = '\0';
	fclose(in);
	unlink(path);
	return text;
}

START_TEST(timelines_have_the_shapes_of_torch)
{
	look(two_steps);
	ck_assert_str_eq(
		timeline_text("raw.json"),
		"[[-1, 1, 50, 7], [-1, 1, 3950, 7], [114000, 2, 1000, 7], "
		"[121000, 2, 16, 3], [126000, 4, -16, 3], [146000, 2, 100, 7], "
		"[161000, 4, -1000, 7], [171000, 4, -50, 7], [246000, 2, 100, 7], "
		"[261000, 2, 7, 7]]");
	ck_assert(!strncmp(
		timeline_text("json"),
		"[[114, 114, 121, 126, 146, 161, 171, 246, 261], "
		"[[0, 0, 0, 0, 0, 0, 0, 0, 4000], [0, 0, 0, 0, 0, 0, 0, 0, 5000], "
		"[0, 0, 0, 0, 16, 0, 0, 0, 5000], ",
		110));
	ck_assert_ptr_nonnull(strstr(timeline_text("html"), "</html>"));
	ck_assert_int_eq(
		timeline_write(&view, "cuda:0", "x.json", stdout, why, sizeof(why)), -1);
	ck_assert_int_eq(timeline_write(&view, NULL, "x.png", stdout, why, sizeof(why)),
			 -1);
	done();
}
END_TEST

/* ---- the heap ---- */

#define HEAP(extra, steps1, steps2)                                                              \
	"{\"proflaunch\": {\"drops\": {\"operators\": 3}, \"heap\": {" extra                     \
	"\"since\":\"window\",\"steps\":[3,4,5],\"peak\":{\"ts\":1.5,\"bytes\":900,\"step\":4}," \
	"\"end\":{\"bytes\":800,\"blocks\":8},\"total\":{\"allocs\":20,\"bytes\":5000,"          \
	"\"frees\":12,\"freed\":4200,\"foreign_frees\":2},\"symbols\":true,"                     \
	"\"frames\":[\"malloc (libc.so)\",\"std::vector<int>::grow() (vector.h:1)\","            \
	"\"load(char const*) (data.cpp:12)\",\"main (main.cpp:3)\"],"                            \
	"\"stacks\":[[0,1,2,3],[0,2,77],[]],\"sites\":["                                         \
	"{\"stack\":0,\"op\":\"aten::add\",\"allocs\":10,\"bytes\":3000,\"frees\":5,"            \
	"\"freed\":2500,\"live\":500,\"blocks\":5,\"peak\":600,\"max\":99,\"call\":\"malloc\","  \
	"\"steps\":" steps1 "},{\"stack\":1,\"op\":null,\"allocs\":9,\"bytes\":1900,"            \
	"\"frees\":7,\"freed\":1700,\"live\":200,\"blocks\":2,\"peak\":300,\"steps\":" steps2    \
	"},{\"stack\":99,\"live\":1,\"steps\":[1]}],"                                            \
	"\"other\":{\"sites\":4,\"allocs\":1,\"bytes\":100,\"live\":100,\"steps\":[1,1,1]}}},"   \
	"\"traceEvents\":[]}"

START_TEST(tables_of_the_heap)
{
	const struct memory_space *s;
	const char *site =
		"load(char const*) (data.cpp:12) < main (main.cpp:3) < [aten::add]";

	look(HEAP("\"mode\":\"all\",", "[100,300,500]", "[10,200,200]"));
	ck_assert_uint_eq(view.spaces_n, 1);
	s = &view.spaces[0];
	ck_assert_str_eq(s->name, "heap");
	ck_assert_int_eq(s->peak, 900);
	ck_assert_int_eq(s->peak_ts, 1500);
	ck_assert_int_eq(s->peak_step, 4);
	ck_assert_int_eq(row(&s->by_site, site)->peak, 600);
	ck_assert_int_eq(row(&s->by_site, site)->steps[2], 500);
	ck_assert_int_eq(row(&s->by_op, "aten::add")->end, 500);
	ck_assert_int_eq(row(&s->by_site, "load(char const*) (data.cpp:12) < ?")->end,
			 200);
	ck_assert_int_eq(row(&s->by_site, "(smaller sites)")->bytes, 100);
	ck_assert_uint_eq(model.dropped, 3);
	ck_assert_int_eq(judged(0, 99), 2);
	done();
}
END_TEST

START_TEST(samples_are_known_as_such)
{
	look(HEAP("\"mode\":\"sample\",\"weighted\":true,\"sample_bytes\":50,",
		  "[100,100,500]", "[10,200,200]"));
	ck_assert(view.spaces[0].estimated);
	ck_assert_int_eq(judged(0, 99), 2);
	done();
}
END_TEST

/* ---- files ---- */

START_TEST(files_of_every_kind)
{
	struct model m;
	char *path = written(two_steps, true);

	ck_assert_int_eq(model_read(&m, path, WANTED, why, sizeof(why)), 0);
	ck_assert_uint_eq(m.memory_n, 8);
	ck_assert_int_eq(m.base_ns, 1000);
	model_free(&m);
	ck_assert_int_eq(truncate(path, 60), 0);
	ck_assert_int_eq(model_read(&m, path, WANTED, why, sizeof(why)), -1);
	ck_assert_msg(strstr(why, "gzip data end early") != NULL, "%s", why);
	unlink(path);
	path = written("[" OP("aten::add", 1, 2) "{}]", false);
	ck_assert_int_eq(model_read(&m, path, WANTED, why, sizeof(why)), 0);
	ck_assert_uint_eq(m.slices_n, 1);
	model_free(&m);
	unlink(path);
	path = written("{\"a\": 1}", false);
	ck_assert_int_eq(model_read(&m, path, WANTED, why, sizeof(why)), -1);
	ck_assert_ptr_nonnull(strstr(why, "traceEvents"));
	unlink(path);
	ck_assert_int_eq(model_read(&m, path, WANTED, why, sizeof(why)), -1);
	ck_assert_int_eq(model_read(&m, "/", WANTED, why, sizeof(why)), -1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_memory");

	tcase_add_test(tc, tables_of_tensors);
	tcase_add_test(tc, growth_and_churn);
	tcase_add_test(tc, leaks_are_judged);
	tcase_add_test(tc, blocks_are_paired);
	tcase_add_test(tc, categories_are_told);
	tcase_add_test(tc, timelines_have_the_shapes_of_torch);
	tcase_add_test(tc, tables_of_the_heap);
	tcase_add_test(tc, samples_are_known_as_such);
	tcase_add_test(tc, files_of_every_kind);
	return unit_run(tc, "report_memory");
}
