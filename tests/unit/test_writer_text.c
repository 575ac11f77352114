/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/spool_image.h"
#include "writer/trace.h"

#include <pthread.h>

static bool has(const struct image *m, const char *text)
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
	{ "tab\tline\nnul\0bell\7", 18, "tab\\tline\\nnul\\u0000bell\\u0007" },
	{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5", 14,
	  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5" },
	{ "bad\xff\xc3(", 6, "bad\xef\xbf\xbd\xef\xbf\xbd(" },
	{ "over\xc0\xaf", 6, "over\xef\xbf\xbd\xef\xbf\xbd" },
	{ "half\xed\xa0\x80", 7, "half\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	{ "cut\xe2\x82", 5, "cut\xef\xbf\xbd\xef\xbf\xbd" },
};

START_TEST(names_are_escaped)
{
	struct image *m = image_new(1000, 100000);
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
	struct image *m = image_new(1000, 100000);
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
			facts_write(&j, m->head);
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
	struct image *m = image_new(1000, 100000);
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

static const struct {
	const char *pattern, *want;
} patterns[] = {
	{ "", "\"node1_4242.%t\"" },
	{ "rank%r", "\"rank5\"" },
	{ "a/%q{WHO}_%p", "\"a/_._etc_x_4242\"" },
	{ "%q{NOBODY}x%%%z%", "\"x%%%%z%%\"" },
	{ "%t-%h", "\"%t-node1\"" },
	{ "say \"x\"\\", "\"say _x__\"" },
};

START_TEST(patterns_are_resolved_once)
{
	struct image *m = image_new(1000, 100000);
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

int main(void)
{
	TCase *tc = tcase_create("text");

	tcase_add_loop_test(tc, names_are_escaped, 0,
			    (int)(sizeof(names) / sizeof(*names)));
	tcase_add_test(tc, facts_said_meanwhile_are_there_once);
	tcase_add_test(tc, a_long_name_is_whole);
	tcase_add_loop_test(tc, patterns_are_resolved_once, 0,
			    (int)(sizeof(patterns) / sizeof(*patterns)));
	return unit_run(tc, "writer text");
}
