/* SPDX-License-Identifier: Apache-2.0 */
/* Objects whose headers are hostile, as the linker would tell them; and files by the
 * kernel's list of mappings. */
#include "agent/unwind/maps.h"
#include "agent/unwind/modules.h"
#include "tests/unit/unit.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 4096 /* of the object; behind it nothing is mapped */
#define NOTE 1024 /* where its note lies, unless it is moved */

static uint8_t *object;
static uintptr_t tables; /* where its .eh_frame_hdr is said to be */
static Elf64_Phdr *load, *note;
static char *said_path = (char *)"/lib/hostile.so";

struct unwind_object { /* struct dl_find_object */
	unsigned long long flags;
	void *begin, *end;
	struct link_map *map;
	void *eh_frame;
	unsigned long long reserved[7];
};

static int say(void *pc, struct unwind_object *o)
{
	static struct link_map map;

	if ((uintptr_t)pc - (uintptr_t)object >= SIZE)
		return -1;
	map.l_addr = (uintptr_t)object;
	map.l_name = said_path;
	*o = (struct unwind_object){ .begin = object,
				     .end = object + SIZE,
				     .map = &map,
				     .eh_frame = (void *)tables };
	return 0;
}

static void setup(void)
{
	Elf64_Ehdr *h;

	object = mmap(NULL, SIZE + 4096, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(object, MAP_FAILED);
	munmap(object + SIZE, 4096);
	h = (Elf64_Ehdr *)object;
	memcpy(h->e_ident, ELFMAG, SELFMAG);
	h->e_ident[EI_CLASS] = ELFCLASS64;
	h->e_phoff = sizeof(*h);
	h->e_phentsize = sizeof(Elf64_Phdr);
	h->e_phnum = 2;
	load = (Elf64_Phdr *)(h + 1);
	note = load + 1;
	*load = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = SIZE, .p_memsz = SIZE
	};
	unwind_find_object = say;
}

/* A build id of so many bytes, of which so many are there. */
static const struct unwind_module *with_note(size_t at, uint32_t says, size_t has)
{
	Elf64_Nhdr head = { 4, says, NT_GNU_BUILD_ID };

	*note = (Elf64_Phdr){ .p_type = PT_NOTE,
			      .p_vaddr = at,
			      .p_filesz = sizeof(head) + 4 + has };
	memcpy(object + at, &head, sizeof(head));
	memcpy(object + at + sizeof(head), "GNU", 4);
	memset(object + at + sizeof(head) + 4, 'x', has);
	return unwind_find((uintptr_t)object + 100);
}

START_TEST(a_build_id_is_read)
{
	const struct unwind_module *m = with_note(NOTE, 20, 20);

	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->build_id_len, 20);
	ck_assert_int_eq(m->build_id[19], 'x');
	ck_assert_str_eq(m->path, "/lib/hostile.so");
	ck_assert_ptr_eq(unwind_find((uintptr_t)object + SIZE - 1), m);
	ck_assert_ptr_null(unwind_find((uintptr_t)object + SIZE));
}
END_TEST

/* What lies in a note is rounded up to four bytes, and another one may come first. */
START_TEST(a_build_id_behind_another_note_is_read)
{
	const Elf64_Nhdr odd = { 4, 5, 99 };
	const struct unwind_module *m;

	with_note(NOTE + 24, 20, 20);
	unwind_epoch++;
	memcpy(object + NOTE, &odd, sizeof(odd));
	memcpy(object + NOTE + sizeof(odd), "ABC", 4);
	note->p_vaddr = NOTE;
	note->p_filesz += 24;
	m = unwind_find((uintptr_t)object + 100);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->build_id_len, 20);
	ck_assert_int_eq(m->build_id[0], 'x');
}
END_TEST

START_TEST(a_build_id_that_is_too_long_is_none)
{
	const struct unwind_module *m = with_note(NOTE, 32, 32);

	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->build_id_len, 0);
	ck_assert_str_eq(m->path, "/lib/hostile.so");
}
END_TEST

/* Its note says more than there is; behind it the object ends. */
START_TEST(a_note_ends_where_its_segment_does)
{
	const struct unwind_module *m = with_note(SIZE - 20, 16, 4);

	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->build_id_len, 0);
}
END_TEST

