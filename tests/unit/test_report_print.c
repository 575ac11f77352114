/* SPDX-License-Identifier: Apache-2.0 */
#include "report/memory/memory.h"
#include "report/out.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

static char *printed(const char *text)
{
	static char shown[65536];
	char path[] = "/tmp/report_print.XXXXXX", why[512];
	struct memory_options o = {
		.top = 10, .depth = 3, .first = INT64_MIN, .last = INT64_MAX
	};
	struct memory_view view;
	struct model model;
	int fd = mkstemp(path);
	FILE *out;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	ck_assert_msg(!model_read(&model, path, 0, why, sizeof(why)), "%s", why);
	unlink(path);
	ck_assert(memory_make(&view, &model, &o));
	out = fmemopen(shown, sizeof(shown), "w");
	memory_print(&view, "a file", out);
	fclose(out);
	memory_free(&view);
	model_free(&model);
	return shown;
}

/* Nothing is said that is not known: whose it is; a stack that cannot be trusted is. */
START_TEST(counters_have_no_call_sites)
{
	const char *text = printed(
		"{\"proflaunch\":{\"heap\":{\"mode\":\"count\",\"since\":\"window\","
		"\"steps\":[3,4],\"peak\":{\"ts\":1.5,\"bytes\":900,\"step\":4},"
		"\"end\":{\"bytes\":800,\"blocks\":4},\"total\":{\"allocs\":9},"
		"\"sites\":[],\"other\":{\"allocs\":9,\"live\":800,\"peak\":900,"
		"\"steps\":[100,800]}}},\"traceEvents\":[]}");

	ck_assert_ptr_nonnull(strstr(text, "malloc = count does not say"));
	ck_assert_ptr_null(strstr(text, "call site\n"));
	ck_assert_ptr_null(strstr(text, "by operator"));
	ck_assert_ptr_nonnull(strstr(text, "(the whole heap)"));
}
END_TEST

#define MEMORY(ts, addr, bytes, allocated, reserved)                                  \
	"{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" #ts         \
	",\"args\":{\"Total Reserved\":" #reserved ",\"Total Allocated\":" #allocated \
	",\"Bytes\":" #bytes ",\"Device Id\":-1,\"Device Type\":0,\"Addr\":" #addr "}}"

/* A DataLoader's blocks are in no allocator's totals: nothing is less than nothing. */
START_TEST(shared_memory_is_counted_once)
{
	const char *text =
		printed("{\"traceEvents\":[" MEMORY(1, 64, 4096, 4096, 0) "," MEMORY(
			2, 4096, 393216, 0, 393216) "," MEMORY(3, 128, 8192, 12288,
							       0) "]}");

	ck_assert_ptr_nonnull(strstr(text, "cpu: peak 396.0 KiB"));
	ck_assert_ptr_nonnull(
		strstr(text, "shared with other processes: a block of up to"));
	ck_assert_ptr_null(strstr(text, "parameters"));
}
END_TEST

START_TEST(checks_of_stacks_are_said)
{
	const char *text = printed(
		"{\"proflaunch\":{\"heap\":{\"mode\":\"all\",\"stats\":{\"stacks\":1200,"
		"\"checked\":12,\"disagreed\":7,\"cut\":5,\"ended\":3}}},"
		"\"traceEvents\":[]}");

	ck_assert_ptr_nonnull(strstr(text, "1,200 walked; 7 of 12 that were walked twice "
					   "disagreed; 3 end at"));
	ck_assert_ptr_nonnull(
		strstr(text, "5 without their outer frames (--stack-depth shows more)"));
}
END_TEST

static const char *site_of(const char *text, size_t most)
{
	static char shown[4096];
	FILE *out = fmemopen(shown, sizeof(shown), "w");

	out_site(out, text, 2, most);
	fclose(out);
	return shown;
}

/* What is too long loses its parameters, never its place in the source. */
START_TEST(long_names_keep_their_line)
{
	const char *name =
		"void a::(anonymous namespace)::f<std::map<int, b>>(int, g<(h)1>) "
		"const (file.cpp:12) < main (m.c:1)";

	ck_assert_str_eq(site_of("f(int) (a.cpp:1)", 40), "f(int) (a.cpp:1)\n");
	ck_assert_str_eq(site_of(name, 60),
			 "void a::(anonymous namespace)::f<> const (file.cpp:12)\n"
			 "    < main (m.c:1)\n");
	ck_assert_str_eq(site_of("operator<<(std::ostream&, long) (stream.cpp:77)", 40),
			 "operator<< (stream.cpp:77)\n");
	ck_assert_str_eq(site_of("c::operator()(int, int, int, int, int) (c.cpp:77)", 40),
			 "c::operator() (c.cpp:77)\n");
	ck_assert_str_eq(
		site_of("f<decltype(a->b()), int>::g(int, int, int) (f.cpp:7)", 40),
		"f<>::g (f.cpp:7)\n");
	ck_assert_str_eq(site_of("d::operator->(f<&g::operator-> >, int) (c.cpp:7)", 40),
			 "d::operator-> (c.cpp:7)\n");
	ck_assert_str_eq(
		site_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa (c.cpp:7)", 40),
		"aaaaaaaaaaaaaaaaaaaaaaaaaaa... (c.cpp:7)\n");
	/* Nothing is closed. */
	ck_assert_str_eq(site_of("f<((((<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<< (c.cpp:7)", 40),
			 "f<> (c.cpp:7)\n");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("print");

	tcase_add_test(tc, counters_have_no_call_sites);
	tcase_add_test(tc, shared_memory_is_counted_once);
	tcase_add_test(tc, checks_of_stacks_are_said);
	tcase_add_test(tc, long_names_keep_their_line);
	return unit_run(tc, "report_print");
}
