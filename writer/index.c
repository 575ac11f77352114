/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunks belong to which window: all chunks of a spool by window, then by
 * offset. */
#include "agent/core/spool_view.h"
#include "base/search.h"
#include "writer/read.h"
#include "writer/sort.h"

struct place {
	uint64_t cycle, offset;
};

static bool place_before(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return a->cycle != b->cycle ? a->cycle < b->cycle : a->offset < b->offset;
}

int index_add(struct read_index *ix, uint64_t cycle, uint64_t offset)
{
	return pile_add(&ix->chunks, &(struct place){ cycle, offset },
			sizeof(struct place));
}

int index_sort(struct read_index *ix)
{
	return sort_merge(ix->chunks.mem, ix->chunks.n, sizeof(struct place),
			  place_before);
}

int index_make(struct read_index *ix, const struct spool_view *v)
{
	const struct chunk *c;
	uint64_t at = 0;
	int err = 0;

	*ix = (struct read_index){ 0 };
	while (!err && (c = spool_view_next(v, &at))) {
		uint32_t kind = atomic_load(&((struct chunk *)c)->kind);

		if (kind == CHUNK_DATA || kind == CHUNK_CUDA)
			err = index_add(ix, c->cycle,
					(uint64_t)((const uint8_t *)c - v->base));
	}
	if (!err)
		err = index_sort(ix);
	if (err)
		index_free(ix);
	return err;
}

void index_free(struct read_index *ix)
{
	pile_free(&ix->chunks);
}

int index_chunks(const struct read_index *ix, uint64_t cycle,
		 int (*fn)(uint64_t offset, void *arg), void *arg)
{
	const struct place *p = ix->chunks.mem;
	size_t at = SEARCH_FIRST(i, 0, ix->chunks.n, p[i].cycle >= cycle);
	int err = 0;

	for (; !err && at < ix->chunks.n && p[at].cycle == cycle; at++)
		err = fn(p[at].offset, arg);
	return err;
}
