/* SPDX-License-Identifier: Apache-2.0 */
/* Space of the spool: made ready ahead, and never more than is used. */
#include "agent/core/spool_view.h"
#include "base/sys.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void open_spool(void)
{
	char dir[] = "/tmp/unit-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, 64 << 20), 0);
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
}

static uint64_t on_disk(void)
{
	struct sys_stat st;

	ck_assert_int_eq(sys_stat(spool_path, &st), 0);
	return st.blocks * 512;
}

/* Of our descriptors none is ever there but inside a call. */
static int first_free(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/* Who takes the chunk after half of what was made ready says so, once. */
START_TEST(it_is_told_once_that_more_is_needed)
{
	unsigned told = 0, chunks = 0;

	open_spool();
	while (atomic_load(&spool.head->used) < SPOOL_HEADER + (4 << 20)) {
		chunks += chunk_take(CHUNK_DATA, CHUNK_LARGE, 1) != 0;
		told += spool_low();
	}
	ck_assert_uint_eq(told, 1);
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
	ck_assert(!spool_low());
	while (!spool_low())
		chunks += chunk_take(CHUNK_DATA, CHUNK_LARGE, 1) != 0;
	/* Nobody has waited, or has been refused. */
	ck_assert_uint_eq(chunks * CHUNK_LARGE,
			  atomic_load(&spool.head->used) - SPOOL_HEADER);
}
END_TEST

/* As our thread walks it while the program records. */
static unsigned chunks_seen(void)
{
	struct spool_view v;
	uint64_t at = 0;
	unsigned n = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.cap), 0);
	while (spool_view_next(&v, &at))
		n++;
	return n;
}

/* As a file system does that has promised too much: the file ends before it. */
START_TEST(what_cannot_be_written_is_not_handed_out)
{
	char dir[] = "/tmp/unit-XXXXXX";
	uint64_t end, at;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, 8 << 20), 0);
	ck_assert_int_eq(spool_prepare(1 << 20), 0);
	end = atomic_load(&spool.head->ready) + (1 << 20);
	ck_assert_uint_lt(end, atomic_load(&spool.head->reserved));
	ck_assert_int_eq(truncate(spool_path, (off_t)end), 0);
	while (!spool_low())
		ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert_int_eq(spool_prepare(4 << 20), -ENOSPC);
	while ((at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1))) {
		ck_assert_uint_le(at + CHUNK_LARGE, end);
		memset(chunk_at(at) + 1, 1, CHUNK_LARGE - sizeof(struct chunk));
	}
	ck_assert_int_eq(spool_prepare(4 << 20), 0); /* no more, and nothing wrong */
}
END_TEST

/* The same met by a thread of the program, with nothing made ready ahead. */
START_TEST(who_takes_a_chunk_hears_of_a_full_disk)
{
	char dir[] = "/tmp/unit-XXXXXX";
	uint64_t at, end = SPOOL_HEADER + 3 * CHUNK_LARGE + CHUNK_MIDDLE;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, 8 << 20), 0);
	ck_assert_int_eq(truncate(spool_path, (off_t)end), 0);
	for (int i = 0; i < 3; i++) {
		at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1);
		ck_assert_uint_ne(at, 0);
		memset(chunk_at(at) + 1, 1, CHUNK_LARGE - sizeof(struct chunk));
	}
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert_uint_eq(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert_uint_eq(chunks_seen(), 3); /* and a walk does not leave what is there */
}
END_TEST

/* So that nobody reads it, as leak checkers do; and also once it was small for a
 * moment. */
