/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copy - a spool that its process may still change, read into private memory.
 *
 * Nothing of the file is mapped: so it may shrink, a look does not fill its holes in a
 * tmpfs, and no number changes between its check and its use.  Header, descriptors, names
 * and stacks lie in the copy as long as it is open, the records of one window at a time;
 * everything at its own offset, so that `view` and `index` are what the writer works on
 * elsewhere.
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
	uint32_t left_out; /* windows beyond copy_most, not read */
	int fd;
};

/* How many windows of one spool are read; tests set fewer. */
extern uint32_t copy_most;

/* `fd` stays the caller's, and open. */
int copy_open(struct copy *c, int fd);
/* Reads names and call stacks: once, before the first window. */
int copy_texts(struct copy *c);
/* Reads or forgets the records of a window. */
int copy_window(struct copy *c, uint64_t cycle);
void copy_drop(struct copy *c, uint64_t cycle);
void copy_close(struct copy *c);

/* The windows' descriptors, one each call, in the order of the spool; *at begins with 0.
 * *state: offset of the descriptor's `state` in the file, for a caller that stores there.
 * NULL: no more. */
const struct cycle_info *copy_cycle(const struct copy *c, size_t *at, uint64_t *state);

/* Sums the counters of all threads: what they allocated and freed. False: none are
 * kept. */
bool copy_counters(int fd, uint64_t sum[SPOOL_COUNTERS]);

/* Gives back the room that a process, which is gone, had made ready ahead of its
 * records. */
void copy_trim(int fd);

/* Reads `size` bytes at `at`; -ENODATA where the file ends first. */
int copy_bytes(int fd, void *to, uint64_t at, uint64_t size);

#endif
