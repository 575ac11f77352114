/* SPDX-License-Identifier: Apache-2.0 */
/*
 * track - one counter track, thinned where it is too dense to be drawn.
 *
 * Threads  one at a time.
 * Memory   96 KiB a track from its first point on; heap_track_free gives it back.
 * Errors   0 or -ENOMEM.
 * Units    ns since the epoch; values as the track's name says.
 */
#ifndef WRITER_HEAP_TRACK_H
#define WRITER_HEAP_TRACK_H

#include <stddef.h>
#include <stdint.h>

struct trace;

#define HEAP_POINTS 4096

struct heap_point {
	int64_t ns;
	int64_t value[2];
};

struct heap_track {
	struct heap_point *point; /* NULL = empty */
	size_t n;
	unsigned shift; /* intervals of 2^shift ns keep their maxima and last value */
};

/* Adds a point; points come in order of time. `begin`: the window's, where the intervals
 * begin. A point with the same values as the last one is left out. */
int heap_track_add(struct heap_track *k, int64_t begin, struct heap_point p);
/* Writes counter events ("ph":"C"); `series` names each value, NULL: there is no
 * second. */
void heap_track_write(struct trace *t, const struct heap_track *k, const char *name,
		      const char *const series[2]);
void heap_track_free(struct heap_track *k);

#endif
