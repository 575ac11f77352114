/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/said.h"
#include "tests/unit/torch_image.h"
#include "tests/unit/torch_library.h"

#include <errno.h>
#include <sys/mman.h>

/* What a libtorch_cpu, its name and the file beside it tell before any event. */

static const struct {
	const char *kind, *name, *version; /* version: version.py's */
	const char *want; /* the version as it is told */
	uint32_t sizes, list, boolean;
} libraries[] = {
	{ "old", "libtorch_cpu.so", "1.12.1", "1.12.1", 0, 0, 0 },
	{ "old", "libtorch_cpu.so", "1.13.1+cpu", "1.13.1+cpu", 72, 24, 8 },
	{ "old", "libtorch_cpu.so", "2.0.1", "2.0.1", 72, 24, 8 },
	{ "old", "libtorch_cpu.so", "2.1.0", "2.1.0", 72, 24, 9 },
	{ "old", "libtorch_cpu.so", "2.2.2+cu118", "2.2.2+cu118", 72, 24, 9 },
	{ "old", "libtorch_cpu.so", "2.3.0", "2.3.0", 64, 16, 9 },
	{ "new", "libtorch_cpu.so", "2.8.0", "2.8.0", 64, 16, 9 },
	{ "new", "libtorch_cpu.so", "2.9.0", "2.9.0", 64, 16, 10 },
	{ "new", "libtorch_cpu.so", "2.12.1", "2.12.1", 64, 16, 10 },
	{ "new", "libtorch_cpu.so", "2.13.0.dev20260101+cu130",
	  "2.13.0.dev20260101+cu130", 56, 16, 10 },
	{ "new", "libtorch_cpu.so", "2.113.0", "2.113.0", 56, 16, 10 },
	{ "new", "libtorch_cpu.so", "3.0", "3.0", 56, 16, 10 },
	{ "new", "libtorch_cpu.so.2.6", NULL, "2.6", 64, 16, 9 },
	{ "new", "libtorch_cpu.so.1.13", NULL, "1.13", 72, 24, 8 },
};
#define LIBRARIES ((int)(sizeof(libraries) / sizeof(*libraries)))

static void find(const char *kind, const char *name, const char *version)
{
	library_map(kind, name, version);
	ck_assert(abi_find());
}

START_TEST(each_release_is_where_it_was_found)
{
	find(libraries[_i].kind, libraries[_i].name, libraries[_i].version);
	ck_assert_str_eq(abi.version, libraries[_i].want);
	ck_assert_uint_eq(abi.sizes_at, libraries[_i].sizes);
	ck_assert_uint_eq(abi.list_at, libraries[_i].list);
	ck_assert_uint_eq(abi.bool_tag, libraries[_i].boolean);
	ck_assert(!abi.bool_asked);
	ck_assert(strstr(abi.path, libraries[_i].name));
}
END_TEST

START_TEST(strings_decide_where_fields_lie)
{
	bool old = _i;

	find(old ? "old" : "new", "libtorch_cpu.so.2.8.0", NULL);
	ck_assert_int_eq(abi.new_strings, !old);
	ck_assert_uint_eq(abi.variant_at, 160);
	ck_assert_uint_eq(abi.index_at, old ? 168 : 192);
	ck_assert_uint_eq(abi.seq_at, old ? 176 : 200);
	ck_assert_uint_eq(abi.inputs_at, old ? 184 : 208);
	ck_assert_uint_eq(abi.schema_overload_at, old ? 8 : 32);
}
END_TEST

START_TEST(a_version_that_is_too_long_is_cut)
{
	char version[301];
	struct abi before;

	memset(version, '7', sizeof(version) - 1);
	version[sizeof(version) - 1] = '\0';
	memset(&before, 0, sizeof(before));
	find("new", "libtorch_cpu.so", version);
	ck_assert_uint_eq(strlen(abi.version), sizeof(abi.version) - 1);
	ck_assert_str_eq(strrchr(abi.path, '/'), "/libtorch_cpu.so");
	ck_assert_uint_eq(abi.path[0], '/');
}
END_TEST

/* The first word of an object is behind the offset to top and the type info. */
START_TEST(classes_are_known_by_their_first_word)
{
	const char *class;

	library_map("new", "libtorch_cpu.so.2.8.0", NULL);
	fake->bool_tag = 10;
	ck_assert(abi_find());
	class = abi_symbol("_ZTVN3c1010TensorImplE");
	ck_assert_ptr_nonnull(class);
	ck_assert_ptr_eq(abi.strided_vtable, class + 16);
	ck_assert_ptr_null(abi.sparse_vtable);
	ck_assert(abi.cpu_begin <= (uintptr_t) class && (uintptr_t) class < abi.cpu_end);
	ck_assert_uint_eq(abi.bool_tag, 10); /* whatever the version says */
	ck_assert(abi.bool_asked);
}
END_TEST

START_TEST(a_library_that_lacks_a_function_is_not_used)
{
	library_map("half", "libtorch_cpu.so.2.8.0", NULL);
	ck_assert(!abi_find());
	ck_assert(!abi_find());
}
END_TEST

START_TEST(a_library_whose_name_only_begins_alike_is_passed_over)
{
	library_map("half", "libtorch_cpu.stub", NULL);
	ck_assert(!abi_find());
	find("new", "libtorch_cpu.so.2.8.0", NULL);
	ck_assert_str_eq(abi.version, "2.8.0");
}
END_TEST

