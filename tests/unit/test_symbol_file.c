/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions: out of files that may be damaged, by address, as they are shown. */
#include "launcher/doctor/malloc.h"
#include "launcher/doctor/verdict.h"
#include "launcher/symbols/frames.h"
#include "tests/unit/elf_file.h"

#include <unistd.h>

#define FUNCTION ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)

static char path[48];
static struct symbol_file file;

static void enter(void)
{
	int fd;

	strcpy(path, "/tmp/test_symbol_file-XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
}

static void open_written(const struct elf_file *f)
{
	elf_file_write(f, path);
	ck_assert(symbol_file_open(&file, path));
}

/* ---- files ---- */

START_TEST(names_that_lie_behind_their_table)
{
	struct elf_file f = elf_file_new(SHT_SYMTAB);
	struct symbol_table t = { 0 };

	elf_file_symbol(&f, 1, "good", 0x1000, 16);
	elf_file_symbol(&f, 2, "bad", 0x2000, 16);
	elf_file_symbol(&f, 3, "worse", 0x3000, 16);
	f.symbols[2].st_name = sizeof(f.names);
	f.symbols[3].st_name = UINT32_MAX;
	open_written(&f);
	symbol_file_read(&file, &t);
	ck_assert_uint_eq(t.n, 1);
	ck_assert_str_eq(symbol_find(&t, 0x1008), "good");
	ck_assert(!symbol_file_defines(&file, "bad"));
	symbol_file_close(&file);
}
END_TEST

static const struct {
	uint32_t type, name, text;
	unsigned id;
} notes[] = {
	{ NT_GNU_BUILD_ID, 4, 20, 20 },
	{ NT_GNU_BUILD_ID, 4, 16, 16 },
	{ NT_GNU_BUILD_ID, 4, 24, 0 },
	{ NT_GNU_BUILD_ID, 4, 400, 0 },
	{ NT_GNU_BUILD_ID, 4, 0xfffffff0, 0 },
	{ NT_GNU_BUILD_ID, 0xfffffff0, 4, 0 },
	{ NT_VERSION, 0xfffffff0, 0xfffffff0, 0 },
	{ NT_VERSION, 4, 0x10000000, 0 },
};

START_TEST(notes_that_are_longer_than_their_segment)
{
	struct elf_file f = elf_file_new(SHT_SYMTAB);
	uint8_t id[SYMBOL_ID];

	elf_file_note(&f, notes[_i].type, notes[_i].name, notes[_i].text);
	open_written(&f);
	ck_assert_uint_eq(symbol_file_id(&file, id), notes[_i].id);
	symbol_file_close(&file);
}
END_TEST

/* ---- a program's own malloc ---- */

static bool is_off(bool is_recorded)
{
	struct config c;

	config_defaults(&c);
	ck_assert_ptr_null(config_set(&c, "malloc", is_recorded ? "all" : "off"));
	verdict_off = false;
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stdout));
	doctor_malloc(&c, path, "");
	return verdict_off;
}

START_TEST(an_allocator_inside_is_off_where_it_is_asked_for)
{
	struct elf_file f = elf_file_new(SHT_SYMTAB);

	elf_file_symbol(&f, 1, "malloc_trim", 0x1000, 16);
	elf_file_write(&f, path);
	ck_assert(!is_off(true));
	elf_file_symbol(&f, 2, "malloc", 0x2000, 16);
	elf_file_write(&f, path);
	ck_assert(is_off(true));
	ck_assert(!is_off(false));
}
END_TEST

START_TEST(an_allocator_that_is_preloaded_is_named)
{
	struct config c;
	char said[512] = "";
	int fd = memfd_create("said", MFD_CLOEXEC);

	config_defaults(&c);
	setenv("LD_PRELOAD", "/a.so:/opt/libtcmalloc.so.4:/b.so", 1);
	fflush(stdout);
	ck_assert_int_eq(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
	doctor_malloc(&c, "/nowhere/program", "");
	fflush(stdout);
	ck_assert_int_gt(pread(fd, said, sizeof(said) - 1, 0), 0);
	ck_assert_msg(strstr(said, "malloc: tcmalloc's (/opt/libtcmalloc.so.4)\n") !=
			      NULL,
		      "%s", said);
	close(fd);
}
END_TEST

/* ---- by address ---- */

START_TEST(between_two_functions_is_none)
{
	struct symbol_table t = { 0 };

	symbol_add(&t, "second", 0x2000, 16, FUNCTION);
	symbol_add(&t, "first", 0x1000, 16, FUNCTION);
	ck_assert_ptr_null(symbol_find(&t, 0xfff));
	ck_assert_str_eq(symbol_find(&t, 0x1000), "first");
	ck_assert_str_eq(symbol_find(&t, 0x100f), "first");
	ck_assert_ptr_null(symbol_find(&t, 0x1010));
	ck_assert_ptr_null(symbol_find(&t, 0x1fff));
	ck_assert_str_eq(symbol_find(&t, 0x200f), "second");
	ck_assert_ptr_null(symbol_find(&t, 0x2010));
}
END_TEST

START_TEST(of_aliases_the_one_that_people_call)
{
	static const char *const names[] = { "flock", "__flock", "_flock", "a_local" };
	struct symbol_table t = { 0 };

	for (unsigned i = 0; i < 4; i++) { /* in any order */
		unsigned at = (i + (unsigned)_i) % 4;

		symbol_add(&t, names[at], 0x1000, 16,
			   at == 3 ? ELF64_ST_INFO(STB_LOCAL, STT_FUNC) : FUNCTION);
	}
	ck_assert_str_eq(symbol_find(&t, 0x1000), "flock");
}
END_TEST

/* ---- as they are shown ---- */

START_TEST(a_name_that_goes_on_says_so)
{
	static char name[5000], want[5000];
	struct text t = { 0 };

	memset(name, 'a', sizeof(name) - 1);
	symbol_put_offset(&t, name, "/lib/libx.so", 0x12);
	memset(want, 'a', 4096);
	strcpy(want + 4096, "... (libx.so+0x12)");
	ck_assert(!strcmp(t.mem, want)); /* too long to be printed */
	t.n = 0;
	name[4000] = '\0';
	symbol_put_offset(&t, name, "/lib/libx.so", 0x12);
	strcpy(want + 4000, " (libx.so+0x12)");
	ck_assert(!strcmp(t.mem, want)); /* too long to be printed */
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("symbol_file");

	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_test(tc, names_that_lie_behind_their_table);
	tcase_add_loop_test(tc, notes_that_are_longer_than_their_segment, 0,
			    sizeof(notes) / sizeof(*notes));
	tcase_add_test(tc, an_allocator_inside_is_off_where_it_is_asked_for);
	tcase_add_test(tc, an_allocator_that_is_preloaded_is_named);
	tcase_add_test(tc, between_two_functions_is_none);
	tcase_add_loop_test(tc, of_aliases_the_one_that_people_call, 0, 4);
	tcase_add_test(tc, a_name_that_goes_on_says_so);
	return unit_run(tc, "symbol_file");
}
