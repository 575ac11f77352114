/* SPDX-License-Identifier: Apache-2.0 */
/* memory - "device" and pinned memory: the host's, with a list of what is ours. */
#include "tests/fake/driver_internal.h"

struct block {
	struct block *next;
	char *at;
	size_t size;
	int kind;
	bool pool;
};

static struct block *blocks;
static size_t used;

int memory_allocate(void **out, size_t size, int kind, struct fake_stream *stream)
{
	struct block *b = calloc(1, sizeof(*b));
	struct fake_block said = { .pool = stream != NULL,
				   .memory = (uint8_t)kind,
				   .bytes = size,
				   .context = device_current(true),
				   .stream = stream };

	if (!out) {
		free(b);
		return cudaErrorInvalidValue;
	}
	b->size = size;
	b->kind = kind;
	b->pool = stream != NULL;
	b->at = aligned_alloc(512, (size + 511 + !size) & ~(size_t)511);
	if (!b->at) {
		free(b);
		return 2; /* out of memory */
	}
	*out = b->at;
	gpu_lock();
	b->next = blocks;
	blocks = b;
	used += size;
	gpu_unlock();
	said.address = b->at;
	observer->block(&said);
	return 0;
}

int memory_release(void *at, struct fake_stream *stream)
{
	struct block **link, *b;
	struct fake_block said = { .release = true,
				   .address = at,
				   .context = device_current(true),
				   .stream = stream };

	if (!at)
		return 0;
	gpu_lock();
	for (link = &blocks; *link && (*link)->at != at; link = &(*link)->next)
		;
	b = *link;
	if (b) {
		*link = b->next;
		used -= b->size;
	}
	gpu_unlock();
	if (!b)
		return cudaErrorInvalidValue;
	said.bytes = b->size;
	said.memory = (uint8_t)b->kind;
	said.pool = b->pool;
	free(b->at);
	free(b);
	observer->block(&said);
	return 0;
}

int memory_kind(const void *at)
{
	const char *p = at;
	int kind = 1; /* pageable */

	gpu_lock();
	for (struct block *b = blocks; b; b = b->next)
		if (p >= b->at && p < b->at + b->size + !b->size) {
			kind = b->kind;
			break;
		}
	gpu_unlock();
	return kind;
}

size_t memory_used(void)
{
	return used;
}
