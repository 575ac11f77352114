/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: whole ones, of the file that is meant, whoever is asked and dies of it. */
#include "launcher/symbols/frames.h"
#include "launcher/symbols/symbolize.h"
#include "tests/unit/elf_file.h"
#include "tests/unit/seam.h"

#include <link.h>

static char dir[] = "/tmp/test_symbolize-XXXXXX", told[1 << 16];
static size_t told_len;

/* A process that looks into a file ends within its second answer, once. */
static _Atomic int *cuts;

static bool cut_second(long nr, const long a[6], long *result)
{
	(void)result;
	if (nr == SYS_write && memmem((const void *)a[1], (size_t)a[2], "second", 6) &&
	    atomic_exchange(cuts, 0)) {
		seam_kernel(nr, (const long[6]){ a[0], a[1], a[2] / 2 });
		_exit(1);
	}
	return false;
}

static void enter(void)
{
	strcpy(dir, "/tmp/test_symbolize-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	told_len = 0;
}

static int take(void *arg, const char *text, size_t n)
{
	(void)arg;
	ck_assert_uint_le(told_len + n, sizeof(told));
	memcpy(told + told_len, text, n);
	told_len += n;
	return 0;
}

/* A text of several lines is one with NULs in it. */
static void expect_told(const char *want, size_t len)
{
	ck_assert_msg(told_len == len && !memcmp(told, want, len), "%zu bytes: %s",
		      told_len, told);
}
#define EXPECT_TOLD(want) expect_told(want, sizeof(want) - 1)

static void ask(const char *path, const char *id, uint64_t one, uint64_t other)
{
	uint64_t offsets[] = { one, other };
	struct symbolize_module m = {
		.path = path, .id = id, .offset = offsets, .n = other ? 2 : 1
	};
	struct symbolize_to to = { .take = take };

	symbolize_answer(&m, &to);
}

/* ---- which file ---- */

START_TEST(a_file_without_a_build_id_is_another_one)
{
	struct elf_file f = elf_file_new(SHT_SYMTAB);

	elf_file_symbol(&f, 1, "good", 0x1000, 16);
	elf_file_write(&f, "lib.so");
	ask("lib.so", ":lib.so", 0x1004, 0);
	EXPECT_TOLD("good (lib.so+0x1004)\0\0");
	told_len = 0;
	ask("lib.so", "abab:lib.so", 0x1004, 0);
	EXPECT_TOLD("\0");
}
END_TEST

START_TEST(a_build_id_is_compared_to_its_end)
{
	struct elf_file f = elf_file_new(SHT_SYMTAB);

	elf_file_symbol(&f, 1, "good", 0x1000, 16);
	elf_file_note(&f, NT_GNU_BUILD_ID, 4, 2);
	elf_file_write(&f, "lib.so");
	ask("lib.so", "abab:lib.so", 0x1004, 0);
	EXPECT_TOLD("good (lib.so+0x1004)\0\0");
	told_len = 0;
	ask("lib.so", "ababab:lib.so", 0x1004, 0);
	ask("lib.so", "ab:lib.so", 0x1004, 0);
	ask("lib.so", ":lib.so", 0x1004, 0);
	EXPECT_TOLD("\0\0\0");
}
END_TEST

/* ---- answers ---- */

START_TEST(half_an_answer_is_none)
{
	struct elf_file f = elf_file_new(SHT_SYMTAB);

	elf_file_symbol(&f, 1, "first", 0x1000, 16);
	elf_file_symbol(&f, 2, "second", 0x2000, 16);
	elf_file_write(&f, "lib.so");
	cuts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		    0);
	ck_assert_ptr_ne((void *)cuts, MAP_FAILED);
	atomic_store(cuts, 1);
	seam = cut_second;
	ask("lib.so", ":lib.so", 0x1004, 0x2004);
	ck_assert_int_eq(atomic_load(cuts), 0);
	EXPECT_TOLD("first (lib.so+0x1004)\0\0second (lib.so+0x2004)\0\0");
}
END_TEST

#define FILES 256

/* So many that some of them are kept in one place, whatever that depends on. */
START_TEST(an_answer_is_of_its_own_file)
{
	struct elf_file f = elf_file_new(SHT_SYMTAB);
	static char question[FILES * 32], want[FILES * 64];
	size_t n = 0, len = 0;

	symbol_libdw_open(); /* once, not in each process */
	elf_file_symbol(&f, 1, "good", 0x1000, 16);
	elf_file_write(&f, "lib");
	for (unsigned i = 0; i < FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		ck_assert_int_eq(symlink("lib", name), 0);
		n += (size_t)sprintf(question + n, "m:%s%cf1004", name, 0) + 1;
		len += (size_t)sprintf(want + len, "good (%s+0x1004)%c", name, 0) + 1;
	}
	/* The second time from what is known. */
	for (unsigned times = 0; times < 2; times++) {
		told_len = 0;
		ck_assert_int_eq(known_ask(question, n, INT64_MAX / 4, take, NULL), 0);
		ck_assert_uint_eq(told_len, len);
		ck_assert(!memcmp(told, want, len));
	}
}
END_TEST

