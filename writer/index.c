/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/read.h"

#include <errno.h>

struct place {
	uint64_t cycle, offset;
};

/* Found in the order of their offsets; cycles come nearly in order, too, but freed
 * chunks are used again: shell sort is quick on what is nearly sorted. */
static bool before(const struct place *a, const struct place *b)
{
	return a->cycle != b->cycle ? a->cycle < b->cycle : a->offset < b->offset;
}

static void sort(struct place *p, size_t n)
{
	for (size_t gap = n / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11) {
		for (size_t i = gap; i < n; i++) {
			struct place moved = p[i];
			size_t at = i;

			for (; at >= gap && before(&moved, &p[at - gap]); at -= gap)
				p[at] = p[at - gap];
			p[at] = moved;
		}
	}
}

int read_index(struct read_index *ix, const struct spool_view *v)
{
	const struct chunk *c;
	uint64_t at = 0;

	*ix = (struct read_index){ 0 };
	while ((c = spool_view_next(v, &at))) {
		uint32_t kind = atomic_load(&((struct chunk *)c)->kind);
		struct place *p;

		if (kind != CHUNK_DATA && kind != CHUNK_CUDA)
			continue;
		p = pile_push(&ix->chunks, sizeof(*p));
		if (!p) {
			read_index_free(ix);
			return -ENOMEM;
		}
		*p = (struct place){ c->cycle, (uint64_t)((const uint8_t *)c - v->base) };
	}
	sort(ix->chunks.mem, ix->chunks.n);
	return 0;
}

void read_index_free(struct read_index *ix)
{
	pile_free(&ix->chunks);
}

int read_chunks(const struct read_index *ix, uint64_t cycle,
		int (*fn)(uint64_t offset, void *arg), void *arg)
{
	const struct place *p = ix->chunks.mem;
	size_t lo = 0, hi = ix->chunks.n;
	int err = 0;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (p[mid].cycle < cycle)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; !err && lo < ix->chunks.n && p[lo].cycle == cycle; lo++)
		err = fn(p[lo].offset, arg);
	return err;
}
