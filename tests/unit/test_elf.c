/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of objects that the test lays out itself. */
#include "base/elf.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mman.h>

#define BIAS   0x10000
#define HIDDEN 0x8000

/* 1 malloc_usable_size, 2 malloc (an old version), 3 malloc, 4 mall, 5 data, 6 local */
static const char names[] =
	"\0malloc_usable_size\0malloc\0mall\0GLIBC_2.2.5\0MINE_GLIBC_2";
enum { USABLE = 1, MALLOC = 20, MALL = 27, OLD_GLIBC = 32, MINE = 44 };

static const ElfW(Sym) symbols[] = {
	{ 0 },
	{ USABLE, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x100, 8 },
	{ MALLOC, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x200, 8 },
	{ MALLOC, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, 1, 0x300, 8 },
	{ MALLOC, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, 0x400, 8 },
	{ MALLOC, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, SHN_UNDEF, 0x500, 8 },
	{ MALLOC, ELF64_ST_INFO(STB_WEAK, STT_FUNC), 0, 1, 0x600, 8 },
	{ MALL, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x700, 8 },
};
enum { SYMBOLS = sizeof(symbols) / sizeof(symbols[0]) };
static const uint16_t versions[SYMBOLS] = { 0, 2, 2 | HIDDEN, 2, 2, 2, 2, 2 };

static uint32_t hash_of(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* One bucket with all of them from `first` on; a Bloom filter that says yes. */
static struct elf_object by_gnu(uint32_t first, uint32_t buckets)
{
	static uint32_t table[4 + 2 + 1 + SYMBOLS];
	uint32_t *chain = &table[7];

	table[0] = buckets;
	table[1] = first;
	table[2] = 1;
	table[4] = table[5] = UINT32_MAX;
	table[6] = first;
	for (uint32_t i = first; i < SYMBOLS; i++)
		chain[i - first] =
			(hash_of(names + symbols[i].st_name) & ~1u) | (i + 1 == SYMBOLS);
	return (struct elf_object){ BIAS, symbols, names, versions, NULL, table, NULL };
}

static struct elf_object by_sysv(void)
{
	static const uint32_t table[] = { 1, SYMBOLS, 1 };

	return (struct elf_object){ BIAS, symbols, names, versions, NULL, NULL, table };
}

START_TEST(a_function_is_what_a_program_would_be_bound_to)
{
	struct elf_object o = _i ? by_gnu(1, 1) : by_sysv();

	ck_assert_ptr_eq(elf_function(&o, "malloc"), (void *)(BIAS + 0x600));
	ck_assert_ptr_eq(elf_function(&o, "mall"), (void *)(BIAS + 0x700));
	ck_assert_ptr_eq(elf_function(&o, "malloc_usable_size"), (void *)(BIAS + 0x100));
	ck_assert_ptr_null(elf_function(&o, "malloc_usable"));
	ck_assert_ptr_null(elf_function(&o, "mal"));
	ck_assert_ptr_null(elf_function(&o, "free"));
	o.versions = NULL; /* then the first one is as good as any */
	ck_assert_ptr_eq(elf_function(&o, "malloc"), (void *)(BIAS + 0x200));
}
END_TEST

/* A program that was linked with a C library asks for that one's version by name. */
/* ... and a variable, which a program may have a copy of. */
START_TEST(a_variable_is_no_function)
{
	ck_assert_ptr_eq(elf_data("stdout"), dlsym(RTLD_DEFAULT, "stdout"));
	ck_assert_ptr_eq(elf_data("signgam"), dlsym(RTLD_DEFAULT, "signgam"));
	ck_assert_ptr_null(elf_data("malloc"));
	ck_assert_ptr_null(elf_data("no_such_variable"));
}
END_TEST

START_TEST(an_old_version_of_glibc_s_is_taken_where_there_is_no_other)
{
	static uint16_t hidden[SYMBOLS];
	struct {
		ElfW(Verdef) first;
		ElfW(Verdaux) a;
		ElfW(Verdef) second;
		ElfW(Verdaux) b;
	} defined = {
		{ 1, 1, 1, 1, 0, sizeof(ElfW(Verdef)),
		  sizeof(ElfW(Verdef)) + sizeof(ElfW(Verdaux)) },
		{ MALL, 0 },
		{ 1, 0, 2, 1, 0, sizeof(ElfW(Verdef)), 0 },
		{ OLD_GLIBC, 0 },
	};
	struct elf_object o = _i ? by_gnu(1, 1) : by_sysv();

	o.defined = &defined.first;
	ck_assert_ptr_eq(elf_function(&o, "malloc"), (void *)(BIAS + 0x600));
	for (unsigned i = 0; i < SYMBOLS; i++)
		hidden[i] = 2 | HIDDEN;
	o.versions = hidden;
	ck_assert_ptr_eq(elf_function(&o, "malloc"), (void *)(BIAS + 0x200));
	ck_assert_ptr_eq(elf_function(&o, "mall"), (void *)(BIAS + 0x700));
	defined.b.vda_name = MINE;
	ck_assert_ptr_null(elf_function(&o, "malloc"));
	defined.b.vda_name = OLD_GLIBC;
	defined.second.vd_ndx = 3;
	ck_assert_ptr_null(elf_function(&o, "malloc"));
	o.defined = NULL;
	ck_assert_ptr_null(elf_function(&o, "malloc"));
}
END_TEST

START_TEST(a_table_of_nothing_has_nothing)
{
	struct elf_object o = by_gnu(1, 0);

	ck_assert_ptr_null(elf_function(&o, "malloc"));
}
END_TEST

START_TEST(what_is_undefined_is_referred_to)
{
	struct elf_object o = by_sysv();

	ck_assert(elf_refers(&o, "malloc"));
	ck_assert(!elf_refers(&o, "mall"));
	o = by_gnu(6, 1);
	ck_assert(elf_refers(&o, "malloc"));
	o = by_gnu(5, 1);
	ck_assert(!elf_refers(&o, "malloc"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("elf");

	tcase_add_loop_test(tc, a_function_is_what_a_program_would_be_bound_to, 0, 2);
	tcase_add_test(tc, a_variable_is_no_function);
	tcase_add_loop_test(
		tc, an_old_version_of_glibc_s_is_taken_where_there_is_no_other, 0, 2);
	tcase_add_test(tc, a_table_of_nothing_has_nothing);
	tcase_add_test(tc, what_is_undefined_is_referred_to);
	return unit_run(tc, "elf");
}