/* One that is known stands before those that are not, and one is asked for twice. */
START_TEST(what_is_new_is_not_mixed_up_with_what_is_known)
{
	static const char first[] = "m:lib.so\0f1004",
			  question[] = "m:lib.so\0f1004\0f2004\0f3004\0f2004";
	struct elf_file f = elf_file_new(SHT_SYMTAB);

	elf_file_symbol(&f, 1, "first", 0x1000, 16);
	elf_file_symbol(&f, 2, "second", 0x2000, 16);
	elf_file_symbol(&f, 3, "third", 0x3000, 16);
	elf_file_write(&f, "lib.so");
	ck_assert_int_eq(known_ask(first, sizeof(first), INT64_MAX / 4, take, NULL), 0);
	EXPECT_TOLD("first (lib.so+0x1004)\0\0");
	for (unsigned times = 0; times < 2; times++) {
		told_len = 0;
		ck_assert_int_eq(
			known_ask(question, sizeof(question), INT64_MAX / 4, take, NULL),
			0);
		EXPECT_TOLD("first (lib.so+0x1004)\0\0second (lib.so+0x2004)\0\0"
			    "third (lib.so+0x3004)\0\0second (lib.so+0x2004)\0\0");
	}
}
END_TEST

static int refuse_first(void *arg, const char *text, size_t n)
{
	unsigned *taken = arg;

	(void)text;
	(void)n;
	return (*taken)++ ? 0 : -ENOMEM;
}

/* What went wrong is told, though the answers behind it come. */
START_TEST(a_later_answer_makes_nothing_good)
{
	static const char question[] = "m:lib.so\0f1004\0f2004";
	struct elf_file f = elf_file_new(SHT_SYMTAB);
	unsigned taken = 0;

	elf_file_symbol(&f, 1, "first", 0x1000, 16);
	elf_file_symbol(&f, 2, "second", 0x2000, 16);
	elf_file_write(&f, "lib.so");
	ck_assert_int_eq(known_ask(question, sizeof(question), -1, take, NULL), -ETIME);
	ck_assert_int_eq(known_ask(question, sizeof(question), INT64_MAX / 4,
				   refuse_first, &taken),
			 -ENOMEM);
	ck_assert_uint_eq(taken, 2);
}
END_TEST

/* ---- what the compiler put behind a name ---- */

/* Its name is known to the symbol table alone: it is no other file's. */
static uint64_t cloned(int) __asm__("_Z6clonedi.constprop.0");
__attribute__((noinline, used)) static uint64_t cloned(int n)
{
	return (uint64_t)__builtin_return_address(0) + (unsigned)n;
}

static int note_bias(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the program itself comes first */
}

START_TEST(a_clone_has_its_functions_name)
{
	uint8_t id[SYMBOL_ID];
	char text[2 * SYMBOL_ID + 2] = "", want[] = "cloned(int) (test_symbolize.c:";
	struct symbol_file f;
	uint64_t bias = 0;
	size_t n = 0;

	if (!symbol_libdw_open())
		return;
	dl_iterate_phdr(note_bias, &bias);
	ck_assert(symbol_file_open(&f, "/proc/self/exe"));
	for (unsigned i = 0, len = symbol_file_id(&f, id); i < len; i++)
		n += (size_t)sprintf(text + n, "%02x", id[i]);
	text[n] = ':';
	symbol_file_close(&f);
	ask("/proc/self/exe", text, (uint64_t)cloned - bias, 0);
	ck_assert_msg(!strncmp(told, want, strlen(want)), "%s", told);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("symbolize");

	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_test(tc, a_file_without_a_build_id_is_another_one);
	tcase_add_test(tc, a_build_id_is_compared_to_its_end);
	tcase_add_test(tc, half_an_answer_is_none);
	tcase_add_test(tc, an_answer_is_of_its_own_file);
	tcase_add_test(tc, what_is_new_is_not_mixed_up_with_what_is_known);
	tcase_add_test(tc, a_later_answer_makes_nothing_good);
	tcase_add_test(tc, a_clone_has_its_functions_name);
	return unit_run(tc, "symbolize");
}
