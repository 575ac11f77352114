/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the real malloc is found, with a list of objects that the test plays: it takes the
 * place of base/elf.c.
 */
#include "agent/heap/mode.h"
#include "base/elf.h"
#include "base/elf_hide.h"
#include "tests/unit/heap_bench.h"

#include <errno.h>
#include <string.h>

#if HEAP_HOOKS

static struct link_map libc = { .l_name = (char *)"/lib/libc.so.6" };
static struct link_map ours = { .l_name = (char *)"/lib/ours.so", .l_next = &libc };
static struct link_map ahead = { .l_name = (char *)"/lib/a\"b.so", .l_next = &ours };
static const struct link_map *first_object = &ours;
int main(void);
static const char *missing = ""; /* what the library has not */
static void (*while_looking)(void);
static void *new_of_it;
static const struct link_map *owner_of_new; /* NULL: malloc's */

bool elf_object(struct elf_object *o, uintptr_t bias, const ElfW(Dyn) * dynamic)
{
	(void)bias, (void)dynamic;
	*o = (struct elf_object){ 0 };
	return true;
}

void *elf_function(const struct elf_object *o, const char *name)
{
	(void)o, (void)name;
	return &libc;
}

static const char *in_a_version = ""; /* what the library has, but not for everybody */

bool elf_defines(const struct elf_object *o, const char *name)
{
	(void)o;
	return !strcmp(name, in_a_version);
}

static unsigned hidden;
static const char *last_hidden;

bool elf_hide(const struct link_map *us, const char *const *names, size_t n)
{
	ck_assert_ptr_eq(us, &ours);
	hidden = (unsigned)n;
	last_hidden = names[n - 1];
	return true;
}

const struct link_map *elf_first_object(void)
{
	return first_object;
}

const struct link_map *elf_our_object(void)
{
	return &ours;
}

const void *elf_data(const char *name)
{
	(void)name;
	return NULL;
}

const void *elf_linkers_data(uintptr_t base, const char *name, size_t *size)
{
	(void)base, (void)name, (void)size;
	return NULL;
}

void *elf_next_function(const struct link_map *after, const char *name,
			const struct link_map **owner)
{
	void (*look)(void) = while_looking;

	while_looking = NULL;
	if (look)
		look();
	*owner = after->l_next;
	if (!strcmp(name, missing))
		return NULL;
	if (!strcmp(name, "malloc"))
		return (void *)malloc;
	if (!strcmp(name, "realloc"))
		return (void *)realloc;
	if (!strcmp(name, "_Znwm")) {
		*owner = owner_of_new ? owner_of_new : *owner;
		return new_of_it;
	}
	return *name == '_' ? NULL : (void *)free;
}

bool elf_refers(const struct elf_object *o, const char *name)
{
	(void)o, (void)name;
	return false;
}

/* ---- the tests ---- */

/* For malloc itself the linker would be asked. */
static const char *const needed[] = { "free", "calloc", "realloc", "malloc_usable_size" };

START_TEST(a_library_without_one_of_them_is_not_used)
{
	missing = needed[_i];
	ck_assert(!heap_find());
	ck_assert_int_eq(heap_mode(), HEAP_COLD);
	ck_assert(boot_owns(hook_test_malloc(10)));
	missing = "";
	ck_assert(heap_find());
	ck_assert_int_eq(heap_mode(), HEAP_IDLE);
}
END_TEST

static unsigned within;

static void call_within(void)
{
	within += !heap_find();
	within += boot_owns(hook_test_malloc(10));
}

START_TEST(who_comes_while_they_are_looked_for_is_served_by_the_arena)
{
	while_looking = call_within;
	ck_assert(heap_find());
	ck_assert_uint_eq(within, 2);
	ck_assert(heap_find());
}
END_TEST

static void realloc_within(void)
{
	static char strange[16];

	within += !hook_test_realloc(strange, 100);
	within += boot_owns(hook_test_realloc(NULL, 100));
	within += boot_owns(hook_test_valloc(10)) &&
		  !((uintptr_t)hook_test_valloc(10) % 4096);
	within += boot_owns(hook_test_realloc(boot_malloc(10), 100));
}

START_TEST(a_strange_block_is_not_read_as_one_of_the_arena)
{
	while_looking = realloc_within;
	ck_assert(heap_find());
	ck_assert_uint_eq(within, 4);
}
END_TEST

