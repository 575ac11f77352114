/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks for GPU records: they belong to a window, and not to the thread that writes
 * them. */
#include "agent/core/gpu_chunk.h"
#include "agent/core/thread.h"

/* The size grows with the chunks that the side has had: a window with little GPU work
 * holds little of the spool. */
static bool take_side_chunk(struct side *s, uint32_t size)
{
	uint32_t want = s->chunks == 0  ? CHUNK_SMALL
			: s->chunks < 4 ? CHUNK_MIDDLE
					: CHUNK_LARGE;
	uint64_t at;

	while (want < size + sizeof(struct chunk) && want < CHUNK_LARGE)
		want *= 4;
	if (want < size + sizeof(struct chunk))
		return false;
	/* The writer makes memory ready when it is asked; where nothing but the GPU is
	 * recorded no other thread asks. */
	if (thread_wants)
		thread_wants();
	at = chunk_take(CHUNK_CUDA, want, s->info->number);
	if (!at)
		return false;
	s->chunk = chunk_at(at);
	s->at = (uint8_t *)s->chunk +
		atomic_load_explicit(&s->chunk->used, memory_order_relaxed);
	s->limit = (uint8_t *)s->chunk + s->chunk->size;
	s->chunks++;
	return true;
}

void *gpu_chunk_refill(struct side *s, enum record_kind kind, uint32_t size)
{
	if (!take_side_chunk(s, size)) {
		atomic_fetch_add_explicit(&s->info->drops[kind], 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&s->info->whys[chunk_lacks(kind)], 1,
					  memory_order_relaxed);
		return NULL;
	}
	return s->at;
}

void gpu_chunk_count(struct side *s, enum cuda_count what, uint64_t n)
{
	atomic_fetch_add_explicit(&s->info->cuda[what], n, memory_order_relaxed);
}