START_TEST(what_nobody_uses_cannot_be_read)
{
	char dir[] = "/tmp/unit-XXXXXX";
	uint64_t cap = 8 << 20, at = 0;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_open(dir, cap), 0);
	ck_assert_int_eq(unlink(spool_path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert(sys_can_read(spool.base + SPOOL_HEADER - 8));
		ck_assert(!sys_can_read(spool.base + (1 << 20)));
		ck_assert(!sys_can_read(spool.base + cap - 8));
		ck_assert(spool_shrink(0));
		spool_regrow();
	}
	while (at < 5 << 20) {
		ck_assert_uint_ne(at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
		memset(chunk_at(at) + 1, 1, CHUNK_LARGE - sizeof(struct chunk));
		ck_assert(!sys_can_read(spool.base + cap - 8));
	}
	ck_assert_int_eq(spool_prepare(cap), 0);
	while (at < cap - CHUNK_LARGE) {
		ck_assert_uint_ne(at = chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
		memset(chunk_at(at) + 1, 1, CHUNK_LARGE - sizeof(struct chunk));
	}
	ck_assert(sys_can_read(spool.base + cap - 8));
}
END_TEST

START_TEST(a_spool_has_no_blocks_before_its_first_record)
{
	char dir[] = "/tmp/unit-XXXXXX";
	int before = first_free();

	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(spool_place(dir, 256 << 20), 0);
	ck_assert_uint_eq(on_disk(), 0);
	ck_assert_int_eq(first_free(), before);
	ck_assert_int_eq(spool_begin(), 0);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_SMALL, 1), 0);
	ck_assert_uint_le(on_disk(), SPOOL_HEADER + 4 * CHUNK_SMALL);
	ck_assert_int_eq(first_free(), before);
}
END_TEST

/* Who looks in between would miss the options for as long as the process lives. */
START_TEST(a_header_is_one_when_all_is_in_it)
{
	struct spool_view v;

	ck_assert_int_eq(spool_place(NULL, 4 << 20), 0);
	ck_assert_int_eq(spool_begin(), 0);
	ck_assert_uint_eq(spool.head->version, SPOOL_VERSION);
	ck_assert_int_ne(spool_view_init(&v, spool.base, spool.cap), 0);
	spool_show();
	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.cap), 0);
}
END_TEST

/* Whatever is closed: a program that writes to its standard output does not mean us. */
START_TEST(a_spool_is_no_standard_descriptor)
{
	char dir[] = "/tmp/unit-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(dir));
	close(0);
	close(1);
	ck_assert_int_eq(sys_open_high("/dev/null", O_RDONLY, 0) > 2, 1);
	ck_assert_int_eq(spool_place(dir, 4 << 20), 0);
	ck_assert_int_eq(spool_begin(), 0);
	ck_assert_int_eq(first_free(), 0);
}
END_TEST

static bool is_locked(const char *path)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(path, O_RDWR);

	ck_assert_int_eq(fcntl(fd, F_OFD_GETLK, &whole), 0);
	close(fd);
	return whole.l_type != F_UNLCK;
}

START_TEST(the_lock_goes_with_the_mapping)
{
	char path[sizeof(spool_path)];

	open_spool();
	strcpy(path, spool_path);
	ck_assert(is_locked(path));
	spool_forget();
	ck_assert(!is_locked(path));
}
END_TEST

/* A signal handler that forks may have come in the middle of a record. */
START_TEST(a_child_finds_zeros_where_its_parent_wrote)
{
	uint64_t used;
	uint8_t *base;

	open_spool();
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	base = spool.base;
	used = atomic_load(&spool.head->used);
	spool_leave();
	for (uint64_t at = 0; at < used; at++)
		ck_assert_uint_eq(base[at], 0);
	memset(base, 1, used);
}
END_TEST

/* A record of the parent's that ends in the child is not taken for one of its own. */
START_TEST(numbers_of_windows_go_on_in_a_child)
{
	open_spool();
	atomic_store(&spool.head->cycles, 7);
	spool_forget();
	open_spool();
	ck_assert_uint_eq(atomic_load(&spool.head->cycles), 7);
}
END_TEST

/* Linux before 5.14, and before 5.9. */
static void use_old_kernel(void)
{
	struct sock_filter rows[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 436 /* close_range */, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 23 /* MADV_POPULATE_WRITE */, 1, 2),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(rows) / sizeof(*rows), rows };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* The file has room for a beginning; our thread makes more by the file's name. */
