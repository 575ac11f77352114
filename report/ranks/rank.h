/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank - one process of a distributed program: its steps, and its collectives.
 *
 * Collectives are kernels of NCCL where the file has some, else the operations of NCCL
 * and gloo on the host, by the list of the plugin.
 *
 * Threads  one at a time.
 * Memory   88 bytes a step, 56 a collective, 16 a time in which it computed; rank_free.
 * Errors   false, with a line in `why` or out of memory.
 * Units    nanoseconds since 1970, by the rank's own clock; bytes.
 */
#ifndef REPORT_RANKS_RANK_H
#define REPORT_RANKS_RANK_H

#include "report/figures/overlap.h"

struct collective {
	int64_t begin, end;
	int64_t bytes; /* of its first input; -1 = not known */
	int64_t transfer; /* of its length: behind the last rank's coming */
	int64_t step; /* row of the rank's steps; -1 = outside */
	uint32_t name; /* a text of the ranks */
	uint32_t group; /* likewise: of processes; TEXT_NONE = not said */
	bool joined; /* with those of other ranks */
};

struct rank_step {
	int64_t number, begin, end;
	struct overlap_step time; /* as the plugin has them */
	int64_t waiting; /* in collectives, for other ranks */
	int64_t transfer; /* in collectives, all ranks being there */
	int64_t compute; /* what is judged: on the host without what ran while waiting */
	int64_t late; /* how long all others waited for this rank alone */
};

struct rank {
	int64_t number; /* -1 = the file does not say */
	const char *path; /* the caller's */
	struct rank_step *steps;
	struct collective *collectives; /* by begin */
	struct spans computation;
	size_t steps_n, collectives_n, collectives_room;
	bool kernels; /* it computes in kernels */
	struct damage damage; /* of its file */
	char stage[HEAD_STAGE]; /* of the run; "" = none */
	uint32_t host; /* a text of the ranks; TEXT_NONE = not said */
	bool parts; /* it is in a group of some of the ranks */
	int64_t offset; /* of its clock to that of the first rank, as it was corrected */
};

/* `names`: where texts of collectives go. */
bool rank_take(struct rank *r, const struct model *m, const struct steps *s,
	       struct texts *names);
bool rank_read(struct rank *r, const char *path, struct texts *names, char *why,
	       size_t size);
void rank_free(struct rank *r);

#endif
