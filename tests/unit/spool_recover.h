/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_recover - a spool put together by hand as a file that others read.
 *
 * Threads  one.
 * Memory   a memfd.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_SPOOL_RECOVER_H
#define TESTS_SPOOL_RECOVER_H

#include "tests/unit/spool_image.h"
#include "writer/copy.h"

#include <sys/mman.h>

/* An operator in each, of one thread. */
static inline struct spool_image *image_two_windows(void)
{
	struct spool_image *m = image_new(1000, 100000);
	struct cycle_info *info;
	struct chunk *c;

	image_thread(m, 7, 1, "main");
	image_op(m, "first", 2000, 3000);
	c = image_chunk_of(m, CHUNK_CYCLE, CHUNK_SMALL);
	c->cycle = 2;
	c->used = sizeof(*c) + sizeof(*info);
	info = (struct cycle_info *)(c + 1);
	*info = *m->info;
	info->number = 2;
	info->begin = 100000;
	info->end = 200000;
	info->stamp_ns++;
	image_chunk(m);
	m->data->cycle = 2;
	image_thread(m, 7, 1, "main");
	image_op(m, "second", 120000, 130000);
	config_print(&m->config, m->head->config, sizeof(m->head->config));
	return m;
}

/* As a file that has holes where the spool has. */
static inline int image_file(const struct spool_image *m)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, IMAGE_SIZE), 0);
	ck_assert_int_eq(pwrite(fd, m->base, m->head->used, 0), (ssize_t)m->head->used);
	return fd;
}

/* What another process makes of it: like the finisher, or recover. */
static inline int image_recover(const struct spool_image *m,
				const struct writer_plan *plan)
{
	struct copy c;
	int fd = image_file(m), err = copy_open(&c, fd);

	if (!err) {
		err = writer_recover(&c, plan);
		copy_close(&c);
	}
	close(fd);
	return err;
}

#endif
