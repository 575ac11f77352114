/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/torch/inputs.h"
#include "tests/unit/torch_image.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

/* What libtorch's functions answer about the one event there is. */
static const struct layout *l;
static uint64_t rf[48];
static const char *event_name;
static uint64_t event_thread, event_inputs, asked_sizes;
static struct {
	uint8_t *begin, *end, *cap;
} event_sizes[8];

static const char *fake_name(const void *p)
{
	(void)p;
	return event_name;
}

static uint64_t fake_thread(void)
{
	return event_thread;
}

static uint64_t fake_inputs(const void *p)
{
	(void)p;
	return event_inputs;
}

static void *fake_sizes(void *result, const void *p, bool flatten)
{
	(void)p;
	(void)flatten;
	asked_sizes++;
	put_pointer(result, 0, event_sizes);
	put_pointer(result, 8, event_sizes + event_inputs);
	put_pointer(result, 16, event_sizes + event_inputs);
	return result;
}

/* A schema whose name and overload are what this layout's strings look like. */
static void *schema(const char *name, const char *overload)
{
	static uint64_t s[16];
	static struct {
		uint64_t len, cap, refs;
		char text[64];
	} old[2];

	event_name = name;
	if (l->new_strings) {
		put_pointer(s, 0, name);
		put_word(s, 8, strlen(name));
		put_pointer(s, 32, overload);
		put_word(s, 40, strlen(overload));
		return s;
	}
	old[0].len = strlen(name);
	old[1].len = strlen(overload);
	event_name = strcpy(old[0].text, name);
	put_pointer(s, 0, event_name);
	put_pointer(s, 8, strcpy(old[1].text, overload));
	return s;
}

/* Lines that went to stderr since begin(). */
static FILE *said;

static unsigned lines_said(void)
{
	unsigned lines = 0;

	rewind(said);
	for (int c; (c = getc(said)) != EOF;)
		lines += c == '\n';
	return lines;
}

static void begin(int row)
{
	l = &layouts[row];
	image_abi(l);
	abi.name = fake_name;
	abi.thread_id = fake_thread;
	abi.num_inputs = fake_inputs;
	abi.input_sizes = fake_sizes;
	said = said ? said : tmpfile();
	dup2(fileno(said), 2);
}

/* An event of an operator with `n` arguments. */
static void operator(const char *name, const struct abi_value *v, size_t n)
{
	memset(rf, 0, sizeof(rf));
	event_thread = 3;
	event_inputs = n;
	put_word(rf, 88, event_thread);
	put_pointer(rf, 160, schema(name, "Tensor"));
	((uint8_t *)rf)[abi.index_at] = 1;
	put_pointer(rf, abi.inputs_at, v);
	put_word(rf, abi.inputs_at + 8u, n);
	if (l->kwinputs) {
		put_pointer(rf, abi.inputs_at + 16u, (uint8_t *)rf + abi.inputs_at + 64);
		put_word(rf, abi.inputs_at + 24u, 1);
	}
}

static struct abi_value tensor_of(int argument, uint64_t ndim, const int64_t *sizes)
{
	static int64_t strides[16];

	event_sizes[argument].begin = (uint8_t *)(uintptr_t)sizes;
	event_sizes[argument].end = (uint8_t *)(uintptr_t)(sizes + ndim);
	return (struct abi_value){ .u.p = image_tensor(l, ndim, sizes, strides, 6),
				   .tag = 1 };
}

START_TEST(one_operator_confirms_the_record)
{
	begin(_i);
	ck_assert(!abi_settled(false));
	operator("aten::add", NULL, 0);
	learn_event(rf, false);
	ck_assert_uint_eq(abi.record, ABI_GOOD);
	ck_assert_uint_eq(abi.fwd_at, l->fwd_at);
	ck_assert_uint_eq(abi.schema_overload_at, l->new_strings ? 32 : 8);
	ck_assert(abi_settled(false));
}
END_TEST

START_TEST(an_annotation_alone_confirms_nothing)
{
	begin(_i);
	operator("step", NULL, 0);
	((uint8_t *)rf)[abi.index_at] = 0;
	put_pointer(rf, 160, event_name);
	learn_event(rf, false);
	ck_assert_uint_eq(abi.record, ABI_UNKNOWN);
	ck_assert(!abi_settled(false));
}
END_TEST

/* Each fault alone is enough, and none of them is followed into bad memory. */
static void fault(int which)
{
	switch (which) {
	case 0:
		put_word(rf, 88, 4);
		break;
	case 1:
	case 2:
		((uint8_t *)rf)[which == 1 ? 96 : abi.index_at] = 10;
		break;
	case 3: /* neither is mapped */
	case 4:
		put_word(rf, 160, which == 3 ? 0x123456789000 : 8);
		break;
	case 5:
		put_pointer(rf, 160,
			    "long enough to be read, and nothing like a schema at all, "
			    "neither at its beginning nor in the middle of it");
		break;
	default:
		((uint8_t *)rf)[abi.index_at] = 0; /* says string, holds a schema */
	}
}
enum { FAULTS = 7 };

