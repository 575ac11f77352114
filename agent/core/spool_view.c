/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/spool_view.h"

#include <errno.h>
#include <string.h>

int spool_view_init(struct spool_view *v, const void *base, uint64_t size)
{
	const struct spool_header *h = base;

	if (size < SPOOL_HEADER || memcmp(h->magic, SPOOL_MAGIC, 8) ||
	    h->version != SPOOL_VERSION || h->header_size != SPOOL_HEADER)
		return -EINVAL;
	v->base = base;
	v->head = h;
	v->size = size;
	return 0;
}

/* The owner may be writing to the chunk: of what is checked `used` alone may change. */
static bool is_sound_chunk(const struct chunk *c, uint64_t room)
{
	if (c->magic != CHUNK_MAGIC || c->size > room || c->size % CHUNK_SMALL ||
	    c->size < CHUNK_SMALL)
		return false;
	if (c->size > CHUNK_LARGE)
		return false;
	return atomic_load_explicit(&((struct chunk *)c)->used, memory_order_relaxed) <=
	       c->size;
}

const struct chunk *spool_view_next(const struct spool_view *v, uint64_t *at)
{
	uint64_t end = atomic_load(&((struct spool_header *)v->head)->used);

	if (end > v->size)
		end = v->size;
	if (*at < SPOOL_HEADER)
		*at = SPOOL_HEADER;
	/* An owner that died between taking space and writing the header leaves a
	 * hole: look for the next header, chunk sizes are multiples of the smallest. */
	while (*at <= end && end - *at >= CHUNK_SMALL) {
		const struct chunk *c = (const struct chunk *)(v->base + *at);

		if (is_sound_chunk(c, end - *at)) {
			*at += c->size;
			return c;
		}
		*at += CHUNK_SMALL;
	}
	return NULL;
}