/* ---- learn.c, which gives back what inputSizes made ---- */

static struct {
	uint8_t *begin, *end, *cap;
} told[2];
static int64_t told_sizes[2][2] = { { 2, 3 }, { 5, 7 } };

static void *sizes(void *result, const void *rf, bool flatten)
{
	(void)rf;
	(void)flatten;
	for (unsigned i = 0; i < 2; i++) {
		told[i].begin = (uint8_t *)told_sizes[i];
		told[i].end = told[i].cap = (uint8_t *)(told_sizes[i] + 2);
	}
	put_pointer(result, 0, told);
	put_pointer(result, 8, told + 2);
	put_pointer(result, 16, told + 2);
	return result;
}

static uint64_t two(const void *rf)
{
	(void)rf;
	return 2;
}

static const char *name_in(const void *rf)
{
	const char *const *schema;

	memcpy(&schema, (const uint8_t *)rf + 160, sizeof(schema));
	return *schema;
}

START_TEST(what_torch_made_for_us_is_given_back)
{
	const struct layout *l = &layouts[LAYOUTS - 1];
	static uint64_t rf[48];
	struct abi_value v[2];

	find("new", "libtorch_cpu.so.2.15.0", NULL);
	image_abi(l);
	abi.name = name_in;
	abi.num_inputs = two;
	abi.input_sizes = sizes;
	for (unsigned i = 0; i < 2; i++) {
		int64_t one[2] = { 1, 1 };

		v[i] = (struct abi_value){
			.u.p = image_tensor(l, 2, told_sizes[i], one, 6), .tag = 1
		};
	}
	image_operator(l, rf, image_schema(l, "aten::mm", ""), v, 2);
	learn_event(rf, true);
	ck_assert_uint_eq(abi.record, ABI_GOOD);
	ck_assert_uint_eq(abi.values, ABI_GOOD);
	ck_assert_uint_eq(fake->deleted, 3); /* two, and what holds them */
}
END_TEST

static uint64_t three(void)
{
	return 3;
}

static uint64_t one_input(const void *rf)
{
	(void)rf;
	return 1;
}

/* Its beginning can be read, its end lies on the next page. */
START_TEST(a_tensor_that_ends_behind_its_page_is_left_for_later)
{
	uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct layout *l = &layouts[_i];
	static uint64_t rf[48];
	struct abi_value v;

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + 4096, 4096, PROT_NONE), 0);
	image_abi(l);
	abi.name = name_in;
	abi.thread_id = three;
	abi.num_inputs = one_input;
	v = (struct abi_value){ .u.p = pages + 4096 - 64, .tag = 1 };
	image_operator(l, rf, image_schema(l, "aten::neg", ""), &v, 1);
	errno = ENOENT;
	learn_event(rf, true);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_uint_eq(abi.record, ABI_GOOD);
	ck_assert_uint_eq(abi.values, ABI_UNKNOWN);
}
END_TEST

/* The words behind the inputs are neither what newer versions have there nor what older
 * ones have: operators go on being recorded, and one line says what is missing. */
START_TEST(a_forward_thread_that_cannot_be_found_is_told_once)
{
	const struct layout *l = &layouts[_i];
	static uint64_t rf[48];
	const char *text;

	image_abi(l);
	strcpy(abi.version, l->torch);
	abi.name = name_in;
	abi.thread_id = three;
	image_operator(l, rf, image_schema(l, "aten::neg", ""), NULL, 0);
	for (unsigned i = 0; i < 3; i++)
		put_word(rf, l->inputs_at + 16u + 8 * i, 7);
	said_start();
	for (unsigned i = 0; i < 4096; i++)
		learn_event(rf, false);
	ck_assert(!abi_settled(false));
	for (unsigned i = 0; i < 100; i++)
		learn_event(rf, false);
	text = said();
	ck_assert_uint_eq(said_lines(text), 1);
	ck_assert_ptr_nonnull(strstr(text, "cannot find forward threads"));
	ck_assert_ptr_nonnull(strstr(text, l->torch));
	ck_assert(abi_settled(false));
	ck_assert_uint_eq(abi.record, ABI_GOOD);
	ck_assert_uint_eq(abi.fwd_at, 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("find");

	tcase_add_loop_test(tc, each_release_is_where_it_was_found, 0, LIBRARIES);
	tcase_add_loop_test(tc, strings_decide_where_fields_lie, 0, 2);
	tcase_add_test(tc, a_version_that_is_too_long_is_cut);
	tcase_add_test(tc, classes_are_known_by_their_first_word);
	tcase_add_test(tc, a_library_that_lacks_a_function_is_not_used);
	tcase_add_test(tc, a_library_whose_name_only_begins_alike_is_passed_over);
	tcase_add_test(tc, what_torch_made_for_us_is_given_back);
	tcase_add_loop_test(tc, a_tensor_that_ends_behind_its_page_is_left_for_later, 0,
			    LAYOUTS);
	tcase_add_loop_test(tc, a_forward_thread_that_cannot_be_found_is_told_once, 0,
			    LAYOUTS);
	return unit_run(tc, "abi, find");
}