static const struct {
	const char *name;
	bool glibc;
} rows[] = {
	{ "/lib/x86_64-linux-gnu/libc.so.6", true }, { "libc.so.6", true },
	{ "/lib/libc.musl-x86_64.so.1", false },     { "/usr/lib/libc.so", false },
	{ "/opt/libcmalloc.so.6", false },           { "/opt/libjemalloc.so.2", false },
};

START_TEST(headers_are_read_of_glibc_alone)
{
	libc.l_name = (char *)rows[_i].name;
	ck_assert(heap_find());
	ck_assert_int_eq(heap_is_glibc(), rows[_i].glibc);
	ck_assert_str_eq(heap_owner((void *)heap_real.malloc), rows[_i].name);
}
END_TEST

START_TEST(an_allocator_ahead_is_said_in_json)
{
	static struct config config;
	char json[1024];

	first_object = &ahead;
	config_defaults(&config);
	config.malloc = HEAP_ALL;
	heap_start(&config, 1);
	ck_assert_int_eq(heap_mode(), HEAP_COLD);
	ck_assert_uint_lt(heap_facts(json, sizeof(json)), sizeof(json));
	ck_assert_ptr_nonnull(strstr(json, "\"ahead\": \"?\""));
	ck_assert_ptr_null(strstr(json, "a\"b"));
}
END_TEST

START_TEST(an_allocators_new_that_comes_to_malloc_is_one_call)
{
	new_of_it = (void *)hook_test_malloc;
	heap_window(HEAP_ALL);
	ck_assert(heap_has_new((void **)&heap_real._Znwm));
	hook_test__Znwm(10);
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 1);
	hook_test__Znwm(10);
	ck_assert_uint_eq(heap_records(REC_ALLOC, -1), 2);
}
END_TEST

/* One of the program's that uses its own memory is nobody's but the program's. */
START_TEST(a_new_of_another_library_is_not_mallocs)
{
	owner_of_new = &ahead;
	new_of_it = (void *)hook_test_malloc;
	heap_window(HEAP_ALL);
	ck_assert(!heap_has_new((void **)&heap_real._Znwm));
	ck_assert_str_eq(heap_owner(new_of_it), ahead.l_name);
	ck_assert_str_eq(heap_owner((void *)malloc), libc.l_name);
	ck_assert_ptr_null(heap_owner((void *)main));
	ck_assert_ptr_null(heap_owner(NULL));
}
END_TEST

/* Of the program's own operators, one: the other forms are a plugin's, if anybody's. */
START_TEST(what_the_program_has_not_is_hidden)
{
	ck_assert(heap_find());
	ck_assert_uint_eq(hidden, HEAP_FORMS - HEAP_FIRST_CXX);
	ck_assert_str_eq(last_hidden, heap_names[HEAP_FORMS - 1]);
}
END_TEST

START_TEST(what_the_program_has_is_not_hidden)
{
	new_of_it = (void *)hook_test_malloc;
	ck_assert(heap_find());
	ck_assert_uint_eq(hidden, HEAP_FORMS - HEAP_FIRST_CXX - 1);
}
END_TEST

START_TEST(what_it_has_for_others_is_not_hidden)
{
	in_a_version = "_ZdlPv";
	ck_assert(heap_find());
	ck_assert_uint_eq(hidden, HEAP_FORMS - HEAP_FIRST_CXX - 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("heap find");

	tcase_add_loop_test(tc, a_library_without_one_of_them_is_not_used, 0,
			    sizeof(needed) / sizeof(*needed));
	tcase_add_test(tc, who_comes_while_they_are_looked_for_is_served_by_the_arena);
	tcase_add_test(tc, a_strange_block_is_not_read_as_one_of_the_arena);
	tcase_add_loop_test(tc, headers_are_read_of_glibc_alone, 0,
			    sizeof(rows) / sizeof(*rows));
	tcase_add_test(tc, an_allocator_ahead_is_said_in_json);
	tcase_add_test(tc, an_allocators_new_that_comes_to_malloc_is_one_call);
	tcase_add_test(tc, a_new_of_another_library_is_not_mallocs);
	tcase_add_test(tc, what_the_program_has_not_is_hidden);
	tcase_add_test(tc, what_the_program_has_is_not_hidden);
	tcase_add_test(tc, what_it_has_for_others_is_not_hidden);
	return unit_run(tc, "heap_find");
}

#else

int main(void)
{
	puts("not under a sanitizer: it brings its own malloc, so there are no hooks");
	return 77;
}

#endif
