/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps - /proc/self/maps, line by line.
 *
 * Threads  any, also in signal handlers and in unseen_run(): system calls alone.
 * Memory   the caller's.
 * Errors   a file that cannot be opened has no lines.
 * Units    bytes.
 */
#ifndef BASE_MAPS_H
#define BASE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_line {
	uintptr_t begin, end;
	uint64_t offset, inode;
	int prot; /* PROT_READ and so on */
	const char *path; /* in the caller's memory; empty where there is none */
};
typedef bool (*maps_fn)(const struct maps_line *l, void *arg);

/* Calls fn for each line, lowest address first, until it says true, which is then the
 * result. `line` has `size` bytes, and is fn's to write to; what does not fit is left out
 * of the line's end, where the path is. */
bool maps_lines(char *line, size_t size, maps_fn fn, void *arg);
/* The same, of a file that is open. */
bool maps_lines_of(int fd, char *line, size_t size, maps_fn fn, void *arg);

#endif
