/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns - the slices of a timeline, as bytes that a page unpacks.
 *
 * A track is a thread's operators, its functions of Python, or a stream of a GPU; steps
 * are a track that the page makes itself. Slices of a lane do not overlap: what is inside
 * another lies a lane below it, and what reaches into the one before begins when that
 * ends. Of each lane come first all begins, as distances, then all lengths, then all
 * names, as numbers of `names`.
 *
 * Threads  one at a time.
 * Memory   about 3 bytes a slice, and 10 while they are made; columns_free.
 * Errors   false: not enough memory.
 * Units    tenths of a microsecond since the model's begin.
 */
#ifndef REPORT_PAGE_COLUMNS_H
#define REPORT_PAGE_COLUMNS_H

#include "report/page/excerpt.h"

#define COLUMNS_LANES 64u /* of a track: what lies deeper is in the last one */

enum columns_kind { COLUMNS_DEVICE, COLUMNS_HOST, COLUMNS_PYTHON, COLUMNS_STEPS };

struct columns_track {
	enum columns_kind kind;
	uint32_t thread; /* of the model */
	uint32_t lane[COLUMNS_LANES]; /* how many slices each has */
	unsigned lanes;
};

struct columns {
	unsigned char *bytes;
	size_t n, room;
	struct columns_track *tracks;
	size_t tracks_n, tracks_room;
	uint32_t *names; /* texts of the model */
	size_t names_n, names_room;
	uint64_t slices, all; /* that are here; that the trace has, without the steps */
};

bool columns_make(struct columns *c, const struct subject *s,
		  const struct excerpt *excerpt);
void columns_free(struct columns *c);

#endif
