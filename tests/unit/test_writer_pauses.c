/* SPDX-License-Identifier: Apache-2.0 */
/* What Python waits for, in a file. */
#include "agent/core/record_function.h"
#include "agent/core/record_python.h"
#include "tests/unit/pair_image.h"

#define AT(us) (1000000 + (uint64_t)(us)*1000)
#define ALL    (1u << EVENTS_GC | 1u << EVENTS_GIL | 1u << EVENTS_IMPORT)

/* The spool's clock ticks in ns; the window is 1 to 101 ms long. */
static struct spool_image *image_of_pauses(void)
{
	struct spool_image *m = image_new(1000000, 101000000);

	m->config.python_events = ALL;
	atomic_store(&m->info->python[PYTHON_EVENTS], AT(7));
	atomic_store(&m->info->python[PYTHON_LOCK], 1);
	image_thread(m, 7, 1, "main");
	return m;
}

static struct rec_python *pause_of(struct spool_image *m, enum pause_kind kind,
				   uint64_t begin, uint64_t end)
{
	struct rec_python *r = image_record(m, REC_PYTHON, sizeof(*r), 0, begin, end);

	r->r.flags = (uint8_t)kind;
	return r;
}

static struct rec_python *import_of(struct spool_image *m, const char *name,
				    uint64_t begin, uint64_t end)
{
	uint32_t id = image_name(m, name, strlen(name), "");
	struct rec_python *r = pause_of(m, PAUSE_IMPORT, begin, end);

	r->r.name = id;
	return r;
}

/* In ns from the window's begin. */
static void lies(const struct spool_image *m, const char *name, unsigned n, int64_t begin,
		 int64_t end)
{
	struct slice s = image_find(m, name, n);

	ck_assert_int_eq((int64_t)s.begin - 1000000, begin);
	ck_assert_int_eq((int64_t)s.end - 1000000, end);
}

static void has(const struct spool_image *m, const char *name, unsigned n,
		const char *want)
{
	const char *line = image_event(m, name, n), *at;

	ck_assert_ptr_nonnull(line);
	at = strstr(line, want);
	ck_assert_msg(at && at < strchr(line, '\n'), "%s: %.300s", want, line);
}

START_TEST(a_collection_says_what_it_found)
{
	struct spool_image *m = image_of_pauses();
	struct rec_python *r = pause_of(m, PAUSE_GC, AT(10), AT(90));

	r->generation = 2;
	r->collected = 5000000000;
	r->uncollectable = 3;
	image_write(m);
	lies(m, "Python GC", 0, 10000, 90000);
	has(m, "Python GC", 0,
	    "\"cat\":\"python_function\",\"name\":\"Python GC\",\"pid\":4242,\"tid\":7,");
	has(m, "Python GC", 0,
	    "\"args\":{\"generation\":2,\"collected\":5000000000,\"uncollectable\":3,\"Ev Idx\":0}}");
	image_free(m);
}
END_TEST

/* What it found is not known. */
START_TEST(a_collection_may_go_on_behind_the_window)
{
	struct spool_image *m = image_of_pauses();

	pause_of(m, PAUSE_GC, AT(10), 0)->generation = 1;
	image_write(m);
	lies(m, "Python GC", 0, 10000, 100000000);
	has(m, "Python GC", 0,
	    "\"args\":{\"generation\":1,\"finished\":\"false\",\"Ev Idx\":0}}");
	image_free(m);
}
END_TEST

START_TEST(a_wait_that_began_before_the_window_begins_with_it)
{
	struct spool_image *m = image_of_pauses();

	pause_of(m, PAUSE_GIL, AT(-5), AT(60));
	pause_of(m, PAUSE_GIL, AT(100), AT(5200));
	image_write(m);
	lies(m, "GIL wait", 0, 0, 60000);
	lies(m, "GIL wait", 1, 100000, 5200000);
	has(m, "GIL wait", 1, "\"cat\":\"python_gil\"");
	has(m, "GIL wait", 1, "\"args\":{\"Ev Idx\":1}}");
	image_free(m);
}
END_TEST