START_TEST(a_note_outside_of_the_file_is_not_read)
{
	const struct unwind_module *m;

	load->p_filesz = NOTE + 8;
	m = with_note(NOTE, 20, 20);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->build_id_len, 0);
}
END_TEST

/* Where a segment's memory goes on with zeros there are no tables. */
START_TEST(tables_lie_in_the_file)
{
	static const uint8_t header[12] = { 1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 5 };
	const struct unwind_module *m;

	memcpy(object + 3000, header, sizeof(header));
	memcpy(object + 1000, header, sizeof(header));
	tables = (uintptr_t)object + 1000;
	load->p_filesz = 2000;
	m = unwind_find((uintptr_t)object + 100);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->tables.count, 5);
	tables = (uintptr_t)object + 3000;
	unwind_epoch++;
	m = unwind_find((uintptr_t)object + 100);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->tables.count, 0);
}
END_TEST

/* As BOLT and others leave them. */
START_TEST(program_headers_may_lie_elsewhere)
{
	static const uint8_t header[12] = { 1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 5 };
	const struct unwind_module *m;
	int32_t nowhere = 4096;

	((Elf64_Ehdr *)object)->e_phoff = 5000;
	memcpy(object + 3000, header, sizeof(header));
	tables = (uintptr_t)object + 3000;
	m = unwind_find((uintptr_t)object + 100);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->tables.count, 5);
	ck_assert_ptr_eq(m->tables.hdr_end, object + SIZE);
	ck_assert_ptr_eq(m->tables.hi, object + SIZE);
	ck_assert_uint_le((uintptr_t)m->tables.lo, (uintptr_t)object);
	object[3008] = 200; /* more than there is room for */
	unwind_epoch++;
	ck_assert_uint_eq(unwind_find((uintptr_t)object + 100)->tables.count, 0);
	object[3008] = 5;
	object[3001] = 0x03; /* .eh_frame is at that address */
	memcpy(object + 3004, &nowhere, sizeof(nowhere));
	unwind_epoch++;
	ck_assert_uint_eq(unwind_find((uintptr_t)object + 100)->tables.count, 0);
}
END_TEST

START_TEST(another_object_at_its_place_is_another_one)
{
	const struct unwind_module *m = with_note(NOTE, 20, 20), *n;

	object[NOTE + 20] = 'y';
	ck_assert_ptr_eq(unwind_find((uintptr_t)object + 100), m);
	unwind_epoch++;
	n = unwind_find((uintptr_t)object + 100);
	ck_assert_ptr_ne(n, m);
	ck_assert_int_eq(n->build_id[4], 'y');
}
END_TEST

/* Files until one has an 8 or a 9 in the number that stands before its path. */
START_TEST(a_mapped_file_has_its_path)
{
	char dir[] = "/tmp/unwind-find-XXXXXX", path[64], told[1024], number[32] = "";
	struct unwind_mapping m;
	struct stat st;
	uint8_t *at = NULL;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	for (int i = 0; i < 500 && !strpbrk(number, "89"); i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%d", dir, i);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		ck_assert_int_eq(fstat(fd, &st), 0);
		snprintf(number, sizeof(number), "%lu", (unsigned long)st.st_ino);
		ck_assert_int_eq(ftruncate(fd, 8192), 0);
		at = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
		ck_assert_ptr_ne(at, MAP_FAILED);
		close(fd);
		unlink(path);
		strcat(path, " (deleted)");
		ck_assert(unwind_maps_find((uintptr_t)at, &m, told, sizeof(told)));
		ck_assert_str_eq(told, path);
		ck_assert_uint_eq(m.begin, (uintptr_t)at);
		ck_assert_uint_eq(m.end, (uintptr_t)at + 8192);
		ck_assert_uint_eq(m.first, (uintptr_t)at);
		ck_assert(m.readable);
	}
	ck_assert(unwind_maps_find((uintptr_t)at + 8191, &m, told, sizeof(told)));
	if (unwind_maps_find((uintptr_t)at + 8192, &m, told, sizeof(told)))
		ck_assert_uint_eq(m.begin, (uintptr_t)at + 8192);
	rmdir(dir);
}
END_TEST

