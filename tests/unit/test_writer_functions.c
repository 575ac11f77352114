/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions in a file: who called them, and the pieces that edges cut. */
#include "agent/core/record_function.h"
#include "tests/unit/pair_image.h"

static uint32_t code_of(struct spool_image *m, const char *function)
{
	uint32_t stack = image_python_stack(m, function);
	const struct stack *s = (const struct stack *)(m->base + (uint64_t)stack * 8);

	return (uint32_t)(s->frame >> 32);
}

static struct rec_function *call_of(struct spool_image *m, const char *function,
				    uint8_t flags, uint64_t begin, uint64_t end)
{
	struct rec_function *r = image_record(m, REC_FUNCTION, sizeof(*r), 0, begin, end);

	r->r.flags = flags;
	r->code = code_of(m, function);
	return r;
}

static void note_of(struct spool_image *m, const char *name, uint64_t begin, uint64_t end)
{
	image_op(m, name, begin, end)->r.kind = REC_ANNOTATION;
}

/* The spool's clock ticks in ns; the window is 1 to 101 ms long. */
static struct spool_image *image_of_functions(void)
{
	struct spool_image *m = image_new(1000000, 101000000);

	m->config.python_stack = PYTHON_FULL;
	image_thread(m, 7, 1, "main");
	return m;
}

/* Is the nth slice of that name there, in µs from the window's begin? */
static bool lies(const struct spool_image *m, const char *name, unsigned n, double begin,
		 double end)
{
	struct slice s = image_find(m, name, n);
	double first = ((double)s.begin - 1000000) / 1e3,
	       last = ((double)s.end - 1000000) / 1e3;

	return first > begin - .01 && first < begin + .01 && last > end - .01 &&
	       last < end + .01;
}

static bool has(const struct spool_image *m, const char *name, unsigned n,
		const char *want)
{
	const char *line = image_event(m, name, n), *at;

	ck_assert_ptr_nonnull(line);
	at = strstr(line, want);
	return at && at < strchr(line, '\n');
}

#define AT(us) (1000000 + (uint64_t)(us)*1000)

START_TEST(each_says_who_called_it)
{
	struct spool_image *m = image_of_functions();

	call_of(m, "outer", 0, AT(10), AT(1000));
	call_of(m, "inner", 0, AT(20), AT(100));
	image_op(m, "aten::add", AT(30), AT(40));
	call_of(m, "other", 0, AT(200), 0);
	image_thread(m, 8, 2, "worker");
	call_of(m, "outer", 0, AT(50), AT(60));
	image_write(m);
	ck_assert(has(m, "x.py(3): outer", 0,
		      "\"Python id\":1,\"Python parent id\":null,\"Ev Idx\""));
	ck_assert(has(m, "x.py(3): inner", 0, "\"Python id\":2,\"Python parent id\":1,"));
	ck_assert(has(m, "x.py(3): other", 0, "\"Python id\":3,\"Python parent id\":1,"));
	ck_assert(has(m, "x.py(3): other", 0, "\"finished\":\"false\""));
	ck_assert(has(m, "x.py(3): outer", 1, "\"Python parent id\":null,"));
	ck_assert(has(m, "x.py(3): outer", 0, "\"cat\":\"python_function\""));
	ck_assert(!has(m, "x.py(3): outer", 0, "External id"));
	image_free(m);
}
END_TEST

/* A thread's first event comes later than the step's record, which begins with the
 * window. */
START_TEST(those_from_before_the_window_lie_around_its_steps)
{
	struct spool_image *m = image_of_functions();

	image_step(m, 3, AT(0), AT(1000));
	call_of(m, "main", FUNCTION_ENTERED, AT(0), 0);
	call_of(m, "loop", FUNCTION_ENTERED, AT(0), AT(1500));
	call_of(m, "step", 0, AT(100), AT(500));
	image_step(m, 4, AT(1000), AT(1400));
	image_write(m);
	ck_assert(lies(m, "x.py(3): main", 0, 0, 100000));
	ck_assert(lies(m, "x.py(3): loop", 0, 0, 1500));
	ck_assert(lies(m, "ProfilerStep#3", 0, 0, 1000));
	ck_assert(has(m, "x.py(3): step", 0, "\"Python parent id\":2,"));
	ck_assert(has(m, "x.py(3): main", 0, "\"Called\":\"before the window\""));
	ck_assert_ptr_null(strstr(m->text, "continued"));
	image_free(m);
}
END_TEST

