/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy - a spool that its process may still change, read into private memory.
 *
 * Nothing of the file is mapped: it may shrink, its holes in a tmpfs are not filled by a
 * look at them, and no number in it changes between its check and its use.  Header,
 * descriptors, names and stacks lie in the copy as long as it is open, the records of one
 * window at a time; everything at its own offset, so that `view` and `index` are what the
 * writer works on elsewhere.
 *
 * Threads  one at a time.
 * Memory   address space for all of the spool; pages for what was read.
 * Errors   0 or -errno.  -ENODATA: a spool without a header, nothing was recorded.
 *          -EINVAL: no spool, or another version's.
 * Units    bytes.
 */
#ifndef WRITER_COPY_H
#define WRITER_COPY_H

#include "agent/core/spool_view.h"
#include "writer/read.h"

struct copy_chunk {
	uint64_t offset, cycle;
	uint32_t size, kind; /* as they were when the copy was opened */
};

struct copy {
	struct spool_view view;
	struct read_index index;
	struct pile chunks; /* struct copy_chunk, by offset */
	uint8_t *base;
	uint64_t mapped;
	uint32_t cycles; /* descriptors that were read */
	uint32_t left_out; /* windows: more than copy_most */
	int fd;
};

/* Windows of one spool that are read at once; less in tests. */
extern uint32_t copy_most;

/* `fd` stays the caller's, and open. */
int copy_open(struct copy *c, int fd);
/* Reads names and call stacks: once, before the first window. */
int copy_texts(struct copy *c);
/* Reads or forgets the records of a window. */
int copy_window(struct copy *c, uint64_t cycle);
void copy_drop(struct copy *c, uint64_t cycle);
void copy_close(struct copy *c);

/* The windows' descriptors, by number; *at begins with 0. `offset` of `state` in the
 * file, for who has to say something there. NULL: no more. */
const struct cycle_info *copy_cycle(const struct copy *c, size_t *at, uint64_t *state);

/* What threads have allocated and freed, all together; false: it is not kept. */
bool copy_counters(int fd, uint64_t sum[SPOOL_COUNTERS]);

/* Of a process that is gone: gives back what it had made ready ahead of its records. */
void copy_trim(int fd);

/* Reads as much as there is. */
int copy_bytes(int fd, void *to, uint64_t at, uint64_t size);

#endif
