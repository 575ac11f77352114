/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames C called, as each version's frames say it. */
#include "agent/python/check.h"
#include "tests/unit/python_ops.h"

#define FRAMES 4

static uint8_t raw[FRAMES][128]; /* frames, outermost first */
static uint8_t text[FRAMES][256], codes[FRAMES][256];

static void put(uint8_t *object, unsigned at, const void *value)
{
	memcpy(object + at, &value, sizeof(value));
}

/* Four frames as that version has them; none is marked. */
static void lay_out(const char *version)
{
	const char *why;
	const struct python_layout *l = python_layout(version, &why);

	interpreter.layout = l;
	for (unsigned i = 0; i < FRAMES; i++) {
		memset(raw[i], 0, sizeof(raw[i]));
		if (i)
			put(raw[i], l->caller, raw[i - 1]);
		put(raw[i], l->code, codes[i]);
		if (l->kind == PYTHON_POINTER)
			put(raw[i], l->where, codes[i] + l->code_start + 2 * i);
	}
}

/* The marks, innermost frame first. */
static const char *marks(void)
{
	static char said[FRAMES + 1];
	static struct walk w;

	walk_frames(&w, raw[FRAMES - 1]);
	for (unsigned i = 0; i < w.n; i++) {
		said[i] = w.where[i] & WALK_ENTRY ? '1' : '0';
		if (interpreter.layout->kind == PYTHON_POINTER)
			ck_assert_ptr_eq(
				(void *)(uintptr_t)(w.where[i] & ~1ull),
				layout_at(w.frame[i], interpreter.layout->where));
	}
	said[w.n] = '\0';
	return said;
}

START_TEST(to_310_c_calls_each)
{
	static const char *const version[] = { "3.8.18", "3.9.1", "3.10.13" };

	for (unsigned i = 0; i < 3; i++) {
		lay_out(version[i]);
		ck_assert_str_eq(marks(), "1111");
	}
}
END_TEST

START_TEST(in_311_a_byte_says_it)
{
	lay_out("3.11.7");
	interpreter.entries = true;
	raw[0][68] = raw[2][68] = 1;
	ck_assert_str_eq(marks(), "0101");
	raw[1][68] = 1;
	ck_assert_str_eq(marks(), "0111");
	interpreter.entries = false; /* it has not been proven */
	ck_assert_str_eq(marks(), "0000");
}
END_TEST

START_TEST(since_312_a_helper_does)
{
	static const char *const version[] = { "3.12.1", "3.13.0", "3.14.0" };

	for (unsigned i = 0; i < 3; i++) {
		lay_out(version[i]);
		ck_assert_str_eq(marks(), "0000");
		raw[0][interpreter.layout->owner] = 3;
		ck_assert_str_eq(marks(), "001");
		raw[2][interpreter.layout->owner] = 3;
		ck_assert_str_eq(marks(), "11");
		raw[3][interpreter.layout->owner] = 3; /* nothing is inside of it */
		ck_assert_str_eq(marks(), "1");
	}
}
END_TEST

/* ---- the proof in 3.11 ---- */

static void name_code(unsigned i, const char *name)
{
	const struct python_layout *l = interpreter.layout;
	uint64_t len = strlen(name);

	put(codes[i], l->code_name, text[i]);
	memcpy(text[i] + PYTHON_LENGTH, &len, sizeof(len));
	text[i][PYTHON_STATE] = 1 << 2 | 0x20 | 0x40;
	memcpy(text[i] + l->ascii, name, len);
}

static bool is_proven(void)
{
	static struct walk w;

	walk_frames(&w, raw[FRAMES - 1]);
	return check_entries(&w);
}

START_TEST(a_byte_that_is_none_proves_nothing)
{
	lay_out("3.11.7");
	for (unsigned i = 0; i < FRAMES; i++)
		name_code(i, i == 2 ? "<module>" : "f");
	ck_assert(!is_proven());
	raw[0][68] = 1; /* the thread's outermost frame, and ... */
	ck_assert(!is_proven());
	raw[2][68] = 1; /* ... the module's */
	ck_assert(is_proven());
	raw[3][68] = 1;
	ck_assert(is_proven());
	raw[3][68] = 2;
	ck_assert(!is_proven());
}
END_TEST

/* ---- in the spool ---- */

/* "function" or "function*" of each frame, innermost first. */
static const char *entries_of(uint32_t id)
{
	static char said[256];
	struct spool_view v;
	size_t at = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	for (const struct stack *s; id; id = s->caller) {
		s = stacks_at(&v, id);
		ck_assert_ptr_nonnull(s);
		at += (size_t)sprintf(
			said + at, "%s%s ",
			code_name(codes_get(&v, (uint32_t)(s->frame >> 32))),
			s->flags & STACK_ENTRY ? "*" : "");
	}
	return said;
}

/* The frames are where they were, but C has called one of them this time. */
START_TEST(another_mark_is_another_stack)
{
	static struct fake_frame helper = { .owner = 3 };
	uint32_t id;

	setup(16 << 20);
	id = whole_op();
	ck_assert_str_eq(entries_of(id), "function2_3 function1_2 function0_1 ");
	frame[1].caller = &helper;
	helper.caller = &frame[0];
	ck_assert_str_eq(entries_of(whole_op()), "function2_3 function1_2* function0_1 ");
	ck_assert_str_eq(entries_of(whole_op()), "function2_3 function1_2* function0_1 ");
	frame[1].caller = &frame[0];
	ck_assert_uint_eq(whole_op(), id);
}
END_TEST

/* C called a function that has no instruction of the source yet, and within that, as the
 * collector does, another one: there are two native frames more than marks. */
START_TEST(a_mark_that_is_left_out_takes_the_next_along)
{
	static struct fake_frame helper[3] = { { .owner = 3 },
					       { .owner = 3 },
					       { .owner = 3 } };

	setup(16 << 20);
	put_frame(3, 3, 20);
	put_frame(4, 4, 20);
	frame[1].where = code[1].bytes + interpreter.layout->code_start;
	for (unsigned i = 0; i < 3; i++) {
		frame[i ? 2 * i - 1 : 0].caller = &helper[i];
		helper[i].caller = i ? &frame[2 * i - 2] : NULL;
	}
	for (unsigned i = 0; i < 3; i++)
		ck_assert_str_eq(entries_of(whole_op()),
				 "function4_5 function3_4 function2_3 function0_1* ");
	frame[1].where = code[1].bytes + interpreter.layout->code_start + 20;
	for (unsigned i = 0; i < 3; i++)
		ck_assert_str_eq(entries_of(whole_op()),
				 "function4_5 function3_4* function2_3 function1_2* "
				 "function0_1* ");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("entries");

	tcase_add_test(tc, to_310_c_calls_each);
	tcase_add_test(tc, in_311_a_byte_says_it);
	tcase_add_test(tc, since_312_a_helper_does);
	tcase_add_test(tc, a_byte_that_is_none_proves_nothing);
	tcase_add_test(tc, another_mark_is_another_stack);
	tcase_add_test(tc, a_mark_that_is_left_out_takes_the_next_along);
	return unit_run(tc, "entries");
}