START_TEST(an_old_kernel_reserves_before_it_writes)
{
	uint64_t first;

	use_old_kernel();
	open_spool();
	first = atomic_load(&spool.head->reserved);
	ck_assert_uint_eq(first, 1 << 20);
	ck_assert_uint_ge(on_disk(), first);
	while (chunk_take(CHUNK_DATA, CHUNK_LARGE, 1))
		;
	ck_assert_uint_le(atomic_load(&spool.head->used), first);
	ck_assert(spool_must_reserve(1 << 20));
	ck_assert_int_eq(spool_reserve(1 << 20), 0);
	ck_assert(!spool_must_reserve(1 << 20));
	ck_assert_uint_ge(on_disk(), 32 << 20);
	ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	/* Another file by that name is not ours. */
	ck_assert_int_eq(unlink(spool_path), 0);
	close(open(spool_path, O_RDWR | O_CREAT, 0600));
	ck_assert_int_eq(spool_reserve(64 << 20), -ESTALE);
}
END_TEST

/* "hg" among the flags of the mapping that has `at`. */
static bool is_large_at(const uint8_t *at)
{
	FILE *maps = fopen("/proc/self/smaps", "re");
	unsigned long from, to;
	bool in = false, large = false;
	char line[512];

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			in = (uintptr_t)at >= from && (uintptr_t)at < to;
		else if (in && !strncmp(line, "VmFlags:", 8))
			large = strstr(line, " hg") != NULL;
	fclose(maps);
	return large;
}

/* Most processes record little: they have small pages, and are spared a call. */
START_TEST(who_records_much_has_large_pages)
{
	if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK))
		return; /* a kernel without */
	open_spool();
	while (atomic_load(&spool.head->used) < (2 << 20) - 2 * CHUNK_LARGE)
		ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert(!is_large_at(spool.base + (2 << 20)));
	for (int i = 0; i < 4; i++)
		ck_assert_uint_ne(chunk_take(CHUNK_DATA, CHUNK_LARGE, 1), 0);
	ck_assert(is_large_at(spool.base + (2 << 20)));
	ck_assert(!is_large_at(spool.base));
	spool_forget(); /* a child's own spool begins small as well */
	open_spool();
	ck_assert(!is_large_at(spool.base + (2 << 20)));
	ck_assert_int_eq(spool_prepare(4 << 20), 0);
	ck_assert(is_large_at(spool.base + (2 << 20)));
}
END_TEST

static void *look_for_files(void *arg)
{
	*(int *)arg = sys_unshare_files();
	return fcntl(0, F_GETFD) < 0 && fcntl(7, F_GETFD) < 0 ? arg : NULL;
}

START_TEST(a_table_of_ones_own_is_empty)
{
	pthread_t thread;
	void *empty;
	int err;

	ck_assert_int_eq(dup2(0, 7), 7);
	if (_i)
		use_old_kernel();
	ck_assert_int_eq(pthread_create(&thread, NULL, look_for_files, &err), 0);
	ck_assert_int_eq(pthread_join(thread, &empty), 0);
	ck_assert_int_eq(err, 0);
	ck_assert_ptr_nonnull(empty);
	ck_assert_int_ge(fcntl(7, F_GETFD), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core reserve");

	tcase_add_test(tc, it_is_told_once_that_more_is_needed);
	tcase_add_test(tc, what_cannot_be_written_is_not_handed_out);
	tcase_add_test(tc, who_takes_a_chunk_hears_of_a_full_disk);
	tcase_add_test(tc, what_nobody_uses_cannot_be_read);
	tcase_add_test(tc, a_spool_has_no_blocks_before_its_first_record);
	tcase_add_test(tc, a_header_is_one_when_all_is_in_it);
	tcase_add_test(tc, a_spool_is_no_standard_descriptor);
	tcase_add_test(tc, the_lock_goes_with_the_mapping);
	tcase_add_test(tc, a_child_finds_zeros_where_its_parent_wrote);
	tcase_add_test(tc, numbers_of_windows_go_on_in_a_child);
	tcase_add_test(tc, an_old_kernel_reserves_before_it_writes);
	tcase_add_test(tc, who_records_much_has_large_pages);
	tcase_add_loop_test(tc, a_table_of_ones_own_is_empty, 0, 2);
	return unit_run(tc, "core reserve");
}
