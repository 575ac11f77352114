/* SPDX-License-Identifier: Apache-2.0 */
/* Two stacks of one moment in a file: merged in the order of the calls, or apart, and
 * counted. */
#include "agent/core/record_cuda.h"
#include "agent/core/record_stack.h"
#include "tests/unit/cuda_image.h"
#include "tests/unit/heap_image.h"
#include "tests/unit/named_stacks.h"
#include "writer/symbols/site_text.h"
#include "writer/symbols/symbols.h"

#define L "_PyEval_EvalFrameDefault"

static const struct moment {
	const char *native, *python; /* innermost first */
	const char
		*want; /* merged: Python's frames as "x.py(3): " and the name; or NULL */
	unsigned native_flags, python_flags;
	const char *count;
} rows[] = {
	/* Python a calls C's map, which calls b, which calls list.sort, which calls key.
	 */
	{ "malloc " L " sort " L " map " L " main", "key* b* a*",
	  "malloc;x.py(3): key;sort;x.py(3): b;map;x.py(3): a;main" },
	/* Calls from Python to Python stay in one loop. */
	{ "malloc " L " sort " L " main", "c b* a main*",
	  "malloc;x.py(3): c;x.py(3): b;sort;x.py(3): a;x.py(3): main;main" },
	/* Every way to write the loop's name; what is inlined in it belongs to it. */
	{ "f " L ".cold g " L "() h do_call(x.h:1)|" L "(ceval.c:7) i", "c* b* a*",
	  "f;x.py(3): c;g;x.py(3): b;h;x.py(3): a;i" },
	/* Frames that look like it are none. */
	{ L "2 " L " trampoline|f my_" L, "a*", L "2;x.py(3): a;trampoline;f;my_" L },
	/* An instruction's function lies in its loop's frame, or has none around. */
	{ "f _TAIL_CALL_CALL " L " g _TAIL_CALL_CALL h", "b* a*",
	  "f;x.py(3): b;g;x.py(3): a;h" },
	/* Loops of their own, one right in the other. */
	{ "f " L " " L " g", "b* a*", "f;x.py(3): b;x.py(3): a;g" },
	/* The innermost loop has begun a frame that Python does not count yet. */
	{ "f " L " g " L " h", "a*", "f;" L ";g;x.py(3): a;h" },
	{ "f _TAIL_CALL_CALL " L " " L, "a*", "f;_TAIL_CALL_CALL;" L ";x.py(3): a" },
	/* Numbers that do not fit. */
	{ "f " L " " L " " L " h", "a*", NULL, .count = "as they do not fit\": 1" },
	{ "f " L " h", "b* a*", NULL, .count = "as they do not fit\": 1" },
	{ "f g h", "a*", NULL, .count = "as they do not fit\": 1" },
	/* Without a mark nobody knows who called the outermost frame. */
	{ "f " L " h", "a", NULL, .count = "as they do not fit\": 1" },
	{ "f " L " h", "b* a", NULL, .count = "as they do not fit\": 1" },
	/* A native stack that ended early may lack a loop. */
	{ "f " L " g " L " h", "b* a*", NULL, .native_flags = STACK_ENDED,
	  .count = "as they do not fit\": 1" },
	{ "f " L " g " L " h", "b* a*", NULL, .native_flags = STACK_CUT,
	  .count = "as one is cut\": 1" },
	{ "f " L " g " L " h", "b* a*", NULL, .python_flags = STACK_CUT,
	  .count = "as one is cut\": 1" },
	/* A coroutine's stack begins with its own first frame, and so does Python's. */
	{ "f " L " h", "a*", "f;x.py(3): a;h", .native_flags = STACK_FOREIGN },
};
#define ROWS (sizeof(rows) / sizeof(*rows))

static void want_both(struct spool_image *m)
{
	symbols_ask = name_functions;
	m->config.python_stack = PYTHON_OPS;
	m->config.native_stacks = UINT32_MAX;
}

static struct stack_pair pair_of(struct spool_image *m, const struct moment *r)
{
	want_both(m);
	return (struct stack_pair){ stack_of(m, r->native, false, r->native_flags),
				    stack_of(m, r->python, true, r->python_flags) };
}

static struct rec_op *op_with(struct spool_image *m, const char *name, uint64_t begin,
			      uint64_t end, struct stack_pair pair)
{
	struct rec_op *op =
		image_record(m, REC_OP, sizeof(*op) + sizeof(struct op_stack),
			     image_name(m, name, strlen(name), ""), begin, end);

	op->seq = -1;
	op->r.flags = OP_STACK;
	*(struct op_stack *)(op + 1) = (struct op_stack){ pair.python, pair.native };
	return op;
}

/* A stack's text as the file has it, from the row's names. */
static void put_apart(char *to, const char *names, bool python)
{
	char text[1024], *save = NULL;

	strcpy(text, names);
	*to = '\0';
	for (char *at = strtok_r(text, " ", &save); at; at = strtok_r(NULL, " ", &save)) {
		to += sprintf(to, "%s%s%.*s", at == text ? "" : ";",
			      python ? "x.py(3): " : "",
			      (int)(python ? strcspn(at, "*") : strlen(at)), at);
	}
}

