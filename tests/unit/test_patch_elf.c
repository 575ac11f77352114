/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables of files that are cut, hostile, or not what is mapped. */
#include "agent/patch/steps.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- a file laid out by hand ---- */

/* It ends where nothing more is mapped. */
struct file {
	Elf64_Ehdr h;
	Elf64_Sym sym[4];
	Elf64_Shdr section[3]; /* nothing, symbols, names */
	char names[16];
};

static struct file *file;
static struct patch_elf elf;

static void setup(void)
{
	uint8_t *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	munmap(page + 4096, 4096);
	file = (struct file *)(page + 4096 - sizeof(*file));
	elf = (struct patch_elf){ (uint8_t *)file, sizeof(*file) };
	*file = (struct file){
		.h = { .e_shoff = offsetof(struct file, section),
		       .e_shnum = 3,
		       .e_shentsize = sizeof(Elf64_Shdr) },
		.section = { { 0 },
			     { .sh_type = SHT_SYMTAB,
			       .sh_link = 2,
			       .sh_offset = offsetof(struct file, sym),
			       .sh_size = sizeof(file->sym) },
			     { .sh_type = SHT_STRTAB,
			       .sh_offset = offsetof(struct file, names),
			       .sh_size = sizeof(file->names) } },
		.names = "\0wanted\0other\0",
	};
	for (unsigned i = 1; i < 4; i++)
		file->sym[i] = (Elf64_Sym){ .st_name = 8,
					    .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
					    .st_shndx = 1,
					    .st_value = 0x100 * i,
					    .st_size = 16 };
}

static struct patch_symbols found(const char *name)
{
	struct patch_symbols s;

	patch_elf_symtab(&elf, name, &s);
	return s;
}

START_TEST(a_symbol_is_found)
{
	file->sym[2].st_name = 1;
	ck_assert_uint_eq(found("wanted").value, 0x200);
	ck_assert_uint_eq(found("wanted").count, 1);
	ck_assert_uint_eq(found("wanted").size, 16);
	ck_assert_uint_eq(found("want").count, 0);
	ck_assert_uint_eq(found("anted").count, 0);
}
END_TEST

START_TEST(two_of_one_name_are_counted)
{
	ck_assert_uint_eq(found("other").count, 3);
	ck_assert_uint_eq(found("other").value, 0x100);
	file->sym[2].st_value = file->sym[3].st_value = 0x100; /* aliases */
	ck_assert_uint_eq(found("other").count, 1);
}
END_TEST

START_TEST(a_name_outside_of_the_names_is_nobodys)
{
	file->sym[2].st_name = 0x7fffffff;
	file->sym[3].st_name = sizeof(file->names);
	ck_assert_uint_eq(found("other").count, 1);
}
END_TEST

START_TEST(names_that_do_not_end_are_none)
{
	memcpy(file->names + sizeof(file->names) - 4, "wild", 4);
	file->sym[2].st_name = sizeof(file->names) - 4;
	ck_assert_uint_eq(found("wildcard").count, 0);
	ck_assert_uint_eq(found("other").count, 0);
}
END_TEST

START_TEST(tables_that_are_not_all_there_are_none)
{
	file->h.e_shnum = 5; /* more than lie between there and the end */
	ck_assert_uint_eq(found("other").count, 0);
	file->h.e_shnum = 3;
	ck_assert_uint_eq(found("other").count, 3);
	file->section[1].sh_size = sizeof(*file) - sizeof(Elf64_Sym);
	ck_assert_uint_eq(found("other").count, 0);
	file->section[1].sh_size = UINT64_MAX;
	ck_assert_uint_eq(found("other").count, 0);
	file->section[1].sh_size = sizeof(file->sym);
	file->section[2].sh_size = sizeof(file->names) + 1;
	ck_assert_uint_eq(found("other").count, 0);
	file->section[2].sh_size = UINT64_MAX;
	ck_assert_uint_eq(found("other").count, 0);
}
END_TEST

/* ---- libraries ---- */

static char dir[64];

static void build(const char *name, const char *code)
{
	char command[512];

	snprintf(command, sizeof(command), "echo '%s' | cc -x c - -shared -fPIC -o %s/%s",
		 code, dir, name);
	ck_assert_int_eq(system(command), 0);
}

static bool find_after(const char *meanwhile)
{
	struct patch_found f;
	char command[256], path[128];

	strcpy(dir, "/tmp/patch-elf-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	build("mapped.so", "static int __attribute__((noipa, used)) patch_elf_local(void)"
			   "{ return 1; }");
	build("other.so", "int more(void) { return 3; } int data[999] = { 1 };"
			  "static int __attribute__((noipa, used)) patch_elf_local(void)"
			  "{ return 2; } _Thread_local int a = 1;");
	snprintf(path, sizeof(path), "%s/mapped.so", dir);
	ck_assert_ptr_nonnull(dlopen(path, RTLD_NOW));
	snprintf(command, sizeof(command), "cd %s && %s", dir, meanwhile);
	ck_assert_int_eq(system(command), 0);
	patch_find(NULL, 0, "patch_elf_local", &f);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
	return f.at;
}

START_TEST(a_local_function_is_found_in_its_file)
{
	ck_assert(find_after("true"));
}
END_TEST

START_TEST(another_file_at_its_path_says_nothing)
{
	ck_assert(!find_after("mv other.so mapped.so"));
}
END_TEST

START_TEST(a_library_that_only_calls_it_has_it_not)
{
	struct patch_found f;
	char path[128], command[512];
	void *lib;

	strcpy(dir, "/tmp/patch-elf-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	build("has.so", "void patch_elf_afar(void) { }");
	snprintf(path, sizeof(path), "%s/calls.so", dir);
	snprintf(
		command, sizeof(command),
		"echo 'void patch_elf_afar(void); void call(void) { patch_elf_afar(); }' |"
		"cc -x c - -shared -fPIC -Wl,--hash-style=sysv -o %s -x none %s/has.so",
		path, dir);
	ck_assert_int_eq(system(command), 0);
	lib = dlopen(path, RTLD_NOW);
	ck_assert_msg(lib != NULL, "%s", dlerror());
	ck_assert(patch_find(NULL, 0, "patch_elf_afar", &f));
	ck_assert_uint_eq(f.at, (uintptr_t)dlsym(lib, "patch_elf_afar"));
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("patch elf");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_symbol_is_found);
	tcase_add_test(tc, two_of_one_name_are_counted);
	tcase_add_test(tc, a_name_outside_of_the_names_is_nobodys);
	tcase_add_test(tc, names_that_do_not_end_are_none);
	tcase_add_test(tc, tables_that_are_not_all_there_are_none);
	tcase_add_test(tc, a_local_function_is_found_in_its_file);
	tcase_add_test(tc, another_file_at_its_path_says_nothing);
	tcase_add_test(tc, a_library_that_only_calls_it_has_it_not);
	return unit_run(tc, "patch_elf");
}
