/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/emit.h"
#include "agent/core/spool_view.h"
#include "agent/torch/name.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/torch_image.h"
#include "tests/unit/unit.h"

static const struct layout *l;
static uint64_t rf[48];
static struct name_cache cache;
static const char *answer;

static const char *accessor(const void *p)
{
	(void)p;
	return answer;
}

static void setup_capped(int row, uint64_t cap)
{
	l = &layouts[row];
	image_known(l);
	abi.name = accessor;
	answer = "asked for";
	clock_start();
	ck_assert_int_eq(gate_start(), 0);
	ck_assert_int_eq(spool_open(NULL, cap), 0);
	ck_assert_int_eq(spool_prepare(cap), 0);
}

static void setup(int row)
{
	setup_capped(row, 4 << 20);
}

static void operator(const char *name, const char *overload)
{
	image_operator(l, rf, image_schema(l, name, overload), NULL, 0);
}

static void is_named(uint32_t id, const char *name, const char *extra)
{
	struct spool_view v;
	const struct name *n;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	n = names_get(&v, id);
	ck_assert_ptr_nonnull(n);
	ck_assert_str_eq(n->text, name);
	ck_assert_str_eq(n->text + n->len + 1, extra);
}

static void text_is(const char *want)
{
	struct name_text s = name_of(rf);

	ck_assert_uint_eq(s.len, strlen(want));
	ck_assert(!memcmp(s.text, want, s.len));
}

START_TEST(each_way_to_a_name)
{
	uint64_t *own;

	setup(_i);
	operator("aten::add", "Tensor");
	text_is("aten::add");
	own = image_schema(l, "an annotation", "");
	memcpy(rf + 20, own, 16); /* the string itself */
	((uint8_t *)rf)[abi.index_at] = NAME_OWN;
	text_is("an annotation");
	((uint8_t *)rf)[abi.index_at] = 2;
	text_is("asked for");
	((uint8_t *)rf)[abi.index_at] = NAME_SCHEMA;
	abi.record = ABI_UNKNOWN;
	text_is("asked for");
	ck_assert_uint_eq(name_again(&cache, rf), 0);
	answer = NULL;
	text_is("");
}
END_TEST

START_TEST(overloads_are_names_of_their_own)
{
	uint32_t tensor, scalar;

	setup(_i);
	operator("aten::add", "Tensor");
	tensor = name_id(&cache, rf);
	operator("aten::add", "Scalar");
	scalar = name_id(&cache, rf);
	is_named(tensor, "aten::add", "Tensor");
	is_named(scalar, "aten::add", "Scalar");
	abi.schema_overload_at = 0;
	operator("aten::mul", "Scalar");
	is_named(name_id(&cache, rf), "aten::mul", "");
}
END_TEST

START_TEST(what_is_known_needs_no_second_look)
{
	uint32_t id;

	setup(_i);
	operator("aten::add", "Tensor");
	ck_assert_uint_eq(name_again(&cache, rf), 0);
	id = name_id(&cache, rf);
	ck_assert_uint_ne(id, 0);
	ck_assert_uint_eq(name_again(&cache, rf), id);
	ck_assert_uint_eq(name_id(&cache, rf), id);
	operator("add", ""); /* too short for the quick way */
	id = name_id(&cache, rf);
	is_named(id, "add", "");
	ck_assert_uint_eq(name_again(&cache, rf), 0);
	ck_assert_uint_eq(name_id(&cache, rf), id);
}
END_TEST

/* After a fork the names are another spool's. */
START_TEST(a_childs_names_are_its_own)
{
	uint32_t id;

	setup(_i);
	operator("aten::add", "Tensor");
	id = name_id(&cache, rf);
	names_forget();
	ck_assert_uint_eq(name_again(&cache, rf), 0);
	ck_assert_uint_ne(name_id(&cache, rf), id);
	ck_assert_uint_eq(name_again(&cache, rf), name_id(&cache, rf));
	is_named(name_id(&cache, rf), "aten::add", "Tensor");
}
END_TEST

/* A schema is freed, and another one made in its place: text, not address, decides. */
START_TEST(a_schema_in_anothers_place_has_its_own_name)
{
	static const char *const texts[] = { "torch_ext::first_one",
					     "torch_ext::other_one",
					     "torch_ext::other__one" };
	uint64_t *s;

	setup(_i);
	s = image_schema(l, texts[0], "");
	for (unsigned i = 0; i < 3; i++) {
		memcpy(s, image_schema(l, texts[i], ""), 48);
		image_operator(l, rf, s, NULL, 0);
		ck_assert_uint_eq(name_again(&cache, rf), 0);
		is_named(name_id(&cache, rf), texts[i], "");
		is_named(name_again(&cache, rf), texts[i], "");
	}
}
END_TEST

START_TEST(a_short_name_in_anothers_place_is_its_own)
{
	static const char *const texts[] = { "add",     "mul", "mu",     "mull",
					     "abcdefg", "",    "abcdefh" };
	uint64_t *s;

	setup(_i);
	s = image_schema(l, texts[0], "");
	for (unsigned i = 0; i < 7; i++) {
		memcpy(s, image_schema(l, texts[i], ""), 48);
		image_operator(l, rf, s, NULL, 0);
		is_named(name_id(&cache, rf), texts[i], "");
	}
}
END_TEST

/* The same beginning and the same end, but not the same length. */
START_TEST(the_length_belongs_to_the_check)
{
	const struct name_text a = { "abcdefgh_abcdefgh", 17 },
			       b = { "abcdefgh__abcdefgh", 18 };

	ck_assert_uint_ne(name_check(a), name_check(b));
}
END_TEST

START_TEST(a_name_that_finds_no_room_is_counted_each_time)
{
	char text[32];

	setup_capped(_i, 1 << 20);
	for (unsigned i = 0;
	     sprintf(text, "filling::%u", i), names_add(text, strlen(text), "", 0); i++)
		;
	operator("aten::add", "Tensor");
	for (unsigned i = 1; i < 4; i++) {
		ck_assert_uint_eq(name_id(&cache, rf), 0);
		ck_assert_uint_eq(atomic_load(&spool.head->totals.whys[DROP_NAMES]), i);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("every layout");

	tcase_add_loop_test(tc, each_way_to_a_name, 0, LAYOUTS);
	tcase_add_loop_test(tc, overloads_are_names_of_their_own, 0, LAYOUTS);
	tcase_add_loop_test(tc, what_is_known_needs_no_second_look, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_childs_names_are_its_own, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_schema_in_anothers_place_has_its_own_name, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_short_name_in_anothers_place_is_its_own, 0, LAYOUTS);
	tcase_add_test(tc, the_length_belongs_to_the_check);
	tcase_add_test(tc, a_name_that_finds_no_room_is_counted_each_time);
	return unit_run(tc, "name");
}