START_TEST(a_record_that_does_not_fit_is_off)
{
	begin(_i % LAYOUTS);
	operator("aten::add", NULL, 0);
	fault(_i / LAYOUTS);
	for (int i = 0; i < 100; i++)
		learn_event(rf, true);
	ck_assert_uint_eq(abi.record, ABI_OFF);
	ck_assert_uint_eq(abi.values, ABI_OFF);
	ck_assert(abi_settled(true));
	ck_assert_uint_eq(lines_said(), 1);
}
END_TEST

/* gloo makes its work's RecordFunction on one thread and begins it on another. */
START_TEST(a_few_that_do_not_fit_decide_nothing)
{
	begin(_i);
	operator("aten::add", NULL, 0);
	event_thread++;
	for (unsigned i = 0; i < 64; i++)
		learn_event(rf, true);
	ck_assert_uint_eq(abi.record, ABI_UNKNOWN);
	event_thread--;
	learn_event(rf, true);
	ck_assert_uint_eq(abi.record, ABI_GOOD);
}
END_TEST

START_TEST(an_overload_that_is_not_there_is_left_out)
{
	uint8_t *s;

	begin(_i);
	operator("aten::add", NULL, 0);
	s = schema("aten::add", "Tensor");
	put_word(s, abi.schema_overload_at, 0x123456789000);
	learn_event(rf, false);
	ck_assert_uint_eq(abi.record, ABI_GOOD);
	ck_assert_uint_eq(abi.schema_overload_at, 0);
}
END_TEST

START_TEST(copy_shows_all_but_the_lists)
{
	static const int64_t sizes[] = { 3, 5 };

	begin(_i);
	abi.sizes_at = l->sizes_at == 64 ? 56 : 64; /* a wrong guess */
	abi.bool_tag = l->bool_tag == 9 ? 10 : 9;
	abi.list_at = l->list_at;
	struct abi_value v[] = { tensor_of(0, 2, sizes),
				 tensor_of(1, 2, sizes),
				 { .u.i = 0, .tag = l->bool_tag } };
	event_sizes[2].begin = event_sizes[2].end = NULL;
	operator("aten::copy_", v, 3);
	learn_event(rf, true);
	ck_assert_uint_eq(abi.values, ABI_GOOD);
	ck_assert_uint_eq(abi.sizes_at, l->sizes_at);
	ck_assert_uint_eq(abi.bool_tag, l->bool_tag);
	ck_assert_uint_eq(asked_sizes, 1);
	ck_assert(!abi_settled(true));
}
END_TEST

START_TEST(a_list_settles_the_rest)
{
	static const int64_t sizes[] = { 2, 1, 2, 1, 7, 3, 2 };
	struct abi_value n[] = { { .u.i = 1, .tag = 5 } };

	begin(_i);
	abi.bool_tag = l->bool_tag;
	abi.bool_asked = true;
	struct abi_value v[] = { tensor_of(0, 7, sizes),
				 { .u.p = image_list(l, n, 1, other_type),
				   .tag = l->bool_tag + 4u } };
	event_sizes[1].begin = event_sizes[1].end = NULL;
	operator("aten::sum", v, 2);
	learn_event(rf, true);
	ck_assert_uint_eq(abi.list_at, l->list_at);
	ck_assert_uint_eq(abi.sizes_at, l->sizes_at);
	ck_assert_uint_eq(abi.values, ABI_GOOD);
	ck_assert(abi_settled(true));
}
END_TEST

START_TEST(an_empty_list_is_enough)
{
	begin(_i);
	abi.bool_tag = l->bool_tag;
	abi.bool_asked = true;
	struct abi_value v = { .u.p = image_list(l, NULL, 0, other_type),
			       .tag = l->bool_tag + 4u };
	operator("aten::sum", &v, 1);
	learn_event(rf, true);
	ck_assert_uint_eq(abi.list_at, l->list_at);
}
END_TEST

START_TEST(sizes_that_torch_contradicts_are_off)
{
	static const int64_t sizes[] = { 3, 5 }, others[] = { 5, 3 };

	begin(_i);
	struct abi_value v = tensor_of(0, 2, sizes);
	event_sizes[0].begin = (uint8_t *)(uintptr_t)others;
	event_sizes[0].end = (uint8_t *)(uintptr_t)(others + 2);
	operator("aten::neg", &v, 1);
	learn_event(rf, true);
	learn_event(rf, true);
	ck_assert_uint_eq(abi.record, ABI_GOOD);
	ck_assert_uint_eq(abi.values, ABI_OFF);
	ck_assert(abi_settled(true));
	ck_assert_uint_eq(lines_said(), 1);
}
END_TEST