START_TEST(one_that_outlasts_a_step_goes_on_behind_it)
{
	struct spool_image *m = image_of_functions();

	image_step(m, 3, AT(0), AT(1000));
	call_of(m, "epoch", 0, AT(800), AT(3500));
	call_of(m, "step", 0, AT(900), AT(1005));
	image_step(m, 4, AT(1000), AT(2000));
	call_of(m, "within", 0, AT(1100), AT(1200));
	image_step(m, 5, AT(2000), AT(3000));
	image_step(m, 6, AT(3000), AT(4000));
	call_of(m, "last", 0, AT(3100), AT(3200));
	image_write(m);
	ck_assert(lies(m, "x.py(3): epoch", 0, 800, 1000));
	ck_assert(lies(m, "x.py(3): epoch", 1, 1000, 3000));
	ck_assert(lies(m, "x.py(3): epoch", 2, 3000, 3500));
	ck_assert(!has(m, "x.py(3): epoch", 0, "\"Call\""));
	ck_assert(has(m, "x.py(3): epoch", 1, "\"Call\":\"continued\""));
	ck_assert(has(m, "x.py(3): epoch", 2, "\"Call\":\"continued\""));
	ck_assert(has(m, "x.py(3): epoch", 1, "\"Python parent id\":null,"));
	/* What is left of it behind the edge is too short. */
	ck_assert(lies(m, "x.py(3): step", 0, 900, 1000));
	ck_assert_ptr_null(image_event(m, "x.py(3): step", 1));
	/* The whole call is the caller, whichever piece is on the row. */
	ck_assert(has(m, "x.py(3): epoch", 0, "\"Python id\":1,"));
	ck_assert(has(m, "x.py(3): within", 0, "\"Python parent id\":1,"));
	ck_assert(has(m, "x.py(3): last", 0, "\"Python parent id\":1,"));
	ck_assert(lies(m, "ProfilerStep#6", 0, 3000, 4000));
	image_free(m);
}
END_TEST

START_TEST(an_annotation_that_begins_in_one_and_outlasts_it_ends_it)
{
	struct spool_image *m = image_of_functions();

	call_of(m, "train", 0, AT(0), AT(5000));
	call_of(m, "__enter__", 0, AT(100), AT(108));
	note_of(m, "forward", AT(104), AT(2000));
	call_of(m, "slow_enter", 0, AT(2100), AT(2200));
	note_of(m, "backward", AT(2110), AT(4000));
	call_of(m, "__exit__", 0, AT(3990), AT(4004));
	image_write(m);
	ck_assert(lies(m, "x.py(3): train", 0, 0, 5000));
	ck_assert(lies(m, "x.py(3): __enter__", 0, 100, 104));
	ck_assert_ptr_null(image_event(m, "x.py(3): __enter__", 1));
	ck_assert(lies(m, "forward", 0, 104, 2000));
	ck_assert(lies(m, "x.py(3): slow_enter", 0, 2100, 2110));
	ck_assert(lies(m, "x.py(3): slow_enter", 1, 2110, 2200));
	ck_assert(lies(m, "backward", 0, 2110, 4000));
	ck_assert(lies(m, "x.py(3): __exit__", 0, 3990, 4000));
	image_free(m);
}
END_TEST

/* A step begins in the middle of what the thread is in, which ends soon. */
START_TEST(one_that_begins_with_the_step_moves_into_it)
{
	struct spool_image *m = image_of_functions();

	image_step(m, 0, AT(0), AT(1000));
	call_of(m, "main", FUNCTION_ENTERED, AT(0), 0);
	call_of(m, "wrapper", FUNCTION_ENTERED, AT(0), AT(50));
	call_of(m, "__exit__", FUNCTION_ENTERED, AT(0), AT(5));
	image_write(m);
	ck_assert(lies(m, "x.py(3): wrapper", 0, 0, 50));
	ck_assert(!has(m, "x.py(3): wrapper", 0, "\"Call\""));
	ck_assert_ptr_null(image_event(m, "x.py(3): wrapper", 1));
	ck_assert_ptr_nonnull(image_event(m, "x.py(3): __exit__", 0));
	ck_assert(lies(m, "ProfilerStep#0", 0, 0, 1000));
	image_free(m);
}
END_TEST

