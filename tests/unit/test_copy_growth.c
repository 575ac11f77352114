/* SPDX-License-Identifier: Apache-2.0 */
/* A spool that grows while it is read: its process finishes a window just then. */
#include "agent/core/chunk.h"
#include "tests/unit/spool_recover.h"

#include <fcntl.h>
#include <sys/syscall.h>

static void (*at_second)(int fd); /* as the second descriptor is read, once */

/* In the place of libc's. */
ssize_t pread(int fd, void *to, size_t size, off_t at)
{
	static unsigned descriptors;

	if (at_second && size == sizeof(struct chunk) + sizeof(struct cycle_info) &&
	    descriptors++) {
		void (*now)(int fd) = at_second;

		at_second = NULL;
		now(fd);
	}
	return syscall(SYS_pread64, fd, to, size, at);
}

static struct spool_image *grown; /* what the file becomes */

static void grow_file(int fd)
{
	uint64_t used = grown->head->used;

	ck_assert_int_eq(pwrite(fd, grown->base, used, 0), (ssize_t)used);
}

static struct chunk *first_data(struct spool_image *m)
{
	uint8_t *at = m->base + SPOOL_HEADER;

	while (((struct chunk *)at)->kind != CHUNK_DATA)
		at += ((struct chunk *)at)->size;
	return (struct chunk *)at;
}

/* Its process finishes a window while we look: the state that we read says that it is
 * whole, so the chunk that it took last must be there, a new one (0) or one that was free
 * before (1). */
START_TEST(a_window_that_is_just_finished_is_whole)
{
	struct spool_image *m = image_two_windows();
	struct chunk *last = _i ? first_data(m) : m->data;
	uint64_t all = m->head->used, where = (uint64_t)((uint8_t *)last - m->base);
	struct copy c;
	int fd;

	if (_i)
		last->kind = CHUNK_FREE;
	else
		m->head->used = where;
	fd = image_file(m);
	strcpy(m->head->facts, "rank = 3\n"); /* found out in the window */
	last->kind = CHUNK_DATA;
	last->cycle = 2;
	m->head->used = all;
	grown = m;
	at_second = grow_file;
	ck_assert_int_eq(copy_open(&c, fd), 0);
	ck_assert_ptr_null(at_second);
	ck_assert_uint_eq(c.view.size, all);
	ck_assert_str_eq(c.view.head->facts, "rank = 3\n");
	ck_assert_int_eq(copy_window(&c, 2), 0);
	ck_assert_mem_eq(c.base + where, last, last->used);
	copy_close(&c);
	close(fd);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("copy, growth");

	tcase_add_loop_test(tc, a_window_that_is_just_finished_is_whole, 0, 2);
	return unit_run(tc, "copy, growth");
}
