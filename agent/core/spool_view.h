/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_view - a spool as readers see it: a mapping that may be damaged or hostile.
 *
 * Threads  any.
 * Memory   the caller's mapping.
 * Errors   -EINVAL; NULL at the end.
 * Units    bytes.
 */
#ifndef CORE_SPOOL_VIEW_H
#define CORE_SPOOL_VIEW_H

#include "agent/core/chunk.h"

struct spool_view {
	const uint8_t *base;
	uint64_t size; /* bytes that may be read */
	const struct spool_header *head;
};

/* Checks the header. Returns 0 or -EINVAL. */
int spool_view_init(struct spool_view *v, const void *base, uint64_t size);
/* Next chunk at or after *at with a sound header, or NULL. Moves *at behind it. */
const struct chunk *spool_view_next(const struct spool_view *v, uint64_t *at);

#endif