static void has_member(const char *line, const char *key, const char *text)
{
	char want[1200];
	const char *at;

	fmt(want, sizeof(want), "\"%s\":\"%s\",", key, text);
	at = strstr(line, want);
	ck_assert_msg(at && at < strchr(line, '\n'), "no %s in %.1000s", want, line);
}

/* Has the first event of that name the row's stacks? */
static void is_written_so(const struct spool_image *m, const char *name,
			  const struct moment *r)
{
	const char *line = image_event(m, name, 0), *beside;
	char text[1024];

	ck_assert_ptr_nonnull(line);
	beside = strstr(line, "Native call stack");
	if (r->want) {
		has_member(line, "Call stack", r->want);
		ck_assert(!beside || beside > strchr(line, '\n'));
		return;
	}
	put_apart(text, r->python, true);
	has_member(line, "Call stack", text);
	put_apart(text, r->native, false);
	has_member(line, "Native call stack", text);
}

static void is_counted(const struct spool_image *m, const struct moment *r, unsigned n)
{
	char want[128];

	fmt(want, sizeof(want), "\"merged\": %u,", r->want ? n : 0);
	ck_assert_msg(strstr(m->text, want) != NULL, "no %s", want);
	if (r->count && n == 1)
		ck_assert_msg(strstr(m->text, r->count) != NULL, "no %s", r->count);
}

/* ---- where they are written ---- */

START_TEST(operators)
{
	struct spool_image *m = image_new(1000, 100000);
	struct stack_pair pair = pair_of(m, &rows[_i]);

	image_thread(m, 7, 1, "main");
	op_with(m, "aten::a", 2000, 3000, pair);
	op_with(m, "aten::b", 3000, 4000, (struct stack_pair){ pair.native, 0 });
	op_with(m, "aten::c", 4000, 5000, (struct stack_pair){ 0, pair.python });
	op_with(m, "aten::d", 5000, 6000, pair);
	op_with(m, "aten::e", 5100, 5900, pair)->r.flags |= OP_SHARES;
	image_write(m);
	is_written_so(m, "aten::a", &rows[_i]);
	is_written_so(m, "aten::d", &rows[_i]);
	is_counted(m, &rows[_i], 2);
	ck_assert_ptr_null(strstr(image_event(m, "aten::e", 0), "all stack"));
	image_free(m);
}
END_TEST

START_TEST(calls)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	struct stack_pair pair = pair_of(m, &rows[_i]);
	struct rec_stack *s = image_record(m, REC_STACK, sizeof(*s),
					   image_name(m, "launch", 6, ""), 1900, 0);

	s->stack = image_pair(m, pair.native, pair.python);
	cuda_call(m, "launch", 1, 2000, 2100);
	image_write(m);
	is_written_so(m, "launch", &rows[_i]);
	is_counted(m, &rows[_i], 1);
	image_free(m);
}
END_TEST

/* The texts of a list of "stacks", innermost first. */
static const char *list_at(const struct spool_image *m, unsigned number)
{
	static char text[4096];
	const char *at = heap_after(heap_object(m), "\"stacks\": [[", 0);

	while (number--)
		at = strchr(at, '[') + 1;
	text[0] = '\0';
	do {
		unsigned n = (unsigned)strtoul(at, (char **)&at, 10);
		const char *frame = heap_after(heap_object(m), "\"frames\": [\"", 0);

		while (n--)
			frame = heap_after(frame, "\",\n\"", 0);
		ck_assert_ptr_nonnull(frame);
		sprintf(text + strlen(text), "%s%.*s", *text ? ";" : "",
			(int)strcspn(frame, "\""), frame);
		at += strspn(at, ", ");
	} while (*at != ']');
	return text;
}

/* Python's line is the site's "Call stack" in any case. */
START_TEST(sites)
{
	struct spool_image *m = heap_image(1000, 100000);
	struct stack_pair pair = pair_of(m, &rows[_i]);
	char text[1024], want[2048];
	uint32_t id = image_pair(m, pair.native, pair.python);

	image_alloc(m, HEAP_MALLOC, id, 0x5000, 11, 3000);
	image_alloc(m, HEAP_CALLOC, id, 0x6000, 22, 4000);
	image_write(m);
	heap_adds_up(m);
	ck_assert_uint_eq(heap_site_count(m), 2);
	put_apart(text, rows[_i].native, false);
	for (char *at = text; (at = strchr(at, '|'));)
		*at = ';';
	ck_assert_str_eq(list_at(m, 0), rows[_i].want ? rows[_i].want : text);
	put_apart(text, rows[_i].python, true);
	fmt(want, sizeof(want), "{\"stack\": 0, \"Call stack\":\"%s\",", text);
	ck_assert_ptr_nonnull(strstr(m->text, want));
	is_counted(m, &rows[_i], 1);
	image_free(m);
}
END_TEST

