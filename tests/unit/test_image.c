/* SPDX-License-Identifier: Apache-2.0 */
/* Programs built here byte by byte, scripts, and files that are no such thing. */
#include "tests/unit/program_image.h"
#include "tests/unit/seam.h"

START_TEST(a_program_says_why_it_stays_aside)
{
	static const struct {
		struct program program;
		enum aside why;
	} rows[] = {
		{ { .loader = GLIBC }, ASIDE_NO },
		{ { .loader = GLIBC, .needed = "libc.so.6" }, ASIDE_NO },
		{ { 0 }, ASIDE_STATIC },
		{ { .soname = "linux-vdso.so.1" }, ASIDE_STATIC },
		{ { .soname = "ld-linux-x86-64.so.2" }, ASIDE_NO },
		{ { .loader = "/lib/ld-musl-x86_64.so.1" }, ASIDE_MUSL },
		{ { .loader = GLIBC, .machine = EM_AARCH64 }, ASIDE_FOREIGN },
		{ { .loader = GLIBC, .class = ELFCLASS32 }, ASIDE_FOREIGN },
		{ { .loader = GLIBC, .needed = "libasan.so.8" }, ASIDE_SANITIZER },
		{ { .loader = GLIBC, .needed = "libtsan.so.2" }, ASIDE_SANITIZER },
		{ { .loader = GLIBC, .needed = "libclang_rt.asan-x86_64.so" },
		  ASIDE_SANITIZER },
		{ { .loader = GLIBC, .needed = "libubsan.so.1" }, ASIDE_NO },
		{ { .loader = GLIBC, .needed = "my-libasan.so" }, ASIDE_NO },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ck_assert_msg(verdict(&rows[i].program) == rows[i].why, "row %zu", i);
}
END_TEST

START_TEST(a_runtime_inside_is_an_exported_name)
{
	static const char *const names[][2] = {
		{ "__asan_init", "AddressSanitizer" },
		{ "__tsan_init", "ThreadSanitizer" },
		{ "__msan_init", "MemorySanitizer" },
		{ "__asan_init_v4", "" },
		{ "main", "" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (unsigned no_hash = 0; no_hash < 2; no_hash++) {
			verdict(&(struct program){ .loader = GLIBC,
						   .export = names[i][0],
						   .no_hash = no_hash });
			ck_assert_str_eq(image.sanitizer, names[i][1]);
		}
	/* lld's tables have another filter than GNU ld's. */
	for (uint32_t shift = 1; shift < 32; shift++) {
		verdict(&(struct program){
			.loader = GLIBC, .export = "__tsan_init", .shift = shift });
		ck_assert_str_eq(image.sanitizer, "ThreadSanitizer");
	}
	/* Far behind in a table that is read in pieces; across the seams, too. */
	for (uint32_t filler = 3 * IMAGE_ROOM - 40; filler < 3 * IMAGE_ROOM + 40;
	     filler++) {
		verdict(&(struct program){ .loader = GLIBC,
					   .export = "__asan_init",
					   .no_hash = true,
					   .filler = filler });
		ck_assert_str_eq(image.sanitizer, "AddressSanitizer");
	}
	verdict(&(struct program){
		.loader = GLIBC, .export = "__tsan_init", .filler = 900000 });
	ck_assert_str_eq(image.sanitizer, "ThreadSanitizer");
}
END_TEST

START_TEST(a_script_is_cut_as_the_kernel_cuts_it)
{
	static const struct {
		const char *text, *interpreter, *argument;
	} rows[] = {
		{ "#!/bin/sh\necho", "/bin/sh", "" },
		{ "#! \t/bin/sh  -e -u \t\n", "/bin/sh", "-e -u" },
		{ "#!/bin/sh", "/bin/sh", "" },
		{ "#!/bin/sh\r\n", "/bin/sh\r", "" },
		{ "#!/usr/bin/env -S python3 -u\n", "/usr/bin/env", "-S python3 -u" },
	};
	char line[1000];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		ck_assert_int_eq(read_text(rows[i].text, strlen(rows[i].text)),
				 IMAGE_SCRIPT);
		ck_assert_str_eq(image.interpreter, rows[i].interpreter);
		ck_assert_str_eq(image.argument, rows[i].argument);
	}
	memset(line, 'a', sizeof(line));
	memcpy(line, "#!", 2);
	ck_assert_int_eq(read_text(line, sizeof(line)), IMAGE_SCRIPT);
	ck_assert_uint_eq(strlen(image.interpreter), IMAGE_LINE - 3);
	ck_assert_int_eq(read_text("#!\nexit", 7), IMAGE_TEXT);
	ck_assert_int_eq(read_text("#! \t \n", 6), IMAGE_TEXT);
	ck_assert_int_eq(read_text("exit 3\n", 7), IMAGE_TEXT);
	ck_assert_int_eq(read_text("exit\0 3\n", 8), IMAGE_OTHER);
	ck_assert_int_eq(read_text("", 0), IMAGE_OTHER);
	ck_assert_int_eq(read_text("\177ELF", 4), IMAGE_OTHER);
	ck_assert_int_eq(read_text("MZ\220", 3), IMAGE_TEXT);
}
END_TEST

/* Cut at each length, and with each byte of its tables changed to extremes. */
START_TEST(a_corrupt_program_is_read_to_an_end)
{
	size_t size = build(&(struct program){
		.loader = GLIBC, .needed = "libc.so.6", .export = "__asan_init" });
	int fd = file_of(bytes, size);

	for (size_t n = size; n--;) {
		ck_assert_int_eq(ftruncate(fd, (off_t)n), 0);
		image_read(&image, fd);
		ck_assert_uint_lt(strlen(image.interpreter), IMAGE_LINE);
	}
	ck_assert_int_eq(pwrite(fd, bytes, size, 0), (ssize_t)size);
	for (size_t at = 4; at < SYMBOLS + 64; at++)
		for (unsigned value = 0; value < 256; value += 51) {
			uint8_t odd[8];

			memset(odd, (int)value, sizeof(odd));
			ck_assert_int_eq(pwrite(fd, odd, 8, (off_t)at), 8);
			image_read(&image, fd);
			ck_assert_uint_lt(strlen(image.interpreter), IMAGE_LINE);
			ck_assert_int_eq(pwrite(fd, bytes + at, 8, (off_t)at), 8);
		}
	close(fd);
}
END_TEST

/* More of everything than a linker makes: what is beyond our tables is left out. */
START_TEST(a_program_of_many_parts_is_read_within_our_tables)
{
	static char loader[1000];
	struct program p = { .loader = GLIBC, .loads = 4, .needs = 300 };

	ck_assert_int_eq(verdict(&p), ASIDE_NO);
	ck_assert_str_eq(image.interpreter, GLIBC);
	ck_assert_uint_eq(image.dynamic.needs, IMAGE_NEEDED);
	ck_assert_uint_eq(image.dynamic.loads, 5);
	p = (struct program){ .loads = 60, .soname = "ld-linux-x86-64.so.2" };
	ck_assert_int_eq(verdict(&p), ASIDE_NO);
	ck_assert_uint_eq(image.dynamic.loads, IMAGE_LOADS);
	ck_assert_uint_eq(image.dynamic.needs, 0);
	memset(loader, 'l', 400);
	p = (struct program){ .loader = loader };
	ck_assert_int_eq(verdict(&p), ASIDE_NO);
	ck_assert_uint_eq(strlen(image.interpreter), IMAGE_LINE - 1);
	ck_assert(image.native);
	ck_assert_str_eq(image.argument, "");
}
END_TEST

/* A string table that ends where the program's part of the file does is not beside it. */
START_TEST(an_address_behind_a_segment_is_nowhere)
{
	struct program p = { .loader = GLIBC, .needed = "libasan.so.8" };
	size_t size = build(&p);
	Elf64_Phdr *first = (Elf64_Phdr *)(bytes + sizeof(Elf64_Ehdr));

	first->p_filesz = STRINGS + 1;
	read_text((char *)bytes, size);
	ck_assert_str_eq(image.sanitizer, "AddressSanitizer");
	first->p_filesz = STRINGS;
	read_text((char *)bytes, size);
	ck_assert_str_eq(image.sanitizer, "");
}
END_TEST

static unsigned reads;

static bool count_reads(long nr, const long a[6], long *result)
{
	(void)a;
	(void)result;
	reads += nr == SYS_pread64;
	return false;
}

/* A chain of a hash table that has no end, in a file of a gigabyte of nothing. */
START_TEST(a_chain_without_an_end_is_left)
{
	size_t size =
		build(&(struct program){ .loader = GLIBC, .export = "__asan_init" });
	Elf64_Phdr *first = (Elf64_Phdr *)(bytes + sizeof(Elf64_Ehdr));
	Elf64_Dyn *e = (Elf64_Dyn *)(bytes + DYNAMIC);
	uint32_t *word;
	int fd;

	size = (size + 7) & ~7ul; /* the table is the last of it: zeros follow */
	memcpy(bytes + size, bytes + HASH, 28);
	while (e->d_tag != DT_GNU_HASH)
		e++;
	e->d_un.d_ptr = BASE + size;
	word = (uint32_t *)(bytes + size);
	word[7] = hash_of("__asan_init") & ~1u;
	memset(bytes + SYMBOLS, 0, 48); /* and not the name that is looked for */
	size += 32;
	first->p_filesz = size;
	fd = file_of(bytes, size);
	ck_assert_int_eq(ftruncate(fd, 1 << 28), 0);
	seam = count_reads;
	image_read(&image, fd);
	ck_assert_str_eq(image.sanitizer, "");
	ck_assert_uint_lt(reads, 100);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("image");

	tcase_add_test(tc, a_program_says_why_it_stays_aside);
	tcase_add_test(tc, a_runtime_inside_is_an_exported_name);
	tcase_add_test(tc, a_script_is_cut_as_the_kernel_cuts_it);
	tcase_add_test(tc, a_corrupt_program_is_read_to_an_end);
	tcase_add_test(tc, a_program_of_many_parts_is_read_within_our_tables);
	tcase_add_test(tc, an_address_behind_a_segment_is_nowhere);
	tcase_add_test(tc, a_chain_without_an_end_is_left);
	return unit_run(tc, "image");
}
