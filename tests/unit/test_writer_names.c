/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels' names as people write them, and the sort behind all rows. */
#include "agent/core/spool_view.h"
#include "tests/unit/spool_image.h"
#include "writer/sort.h"
#include "writer/symbols/demangle.h"

static struct demangle *demangler;

static const char *shown(struct spool_image *m, const char *mangled)
{
	static char text[1 << 21];
	struct spool_view v;
	size_t len;
	const char *got;

	ck_assert_int_eq(spool_view_init(&v, m->base, IMAGE_SIZE), 0);
	got = demangle_json(demangler, &v, image_name(m, mangled, strlen(mangled), ""),
			    &len);
	ck_assert_uint_lt(len, sizeof(text));
	memcpy(text, got, len);
	text[len] = '\0';
	return text;
}

START_TEST(names_are_demangled)
{
	static const char *const cases[][2] = {
		{ "_Z4sgemPfi", "sgem(float*, int)" },
		{ "_ZN2at6nativ", "_ZN2at6nativ" },
		{ "_ZN2at6native6kernelILi4EfEEviT0_",
		  "void at::native::kernel<4, float>(int, float)" },
		{ "ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn" },
		{ "_Z", "_Z" },
		{ "_Z1fv (libx.so+0x12)", "f() (libx.so+0x12)" },
		{ "main (a\"b)", "main (a\\\"b)" },
		{ "caf\xc3\xa9 \xff", "caf\xc3\xa9 \xef\xbf\xbd" },
	};
	struct spool_image *m = image_new(1000, 2000);

	demangler = demangle_new();
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
			ck_assert_str_eq(shown(m, cases[i][0]), cases[i][1]);
	demangle_free(demangler);
	image_free(m);
}
END_TEST

START_TEST(unknown_names_have_a_word)
{
	struct spool_image *m = image_new(1000, 2000);
	struct spool_view v;
	size_t len;

	spool_view_init(&v, m->base, IMAGE_SIZE);
	demangler = demangle_new();
	ck_assert(!memcmp(demangle_json(demangler, &v, 0, &len), "unknown", 7));
	ck_assert_uint_eq(len, 7);
	ck_assert(!memcmp(demangle_json(demangler, &v, UINT32_MAX, &len), "unknown", 7));
	demangle_free(demangler);
	image_free(m);
}
END_TEST

/* As much stack as letters; too deep ones are left. */
START_TEST(deep_names_do_no_harm)
{
	static const size_t deep[] = { 1000, 4000 };
	struct spool_image *m = image_new(1000, 2000);
	char name[4200];

	demangler = demangle_new();
	for (size_t i = 0; i < 2; i++) {
		strcpy(name, "_Z1f");
		memset(name + 4, 'P', deep[i]);
		strcpy(name + 4 + deep[i], "i");
		ck_assert_uint_eq(strlen(shown(m, name)), deep[i] + (i ? 5 : 6));
		ck_assert_str_eq(shown(m, "_Z1gv"), "g()");
	}
	demangle_free(demangler);
	image_free(m);
}
END_TEST

START_TEST(names_that_grow_without_end_are_left)
{
	struct spool_image *m = image_new(1000, 2000);
	const char *digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[2048] = "_Z1fSt4pairIiiE";

	/* Each one is two of the one before: 2^34 words. */
	for (unsigned i = 0; i < 34; i++)
		fmt(name + strlen(name), 64, "S_IS%c_S%c_E", digits[i], digits[i]);
	demangler = demangle_new();
	ck_assert_str_eq(shown(m, name), name);
	ck_assert_str_eq(shown(m, "_Z1gv"), "g()");
	demangle_free(demangler);
	image_free(m);
}
END_TEST

/* What is kept has its bounds: when it is thrown away no name stays without its text. */
START_TEST(each_name_keeps_its_own_text)
{
	static const char before[] = "_Z6beforev";
	struct spool_image *m = image_new(1000, 2000);
	const char *digits = "0123456789ABC";
	uint32_t id = image_name(m, before, strlen(before), "");
	char name[1024];
	struct spool_view v;
	const char *got;
	size_t len;

	ck_assert_int_eq(spool_view_init(&v, m->base, IMAGE_SIZE), 0);
	demangler = demangle_new();
	got = demangle_json(demangler, &v, id, &len);
	ck_assert(len == 8 && !memcmp(got, "before()", 8));
	/* Half a megabyte each. */
	for (char letter = 'a'; letter <= 'z'; letter++) {
		fmt(name, sizeof(name), "_Z1%cSt4pairIiiE", letter);
		for (unsigned i = 0; i < 13; i++)
			fmt(name + strlen(name), 64, "S_IS%c_S%c_E", digits[i],
			    digits[i]);
		ck_assert_uint_gt(strlen(shown(m, name)), 400000);
	}
	got = demangle_json(demangler, &v, id, &len);
	ck_assert(len == 8 && !memcmp(got, "before()", 8));
	demangle_free(demangler);
	image_free(m);
}
END_TEST

/* ---- sort ---- */

struct thing {
	uint32_t key, order;
};

static bool less(const void *left, const void *right)
{
	return ((const struct thing *)left)->key < ((const struct thing *)right)->key;
}

START_TEST(sorting_is_stable)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 7, 64, 1000, 4097 };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		for (unsigned shape = 0; shape < 4; shape++) {
			size_t n = sizes[s];
			struct thing *things = calloc(n + 1, sizeof(*things));

			for (size_t i = 0; i < n; i++) {
				uint32_t random = (uint32_t)(i * 2654435761u) >> 20;

				things[i].key = shape == 0   ? (uint32_t)i
						: shape == 1 ? (uint32_t)(n - i)
						: shape == 2 ? random
							     : random & 3;
				things[i].order = (uint32_t)i;
			}
			ck_assert_int_eq(sort_merge(things, n, sizeof(*things), less), 0);
			for (size_t i = 1; i < n; i++)
				ck_assert(things[i - 1].key < things[i].key ||
					  (things[i - 1].key == things[i].key &&
					   things[i - 1].order < things[i].order));
			free(things);
		}
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("names");

	tcase_add_test(tc, names_are_demangled);
	tcase_add_test(tc, unknown_names_have_a_word);
	tcase_add_test(tc, deep_names_do_no_harm);
	tcase_add_test(tc, names_that_grow_without_end_are_left);
	tcase_add_test(tc, each_name_keeps_its_own_text);
	tcase_add_test(tc, sorting_is_stable);
	return unit_run(tc, "writer names");
}