/* One of which the beginning is not mapped, behind one of which it is. */
START_TEST(a_file_does_not_begin_with_the_one_before_it)
{
	uint8_t *at = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct unwind_mapping m;
	char told[1024];

	for (int i = 0; i < 2; i++) {
		char path[] = "/tmp/unwind-find-XXXXXX";
		int fd = mkstemp(path);

		ck_assert_int_eq(ftruncate(fd, 8192), 0);
		ck_assert_ptr_eq(mmap(at + i * 4096, 4096, PROT_READ,
				      MAP_PRIVATE | MAP_FIXED, fd, i * 4096),
				 at + i * 4096);
		close(fd);
		unlink(path);
	}
	ck_assert(unwind_maps_find((uintptr_t)at + 4096, &m, told, sizeof(told)));
	ck_assert_uint_eq(m.first, (uintptr_t)at + 4096);
}
END_TEST

/* Without the linker's help: by the kernel's list, and by what the file says of itself.
 */
START_TEST(a_file_is_moved_by_where_it_lies)
{
	static const struct {
		uintptr_t address, bias; /* its first segment's; added to it */
	} rows[] = {
		{ 0x10000000, 0 }, /* a program at a fixed address */
		{ 0, 0x10000000 },
		{ 0x5000, 0x10000000 - 0x5000 },
		{ 0x5040, 0x10000000 - 0x5000 },
	};
	uint8_t *at = (uint8_t *)0x10000000;
	char path[] = "/tmp/unwind-find-XXXXXX";
	const struct unwind_module *m;
	int fd = mkstemp(path);

	load->p_vaddr = rows[_i].address;
	load->p_filesz = 4096;
	load->p_memsz = 0x2000;
	*note = (Elf64_Phdr){ .p_type = PT_LOAD,
			      .p_vaddr = rows[_i].address + 0x4000,
			      .p_memsz = 0x1000 };
	ck_assert_int_eq(write(fd, object, SIZE), SIZE);
	ck_assert_ptr_eq(mmap(at, SIZE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), at);
	unwind_find_object = NULL;
	m = unwind_find((uintptr_t)at + 0x100);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->begin, (uintptr_t)at);
	ck_assert_uint_eq(m->bias, rows[_i].bias);
	ck_assert_uint_eq(m->end, rows[_i].bias + rows[_i].address + 0x5000);
	ck_assert_str_eq(m->path, path);
	ck_assert_uint_eq(m->tables.count, 0);
	close(fd);
}
END_TEST

START_TEST(no_more_headers_are_read_than_there_are)
{
	((Elf64_Ehdr *)object)->e_phnum = 1000;
	ck_assert_ptr_nonnull(with_note(NOTE, 20, 20));
	ck_assert_uint_eq(unwind_find((uintptr_t)object + 100)->build_id_len, 0);
}
END_TEST

START_TEST(a_relative_path_is_kept_with_its_directory)
{
	ck_assert_int_eq(chdir("/tmp"), 0);
	said_path = (char *)"./hostile.so";
	ck_assert_str_eq(unwind_find((uintptr_t)object + 100)->path, "/tmp/./hostile.so");
}
END_TEST

START_TEST(a_line_longer_than_the_room_is_cut)
{
	struct unwind_mapping m;
	char room[128];

	memset(room, 'x', sizeof(room));
	unwind_maps_find((uintptr_t)object, &m, room, 64);
	for (int i = 64; i < 128; i++)
		ck_assert_int_eq(room[i], 'x');
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind find");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_build_id_is_read);
	tcase_add_test(tc, a_build_id_behind_another_note_is_read);
	tcase_add_test(tc, a_build_id_that_is_too_long_is_none);
	tcase_add_test(tc, a_note_ends_where_its_segment_does);
	tcase_add_test(tc, a_note_outside_of_the_file_is_not_read);
	tcase_add_test(tc, tables_lie_in_the_file);
	tcase_add_test(tc, program_headers_may_lie_elsewhere);
	tcase_add_test(tc, another_object_at_its_place_is_another_one);
	tcase_add_test(tc, a_mapped_file_has_its_path);
	tcase_add_test(tc, a_file_does_not_begin_with_the_one_before_it);
	tcase_add_loop_test(tc, a_file_is_moved_by_where_it_lies, 0, 4);
	tcase_add_test(tc, no_more_headers_are_read_than_there_are);
	tcase_add_test(tc, a_relative_path_is_kept_with_its_directory);
	tcase_add_test(tc, a_line_longer_than_the_room_is_cut);
	return unit_run(tc, "unwind_find");
}
