/* SPDX-License-Identifier: Apache-2.0 */
/* What a report wants of slices beyond their times: shapes, GPU work, devices. */
#include "report/dims.h"
#include "report/model.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

static struct model m;

/* Reads a file of that text. */
static void read_text(const char *text, unsigned want)
{
	char path[] = "/tmp/report_details_XXXXXX", why[1024];
	int fd = mkstemp(path);

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	ck_assert_msg(!model_read(&m, path, want, why, sizeof(why)), "%s", why);
	unlink(path);
}

/* Reads an operator with these arguments, and returns the text of its shapes. */
static const char *shapes_of(const char *args)
{
	char text[20000];

	model_free(&m);
	snprintf(text, sizeof(text),
		 "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,"
		 "\"ts\":1,\"dur\":2,\"args\":{%s}}]",
		 args);
	read_text(text, WANT(SLICE_OP) | WANT_DETAILS);
	ck_assert_uint_eq(m.slices_n, 1);
	if (m.slices[0].shapes == TEXT_NONE)
		return NULL;
	return texts_get(&m.texts, m.slices[0].shapes);
}

START_TEST(shapes_are_text_as_python_prints_it)
{
	ck_assert_str_eq(
		shapes_of("\"Input Dims\":[[64,32],[],[[2, 3],[4]],\"x\",null,7]"),
		"[[64, 32], [], [[2, 3], [4]], 'x', None, 7]");
	ck_assert_str_eq(shapes_of("\"Input Dims\":[]"), "[]");
	ck_assert_str_eq(shapes_of("\"Input Dims\":[{\"a\":[1]},[2]]"), "[None, [2]]");
	ck_assert_ptr_null(shapes_of("\"Input Dims\":7"));
	ck_assert_ptr_null(shapes_of(""));
	model_free(&m);
}
END_TEST