/* Python called a function, then C did, from the same place. */
START_TEST(sites_of_other_marks_are_others)
{
	struct spool_image *m = heap_image(1000, 100000);
	uint32_t outer = stack_of(m, "a*", true, 0), id[2];
	struct stack_frame f = frame_at(m, image_python_stack(m, "f"));

	want_both(m);
	id[0] = image_pair(m, stack_of(m, "malloc " L " main", false, 0),
			   add_frame(m, outer, f, 0));
	id[1] = image_pair(m, stack_of(m, "malloc " L " partial " L " main", false, 0),
			   add_frame(m, outer, f, STACK_ENTRY));
	for (unsigned i = 0; i < 2; i++)
		image_alloc(m, HEAP_MALLOC, id[i], 0x5000 + 0x1000 * i, 22 - 11 * i,
			    3000 + 1000 * i);
	image_write(m);
	ck_assert_str_eq(list_at(m, 0), "malloc;x.py(3): f;x.py(3): a;main");
	ck_assert_str_eq(list_at(m, 1), "malloc;x.py(3): f;partial;x.py(3): a;main");
	image_free(m);
}
END_TEST

/* ---- what is no pair of one moment ---- */

/* A thread of autograd's has a native stack of its own, and its forward operator's lines
 * of Python: they are not of one moment, however well they fit. */
START_TEST(a_backward_operator_is_not_merged)
{
	struct spool_image *m = image_new(1000, 100000);
	struct stack_pair pair = pair_of(m, &rows[0]);
	struct rec_op *op;

	image_thread(m, 7, 1, "main");
	op = op_with(m, "aten::mul", 2000, 3000, (struct stack_pair){ 0, pair.python });
	op->seq = 5;
	image_chunk(m);
	image_thread(m, 8, 2, "autograd");
	op = op_with(m, "MulBackward0", 4000, 5000,
		     (struct stack_pair){ pair.native, 0 });
	op->seq = 5;
	op->fwd_thread = 1;
	image_write(m);
	is_written_so(m, "MulBackward0",
		      &(struct moment){ rows[0].native, rows[0].python, NULL });
	image_free(m);
}
END_TEST

/* Ids that lead nowhere, to other kinds, or back to themselves. */
START_TEST(damaged_stacks_are_read_within_their_bounds)
{
	struct spool_image *m = image_new(1000, 100000);
	struct stack_pair pair = pair_of(m, &rows[0]);
	const uint32_t id[] = {
		0xffffffff,
		1,
		pair.native,
		pair.python,
		pair.native + 1,
		pair.python - 1,
		image_pair(m, pair.native, pair.python),
	};
	enum { IDS = sizeof(id) / sizeof(*id) };

	image_thread(m, 7, 1, "main");
	for (unsigned i = 0; i < IDS * IDS; i++)
		op_with(m, "aten::a", 2000 + 10 * i, 2005 + 10 * i,
			(struct stack_pair){ id[i / IDS], id[i % IDS] });
	image_write(m); /* checks its JSON */
	ck_assert_ptr_nonnull(image_event(m, "aten::a", IDS * IDS - 1));
	image_free(m);
}
END_TEST

static const char *site_frame(void *frames, unsigned i)
{
	return ((const char **)frames)[i];
}

/* As proflaunch memory has it: lines have a place of their own. */
START_TEST(a_site_has_no_lines_of_python)
{
	static const struct {
		const char *frames[5], *want;
	} named[] = {
		{ { "malloc", "grow (a.c:1)", "a.py(4): f", "sort (b.c:2)" },
		  "grow (a.c:1) < sort (b.c:2)" },
		{ { "malloc", "_PyObject_Malloc", "a.py(4): f", "sort (b.c:2)" },
		  "malloc < _PyObject_Malloc < sort (b.c:2)" },
		{ { "malloc", "c10::impl::call", "at::_ops::mm", "a.py(4): f" },
		  "at::_ops::mm" },
		{ { "a.py(4): f", "sort (b.c:2)" }, "" },
	};
	char text[SITE_ROOM] = "";
	size_t len;

	len = site_text(site_frame, (void *)named[_i].frames, text);
	ck_assert_uint_eq(len, strlen(named[_i].want));
	ck_assert_str_eq(text, named[_i].want);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("writer merge");

	tcase_add_loop_test(tc, operators, 0, ROWS);
	tcase_add_loop_test(tc, calls, 0, ROWS);
	tcase_add_loop_test(tc, sites, 0, ROWS);
	tcase_add_test(tc, sites_of_other_marks_are_others);
	tcase_add_test(tc, a_backward_operator_is_not_merged);
	tcase_add_test(tc, damaged_stacks_are_read_within_their_bounds);
	tcase_add_loop_test(tc, a_site_has_no_lines_of_python, 0, 4);
	return unit_run(tc, "writer merge");
}