/* The thread's first chunk had no room any more. */
START_TEST(those_from_before_the_window_may_come_late)
{
	struct spool_image *m = image_of_functions();

	image_op(m, "aten::add", AT(10), AT(20));
	image_chunk(m);
	image_thread(m, 7, 1, "main");
	((struct rec_thread *)((uint8_t *)m->data + m->data->used) - 1)->r.begin = AT(30);
	call_of(m, "main", FUNCTION_ENTERED, AT(0), 0);
	call_of(m, "f", 0, AT(30), AT(40));
	image_write(m);
	ck_assert(lies(m, "x.py(3): main", 0, 0, 100000));
	ck_assert(lies(m, "aten::add", 0, 10, 20));
	ck_assert(lies(m, "x.py(3): f", 0, 30, 40));
	image_free(m);
}
END_TEST

/* The gate closes a moment after the window's end. */
START_TEST(one_behind_the_window_is_no_loss)
{
	struct spool_image *m = image_of_functions();

	call_of(m, "f", 0, AT(10), AT(20));
	call_of(m, "g", 0, 101000001, 101000002);
	image_write(m);
	ck_assert_ptr_null(image_event(m, "x.py(3): g", 0));
	ck_assert_ptr_nonnull(strstr(m->text, "\"drops\": {}"));
	image_free(m);
}
END_TEST

/* A spool may say anything. */
START_TEST(code_that_is_not_there_has_no_name)
{
	struct spool_image *m = image_of_functions();
	struct rec_function *r = call_of(m, "f", 0, AT(10), AT(20));

	r->code = 0xfffffff0;
	call_of(m, "f", 0, AT(30), AT(40))->code = 0;
	image_write(m);
	ck_assert_ptr_nonnull(image_event(m, "?", 1));
	image_free(m);
}
END_TEST

/* Those of a spool with calls of C alone, too. */
START_TEST(functions_of_c_lie_in_what_calls_them)
{
	struct spool_image *m = image_of_functions();
	struct record *r;

	if (_i)
		call_of(m, "outer", 0, AT(10), AT(1000));
	image_record(m, REC_C_CALL, sizeof(*r), image_name(m, "numpy.argwhere", 14, ""),
		     AT(20), AT(300));
	image_op(m, "aten::add", AT(30), AT(40));
	image_record(m, REC_C_CALL, sizeof(*r), image_name(m, "numpy.\"add\\", 11, ""),
		     AT(50), AT(60));
	note_of(m, "note", AT(200), AT(400));
	image_record(m, REC_C_CALL, sizeof(*r), 0x7ffffff0, AT(310), 0);
	image_write(m);
	ck_assert(has(m, "numpy.argwhere", 0, "\"cat\":\"python_function\""));
	ck_assert(has(m, "numpy.argwhere", 0,
		      _i ? "\"Python parent id\":1," : "\"Python parent id\":null,"));
	ck_assert(has(m, "numpy.\\\"add\\u005c", 0,
		      _i ? "\"Python parent id\":2," : "\"Python parent id\":1,"));
	ck_assert(lies(m, "numpy.argwhere", 0, 20, 200));
	ck_assert(lies(m, "numpy.argwhere", 1, 200, 300));
	ck_assert(has(m, "numpy.argwhere", 1, "\"Call\":\"continued\""));
	ck_assert(has(m, "unknown C function", 0, "\"finished\":\"false\""));
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("functions");

	tcase_add_test(tc, each_says_who_called_it);
	tcase_add_test(tc, those_from_before_the_window_lie_around_its_steps);
	tcase_add_test(tc, one_that_outlasts_a_step_goes_on_behind_it);
	tcase_add_test(tc, an_annotation_that_begins_in_one_and_outlasts_it_ends_it);
	tcase_add_test(tc, one_that_begins_with_the_step_moves_into_it);
	tcase_add_test(tc, those_from_before_the_window_may_come_late);
	tcase_add_test(tc, one_behind_the_window_is_no_loss);
	tcase_add_test(tc, code_that_is_not_there_has_no_name);
	tcase_add_loop_test(tc, functions_of_c_lie_in_what_calls_them, 0, 2);
	return unit_run(tc, "functions");
}