/* The size of the first input is as before: a list of tensors has none. */
START_TEST(the_first_input_has_a_size)
{
	static const struct {
		const char *args;
		int64_t bytes;
	} rows[] = {
		{ "\"Input Dims\":[[64,32],[5]],\"Input type\":[\"float\",\"int\"]",
		  8192 },
		{ "\"Input type\":[\"double\"],\"Input Dims\":[[]]", 8 },
		{ "\"Input Dims\":[[[2,3],[4]]],\"Input type\":[\"float\"]", -1 },
		{ "\"Input Dims\":[5,[2]],\"Input type\":[\"float\"]", -1 },
		{ "\"Input Dims\":[[3,-1]],\"Input type\":[\"float\"]", -1 },
		{ "\"Input Dims\":[[4294967296,4294967296]],\"Input type\":[\"float\"]",
		  -1 },
		{ "\"Input Dims\":[[4]],\"Input type\":[7,\"float\"]", -1 },
		{ "\"Input Dims\":[],\"Input type\":[\"float\"]", -1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		shapes_of(rows[i].args);
		ck_assert_msg(m.slices[0].input_bytes == rows[i].bytes, "%s: %lld",
			      rows[i].args, (long long)m.slices[0].input_bytes);
	}
	model_free(&m);
}
END_TEST

START_TEST(a_long_list_is_cut_and_a_deep_one_ends)
{
	char args[16000] = "\"Input Dims\":[";
	const char *text;

	for (int i = 0; i < 1000; i++)
		strcat(args, i ? ",[1,2,3]" : "[1,2,3]");
	text = shapes_of(strcat(args, "]"));
	ck_assert_uint_lt(strlen(text), DIMS_TEXT_MOST);
	ck_assert_uint_gt(strlen(text), DIMS_TEXT_MOST - 20);
	ck_assert_str_eq(text + strlen(text) - 3, "...");
	strcpy(args, "\"Input Dims\":[");
	for (int i = 0; i < 300; i++)
		strcat(args, "[");
	for (int i = 0; i < 300; i++)
		strcat(args, "]");
	ck_assert_str_eq(shapes_of(strcat(args, "]")), "[[[[[[[[[...]]]]]]]]]");
	model_free(&m);
}
END_TEST

#define KERNEL                                                                        \
	"{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,"  \
	"\"dur\":2,\"args\":{\"device\":1,\"stream\":7,\"correlation\":%d,"           \
	"\"External id\":5,\"grid\":[4,1,1],\"block\":[128,1,1],"                     \
	"\"registers per thread\":32,\"shared memory\":1024,\"blocks per SM\":0.037," \
	"\"est. achieved occupancy %%\":12.5,\"bytes\":4096}},"

static void read_kernels(unsigned want)
{
	char text[4000];

	snprintf(
		text, sizeof(text),
		"{\"deviceProperties\":[{\"id\":0,\"name\":\"A\",\"computeMajor\":9,"
		"\"computeMinor\":1,\"totalGlobalMem\":85000000000,\"numSms\":132,"
		"\"other\":[1]},7,{\"id\":1}],\"record_shapes\":1,\"traceEvents\":[" KERNEL
			KERNEL "{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"c\","
		"\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1,\"args\":{\"correlation\":3}},"
		"{\"ph\":\"X\",\"cat\":\"Memset\",\"name\":\"s\",\"pid\":0,\"tid\":7,"
		"\"ts\":30,\"dur\":1}]}",
		"kernel", 10, 3, "gpu_memcpy", 20, -4);
	read_text(text, want);
}

START_TEST(gpu_work_has_its_details)
{
	const struct work *w;

	read_kernels(WANT(SLICE_DEVICE) | WANT(SLICE_CALL) | WANT_DETAILS);
	ck_assert_uint_eq(m.slices_n, 4);
	ck_assert_uint_eq(m.works_n, 3);
	for (size_t i = 0; i < m.slices_n; i++) {
		const struct slice *s = &m.slices[i];

		ck_assert_uint_eq(s->sort, s->begin == 0       ? SORT_DRIVER
					   : s->begin == 10000 ? SORT_KERNEL
					   : s->begin == 20000 ? SORT_COPY
							       : SORT_SET);
		ck_assert_uint_eq(s->correlation, s->begin <= 10000 ? 3 : 0);
		ck_assert((s->work == NO_ROW) == (s->kind == SLICE_CALL));
		if (s->sort != SORT_KERNEL)
			continue;
		w = &m.works[s->work];
		ck_assert_int_eq(w->device, 1);
		ck_assert_int_eq(w->stream, 7);
		ck_assert_int_eq(w->bytes, 4096);
		ck_assert_int_eq(w->registers, 32);
		ck_assert_int_eq(w->shared, 1024);
		ck_assert_str_eq(texts_get(&m.texts, w->grid), "[4, 1, 1]");
		ck_assert_str_eq(texts_get(&m.texts, w->block), "[128, 1, 1]");
		ck_assert(w->blocks_per_sm == 0.037 && w->occupancy == 12.5);
	}
	w = &m.works[2];
	ck_assert(w->device == -1 && w->bytes == -1 && w->occupancy == -1);
	ck_assert_uint_eq(w->grid, TEXT_NONE);
	model_free(&m);
}
END_TEST

START_TEST(details_that_nobody_wants_are_not_kept)
{
	read_kernels(WANT(SLICE_DEVICE));
	ck_assert_uint_eq(m.works_n, 0);
	ck_assert_uint_eq(m.slices[0].work, NO_ROW);
	ck_assert_uint_eq(texts_find(&m.texts, "[4, 1, 1]"), TEXT_NONE);
	model_free(&m);
}
END_TEST

START_TEST(devices_are_as_the_file_describes_them)
{
	read_kernels(0);
	ck_assert(m.says_shapes);
	ck_assert_uint_eq(m.gpus_n, 2);
	ck_assert_int_eq(m.gpus[0].id, 0);
	ck_assert_int_eq(m.gpus[0].major, 9);
	ck_assert_int_eq(m.gpus[0].minor, 1);
	ck_assert_int_eq(m.gpus[0].memory, 85000000000);
	ck_assert_int_eq(m.gpus[0].sms, 132);
	ck_assert_str_eq(texts_get(&m.texts, m.gpus[0].name), "A");
	ck_assert_int_eq(m.gpus[1].id, 1);
	ck_assert_uint_eq(m.gpus[1].name, TEXT_NONE);
	model_free(&m);
}
END_TEST

START_TEST(the_file_says_what_recording_cost)
{
	read_text(
		"{\"proflaunch\":{\"facts\":{\"torch\":{\"torch\":\"2.13.0\",\"x\":{}},"
		"\"script\":\"a.py\"},\"cost\":{\"a\":1,\"estimated overhead us\":12.5},"
		"\"window\":{\"number\":3,\"complete\":false}},\"traceEvents\":[]}",
		0);
	ck_assert_int_eq(m.whose.overhead, 12500);
	ck_assert(m.whose.torch && m.whose.broken_off);
	ck_assert_str_eq(texts_get(&m.texts, m.whose.torch_version), "2.13.0");
	ck_assert_int_eq(m.whose.window, 3);
	model_free(&m);
	read_text("[]", 0);
	ck_assert(m.whose.overhead == -1 && !m.whose.broken_off);
	model_free(&m);
}
END_TEST

int main(void)
{
	TCase *c = tcase_create("details");

	tcase_add_test(c, shapes_are_text_as_python_prints_it);
	tcase_add_test(c, the_first_input_has_a_size);
	tcase_add_test(c, a_long_list_is_cut_and_a_deep_one_ends);
	tcase_add_test(c, gpu_work_has_its_details);
	tcase_add_test(c, details_that_nobody_wants_are_not_kept);
	tcase_add_test(c, devices_are_as_the_file_describes_them);
	tcase_add_test(c, the_file_says_what_recording_cost);
	return unit_run(c, "report details");
}