START_TEST(imports_lie_in_each_other_and_in_what_imports)
{
	struct spool_image *m = image_of_pauses();

	m->config.python_stack = PYTHON_FULL;
	image_step(m, 3, AT(0), AT(1000));
	import_of(m, "a\"b", AT(100), AT(900));
	image_record(m, REC_FUNCTION, sizeof(struct rec_function), 0, AT(110), AT(800));
	import_of(m, "a.c", AT(120), AT(700))->r.flags |= PAUSE_RAISED;
	pause_of(m, PAUSE_GC, AT(130), AT(140));
	image_op(m, "aten::add", AT(150), AT(160));
	import_of(m, "d", AT(950), AT(1100)); /* the step ends in it */
	pause_of(m, PAUSE_IMPORT, AT(2000), AT(2001));
	image_write(m);
	lies(m, "import a\\\"b", 0, 100000, 900000);
	lies(m, "import a.c", 0, 120000, 700000);
	has(m, "import a.c", 0, "\"cat\":\"python_import\"");
	has(m, "import a.c", 0, "\"args\":{\"raised\":true,");
	lies(m, "Python GC", 0, 130000, 140000);
	lies(m, "aten::add", 0, 150000, 160000);
	lies(m, "import d", 0, 950000, 999999);
	ck_assert_ptr_nonnull(image_event(m, "import ?", 0));
	image_free(m);
}
END_TEST

START_TEST(the_file_says_how_many_and_since_when)
{
	struct spool_image *m = image_of_pauses();

	pause_of(m, PAUSE_GC, AT(10), AT(20));
	pause_of(m, PAUSE_GC, AT(30), AT(40));
	pause_of(m, PAUSE_GIL, AT(50), AT(120));
	import_of(m, "a", AT(200), AT(300));
	pause_of(m, (enum pause_kind)3, AT(400), AT(500)); /* damaged */
	image_write(m);
	ck_assert_ptr_nonnull(
		strstr(m->text, "\"python events\": {\"late_us\": 7, \"collections\": 2, "
				"\"waits for the lock\": 1, \"imports\": 1}"));
	image_free(m);
}
END_TEST

/* Nobody came by who could ask, and this interpreter waits in another way. */
START_TEST(what_could_not_be_had_is_null)
{
	struct spool_image *m = image_of_pauses();

	atomic_store(&m->info->python[PYTHON_EVENTS], 0);
	atomic_store(&m->info->python[PYTHON_LOCK], 0);
	image_op(m, "aten::add", AT(150), AT(160));
	image_write(m);
	ck_assert_ptr_nonnull(strstr(
		m->text, "\"python events\": {\"late_us\": null, \"collections\": null, "
			 "\"waits for the lock\": null, \"imports\": null}"));
	image_free(m);
}
END_TEST

START_TEST(what_was_not_asked_for_is_not_told)
{
	struct spool_image *m = image_of_pauses();

	m->config.python_events = 1u << EVENTS_GIL;
	pause_of(m, PAUSE_GIL, AT(50), AT(120));
	image_write(m);
	ck_assert_ptr_nonnull(
		strstr(m->text, "{\"late_us\": 7, \"waits for the lock\": 1}"));
	image_free(m);
	m = image_of_pauses();
	m->config.python_events = 0;
	image_op(m, "aten::add", AT(150), AT(160));
	image_write(m);
	ck_assert_ptr_null(strstr(m->text, "python events"));
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("pauses");

	tcase_add_test(tc, a_collection_says_what_it_found);
	tcase_add_test(tc, a_collection_may_go_on_behind_the_window);
	tcase_add_test(tc, a_wait_that_began_before_the_window_begins_with_it);
	tcase_add_test(tc, imports_lie_in_each_other_and_in_what_imports);
	tcase_add_test(tc, the_file_says_how_many_and_since_when);
	tcase_add_test(tc, what_could_not_be_had_is_null);
	tcase_add_test(tc, what_was_not_asked_for_is_not_told);
	return unit_run(tc, "pauses");
}
