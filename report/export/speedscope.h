/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope - a file for https://www.speedscope.app: a "sampled" profile for each trace,
 * and one list of frames.
 *
 * Threads  one at a time.
 * Memory   16 bytes a stack and profile; speedscope_free.
 * Errors   false: not enough memory. `out` has its own.
 * Units    nanoseconds, written as microseconds; or bytes.
 */
#ifndef REPORT_EXPORT_SPEEDSCOPE_H
#define REPORT_EXPORT_SPEEDSCOPE_H

#include "report/export/fold.h"

#include <stdio.h>

struct speedscope {
	struct speedscope_profile {
		char *name;
		size_t from, to; /* samples */
	} * profiles;
	struct sample {
		int64_t weight;
		uint32_t node;
	} * samples;
	size_t profiles_n, profiles_room, samples_n, samples_room;
};

/* Moves all weights of the fold into a new profile. */
bool speedscope_take(struct speedscope *s, struct fold *f, const char *name);
void speedscope_write(const struct speedscope *s, const struct fold *f, bool bytes,
		      FILE *out);
void speedscope_free(struct speedscope *s);

#endif
