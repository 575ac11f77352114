/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/spool_image.h"
#include "writer/trace.h"

#include <pthread.h>

static bool has(const struct spool_image *m, const char *text)
{
	return strstr(m->text, text) != NULL;
}

static const struct {
	const char *name;
	size_t len;
	const char *want;
} names[] = {
	{ "plain", 5, "plain" },
	{ "say \"hi\" \\ /", 12, "say \\\"hi\\\" \\\\ /" },
	/* Perfetto takes a quote behind a backslash for an escaped one. */
	{ "ends\\", 5, "ends\\u005c" },
	{ "ends twice\\\\", 12, "ends twice\\\\\\u005c" },
	{ "\\", 1, "\\u005c" },
	{ "\\\"", 2, "\\\\\\\"" },
	{ "tab\tline\nnul\0bell\7", 18, "tab\\tline\\nnul\\u0000bell\\u0007" },
	{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5", 14,
	  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5" },
	{ "bad\xff\xc3(", 6, "bad\xef\xbf\xbd\xef\xbf\xbd(" },
	{ "over\xc0\xaf", 6, "over\xef\xbf\xbd\xef\xbf\xbd" },
	{ "half\xed\xa0\x80", 7, "half\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "cut\xe2\x82", 5, "cut\xef\xbf\xbd\xef\xbf\xbd" },
	/* What lies beside half a pair, the last character there is, and one behind it.
	 */
	{ "\xed\x9f\xbf\xee\x80\x80", 6, "\xed\x9f\xbf\xee\x80\x80" },
	{ "\xf4\x8f\xbf\xbf", 4, "\xf4\x8f\xbf\xbf" },
	{ "\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
};

START_TEST(names_are_escaped)
{
	struct spool_image *m = image_new(1000, 100000);
	char want[128];

	image_thread(m, 7, 1, "main");
	image_record(m, REC_OP, sizeof(struct rec_op),
		     image_name(m, names[_i].name, names[_i].len, ""), 2000, 3000);
	image_write(m);
	fmt(want, sizeof(want), "\"name\":\"%s\",\"pid\"", names[_i].want);
	ck_assert_msg(has(m, want), "%s", image_event(m, "", 0));
	image_free(m);
}
END_TEST

static void *say_facts(void *go)
{
	char json[32];

	while (!atomic_load((_Atomic bool *)go))
		;
	for (unsigned i = 0; i < 200; i++) {
		fmt(json, sizeof(json), "{\"said\": %u}", i);
		spool_fact("torch", json);
	}
	return NULL;
}

/* A live program says more while its file is written: each fact is there once, whole. */
START_TEST(facts_said_meanwhile_are_there_once)
{
	struct spool_image *m = image_new(1000, 100000);
	_Atomic bool go;
	pthread_t thread;

	spool.head = m->head;
	for (unsigned round = 0; round < 100; round++) {
		memset(m->head->facts, 0, sizeof(m->head->facts));
		spool_fact("first", "1");
		atomic_store(&go, false);
		pthread_create(&thread, NULL, say_facts, &go);
		atomic_store(&go, true);
		for (unsigned i = 0; i < 100; i++) {
			char buf[4 * JSON_ROOM] = "", *torch;
			struct json j;

			json_init(&j, buf, sizeof(buf), NULL, NULL);
			facts_lines(&j, m->head->facts, sizeof(m->head->facts), true);
			*j.at = '\0';
			torch = strstr(buf, "\"torch\": ");
			ck_assert_msg(!torch || !strstr(torch + 2, "torch"), "%s", buf);
			ck_assert_msg(!torch || !strncmp(torch + 9, "{\"said\": ", 9),
				      "%s", buf);
			ck_assert_msg(j.at[-1] == '}' && (!torch || j.at[-2] == '}'),
				      "%s", buf);
		}
		pthread_join(thread, NULL);
	}
	spool.head = NULL;
	image_free(m);
}
END_TEST

START_TEST(a_long_name_is_whole)
{
	struct spool_image *m = image_new(1000, 100000);
	char name[4001], want[4100];

	memset(name, 'x', sizeof(name) - 1);
	name[4000] = '\0';
	image_thread(m, 7, 1, "main");
	image_op(m, name, 2000, 3000);
	image_op(m, name, 4000, 5000);
	image_write(m);
	fmt(want, sizeof(want), "\"name\":\"%s\",\"pid\"", name);
	ck_assert(has(m, want) && strstr(strstr(m->text, want) + 1, want));
	image_free(m);
}
END_TEST

/* The text around a name's numbers is kept; another kind of event has another one. */
START_TEST(a_name_of_two_kinds_has_two_categories)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_op(m, "step", 2000, 3000);
	image_op(m, "step", 4000, 5000)->r.kind = REC_ANNOTATION;
	image_op(m, "step", 6000, 7000);
	image_write(m);
	for (unsigned i = 0; i < 3; i++) {
		const char *want = i == 1 ? "\"cat\":\"user_annotation\",\"name\""
					  : "\"cat\":\"cpu_op\",\"name\"";
		const char *event = image_event(m, "step", i);

		ck_assert(event && strstr(event, want) &&
			  strstr(event, want) < strchr(event, '\n'));
	}
	image_free(m);
}
END_TEST

static const struct {
	const char *pattern, *want;
} patterns[] = {
	{ "", "\"node1_4242.rank5.%t\"" },
	{ "rank%r", "\"rank5\"" },
	{ "a/%q{WHO}_%p", "\"a/_._etc_x_4242\"" },
	{ "%q{NOBODY}x%%%z%", "\"x%%%%z%%\"" },
	{ "%t-%h", "\"%t-node1\"" },
	{ "say \"x\"\\", "\"say _x__\"" },
};

START_TEST(patterns_are_resolved_once)
{
	struct spool_image *m = image_new(1000, 100000);
	char buf[256];

	setenv("RANK", "5", 1);
	setenv("WHO", "../etc/x", 1);
	unsetenv("NOBODY");
	strcpy(m->config.file, patterns[_i].pattern);
	writer_pattern(&m->config, m->head, buf, sizeof(buf));
	ck_assert_str_eq(buf, patterns[_i].want);
	image_free(m);
}
END_TEST

/* A name is whole, or none. */
START_TEST(a_long_variable_is_no_other_one)
{
	struct spool_image *m = image_new(1000, 100000);
	char name[129], buf[512], want[512];

	memset(name, 'V', 128);
	name[128] = '\0';
	setenv(name + 1, "short", 1);
	fmt(m->config.file, sizeof(m->config.file), "%%q{%s}", name + 1);
	writer_pattern(&m->config, m->head, buf, sizeof(buf));
	ck_assert_str_eq(buf, "\"short\"");
	fmt(m->config.file, sizeof(m->config.file), "%%q{%s}", name);
	writer_pattern(&m->config, m->head, buf, sizeof(buf));
	fmt(want, sizeof(want), "\"%%%%q{%s}\"", name);
	ck_assert_str_eq(buf, want);
	image_free(m);
}
END_TEST

/* As whoever started many processes says it. */
START_TEST(the_rank_is_that_of_the_table)
{
	struct spool_image *m = image_new(1000, 100000);
	char buf[256];

	unsetenv("RANK");
	writer_pattern(&m->config, m->head, buf, sizeof(buf));
	ck_assert_str_eq(buf, "\"node1_4242.%t\"");
	strcpy(m->config.file, "rank%r");
	writer_pattern(&m->config, m->head, buf, sizeof(buf));
	ck_assert_str_eq(buf, "\"rank0\"");
	setenv("SLURM_PROCID", "11", 1);
	setenv("SLURM_STEP_ID", "0", 1);
	writer_pattern(&m->config, m->head, buf, sizeof(buf));
	ck_assert_str_eq(buf, "\"rank11\"");
	image_free(m);
}
END_TEST

/* A second member of a name would hide the file's own, and move all its times. */
START_TEST(no_key_hides_the_files_own)
{
	static const char *const own[] = {
		"schemaVersion",
		"deviceProperties",
		"cupti_version",
		"cuda_runtime_version",
		"cuda_driver_version",
		"record_shapes",
		"profile_memory",
		"with_flops",
		"trace_id",
		"host_name",
		"stage",
		"distributedInfo",
		"proflaunch",
		"displayTimeUnit",
		"baseTimeNanoseconds",
		"traceEvents",
		"traceName",
	};
	char lines[2048] = "mine = 1\nbaseTime = 2\n", want[64];
	char buf[8 * JSON_ROOM];
	struct json j;

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		fmt(lines + strlen(lines), sizeof(lines) - strlen(lines), "%s = x\n",
		    own[i]);
	json_init(&j, buf, sizeof(buf), NULL, NULL);
	facts_metadata(&j, lines, sizeof(lines));
	*j.at = '\0';
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		fmt(want, sizeof(want), "\"metadata.%s\": \"x\",\n", own[i]);
		ck_assert_msg(strstr(buf, want) != NULL, "no %s in %s", want, buf);
	}
	ck_assert_ptr_eq(strstr(buf, "\"mine\": \"1\",\n\"baseTime\": \"2\",\n"), buf);
}
END_TEST

/* What the old plugin knows by its name alone. */
START_TEST(annotations_are_operators_for_the_old_plugin)
{
	static const struct {
		const char *name;
		bool is;
	} notes[] = {
		{ "enumerate(DataLoader)#x.__next__", true },
		{ "Optimizer.step#SGD.step", true },
		{ "nccl:all_reduce", true },
		{ "gloo:all_reduce", true },
		{ "DistributedDataParallel.forward", true },
		{ "DataParallel.forward", true },
		{ "ProfilerStep#3", false },
		{ "mine: gloo:all_reduce", false },
	};
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++)
		image_op(m, notes[i].name, 2000 + 100 * i, 2050 + 100 * i)->r.kind =
			REC_ANNOTATION;
	for (int old = 0; old < 2; old++) {
		m->config.dialect = old ? DIALECT_TB043 : m->config.dialect;
		image_write(m);
		for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
			const char *line = image_event(m, notes[i].name, 0);
			const char *want = old && notes[i].is
						   ? "\"cat\":\"cpu_op\""
						   : "\"cat\":\"user_annotation\"";

			ck_assert_ptr_nonnull(line);
			ck_assert_msg(!strncmp(line + 10, want, strlen(want)), "%.80s",
				      line);
		}
	}
	image_free(m);
}
END_TEST

/* They count from 0. */
START_TEST(the_first_number_is_one)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_op(m, "first", 2000, 3000)->seq = 0;
	image_op(m, "none", 4000, 5000);
	image_write(m);
	ck_assert(has(m, "\"Sequence number\":0,\"Fwd thread id\":0,"));
	ck_assert_ptr_null(strstr(image_event(m, "none", 0), "Sequence number"));
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("text");

	tcase_add_loop_test(tc, names_are_escaped, 0,
			    (int)(sizeof(names) / sizeof(*names)));
	tcase_add_test(tc, facts_said_meanwhile_are_there_once);
	tcase_add_test(tc, a_long_name_is_whole);
	tcase_add_test(tc, a_name_of_two_kinds_has_two_categories);
	tcase_add_loop_test(tc, patterns_are_resolved_once, 0,
			    (int)(sizeof(patterns) / sizeof(*patterns)));
	tcase_add_test(tc, a_long_variable_is_no_other_one);
	tcase_add_test(tc, the_rank_is_that_of_the_table);
	tcase_add_test(tc, no_key_hides_the_files_own);
	tcase_add_test(tc, annotations_are_operators_for_the_old_plugin);
	tcase_add_test(tc, the_first_number_is_one);
	return unit_run(tc, "writer text");
}