/* A guess from the version, and a tensor that lies otherwise than any we know. */
START_TEST(a_layout_of_tomorrow_is_off_not_misread)
{
	static const int64_t sizes[] = { 3, 5 };
	uint8_t *t;

	begin(_i);
	abi.sizes_at = l->sizes_at;
	abi.bool_tag = l->bool_tag;
	abi.list_at = l->list_at;
	struct abi_value v = tensor_of(0, 2, sizes);

	t = (uint8_t *)(uintptr_t)v.u.p;
	put_word(t, l->sizes_at + 96u, 16); /* not 3 * 5 */
	operator("aten::neg", &v, 1);
	learn_event(rf, true);
	ck_assert_uint_eq(abi.values, ABI_OFF);
	ck_assert_uint_eq(asked_sizes, 0);
	ck_assert_uint_eq(lines_said(), 1);
}
END_TEST

START_TEST(inputs_that_torch_counts_differently_are_off)
{
	static const int64_t sizes[] = { 3, 5 };

	begin(_i);
	struct abi_value v = tensor_of(0, 2, sizes);
	operator("aten::neg", &v, 1);
	event_inputs = 2;
	learn_event(rf, true);
	ck_assert_uint_eq(abi.values, ABI_OFF);
}
END_TEST

/* torch would throw for the first and call Python for the second. */
START_TEST(torch_is_not_asked_about_symbolic_or_custom_sizes)
{
	static const int64_t sizes[] = { 3, 5 };
	static const uint8_t flags[] = { 0x10, 0x04, 0x08 };

	for (size_t i = 0; i < sizeof(flags); i++) {
		begin(_i);
		struct abi_value v = tensor_of(0, 2, sizes);
		((uint8_t *)(uintptr_t)v.u.p)[l->sizes_at + 110] |= flags[i];
		operator("aten::neg", &v, 1);
		learn_event(rf, true);
	}
	ck_assert_uint_eq(asked_sizes, 0);
	ck_assert_uint_ne(abi.values, ABI_OFF);
}
END_TEST

START_TEST(an_unreadable_list_is_left_for_later)
{
	begin(_i);
	abi.bool_tag = l->bool_tag;
	struct abi_value v = { .u.i = 0x123456789000, .tag = l->bool_tag + 4u };
	operator("aten::sum", &v, 1);
	learn_event(rf, true);
	ck_assert_uint_eq(abi.list_at, 0);
	ck_assert_uint_eq(abi.values, ABI_UNKNOWN);
}
END_TEST

START_TEST(facts_are_json_and_say_what_is_known)
{
	char text[512];

	begin(_i);
	strcpy(abi.version, l->torch);
	operator("aten::add", NULL, 0);
	learn_event(rf, false);
	ck_assert_uint_lt(abi_facts(text, sizeof(text)), sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "\"record\": \"good\""));
	ck_assert_ptr_nonnull(strstr(text, l->torch));
	ck_assert_ptr_nonnull(strstr(text, "\"values\": \"unknown\""));
}
END_TEST

START_TEST(without_torch_nothing_is_found)
{
	ck_assert(!abi_find());
	ck_assert_ptr_null(abi_symbol("_ZN2at12hasCallbacksEv"));
}
END_TEST

int main(void)
{
	unit_not_under_thread_sanitizer("the kernel is asked about wild addresses");
	TCase *tc = tcase_create("every layout");

	tcase_add_loop_test(tc, one_operator_confirms_the_record, 0, LAYOUTS);
	tcase_add_loop_test(tc, an_annotation_alone_confirms_nothing, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_record_that_does_not_fit_is_off, 0, LAYOUTS * FAULTS);
	tcase_add_loop_test(tc, a_few_that_do_not_fit_decide_nothing, 0, LAYOUTS);
	tcase_add_loop_test(tc, an_overload_that_is_not_there_is_left_out, 0, LAYOUTS);
	tcase_add_loop_test(tc, copy_shows_all_but_the_lists, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_list_settles_the_rest, 0, LAYOUTS);
	tcase_add_loop_test(tc, an_empty_list_is_enough, 0, LAYOUTS);
	tcase_add_loop_test(tc, sizes_that_torch_contradicts_are_off, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_layout_of_tomorrow_is_off_not_misread, 0, LAYOUTS);
	tcase_add_loop_test(tc, inputs_that_torch_counts_differently_are_off, 0, LAYOUTS);
	tcase_add_loop_test(tc, torch_is_not_asked_about_symbolic_or_custom_sizes, 0,
			    LAYOUTS);
	tcase_add_loop_test(tc, an_unreadable_list_is_left_for_later, 0, LAYOUTS);
	tcase_add_loop_test(tc, facts_are_json_and_say_what_is_known, 0, LAYOUTS);
	tcase_add_test(tc, without_torch_nothing_is_found);
	return unit_run(tc, "abi");
}
