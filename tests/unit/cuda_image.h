/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_image - the GPU part of a spool put together by hand.
 *
 * CUPTI's clock is ts 0 + n ns at tick n, but for `cuda_skew`.
 *
 * Threads  one.
 * Memory   the image's.
 * Errors   a failed Check assertion.
 * Units    ticks = ns, CUPTI's clock taken off.
 */
#ifndef TESTS_CUDA_IMAGE_H
#define TESTS_CUDA_IMAGE_H

#include "agent/core/chunk.h"
#include "agent/core/record_cuda.h"
#include "agent/core/record_gpu.h"
#include "tests/unit/spool_image.h"

static int64_t cuda_skew; /* ns that CUPTI's clock is ahead */
static struct chunk *cuda_chunk; /* the one that is being filled */

static inline uint64_t cuda_time(uint64_t ticks)
{
	return ticks ? (uint64_t)(IMAGE_BASE + (int64_t)ticks + cuda_skew) : 0;
}

static inline void *cuda_record(struct spool_image *m, enum record_kind kind, size_t size,
				const char *name, uint64_t begin, uint64_t end)
{
	uint32_t id = name ? image_name(m, name, strlen(name), "") : 0;
	struct record *r;

	if (!cuda_chunk || cuda_chunk->used + size > cuda_chunk->size)
		cuda_chunk = image_chunk_of(m, CHUNK_CUDA, CHUNK_LARGE);
	r = (struct record *)((uint8_t *)cuda_chunk + cuda_chunk->used);
	memset(r, 0, size);
	r->kind = kind;
	r->units = (uint16_t)(size / 8);
	r->name = id;
	r->begin = cuda_time(begin);
	r->end = cuda_time(end);
	cuda_chunk->used += (uint32_t)size;
	return r;
}

/* A window of thread 4242, and two moments that tie the clocks. */
static inline struct spool_image *cuda_image(uint64_t begin, uint64_t end, uint64_t error)
{
	struct spool_image *m = image_new(begin, end);
	uint64_t ticks[] = { begin, end };

	cuda_chunk = NULL;
	for (int i = 0; i < 2; i++) {
		struct rec_moment *moment =
			cuda_record(m, REC_MOMENT, sizeof(*moment), NULL, 0, ticks[i]);

		moment->r.begin = ticks[i];
		moment->error = error;
	}
	image_thread(m, 4242, 1, "python3");
	return m;
}

static inline struct rec_call *cuda_call(struct spool_image *m, const char *name,
					 uint32_t id, uint64_t begin, uint64_t end)
{
	struct rec_call *c = cuda_record(m, REC_CALL, sizeof(*c), name, begin, end);

	c->correlation = id;
	c->cbid = 211;
	c->tid = 4242;
	c->r.flags = CALL_LAUNCHES;
	return c;
}

static inline void cuda_where(struct rec_gpu *g, uint32_t id, uint32_t stream)
{
	g->correlation = id;
	g->context = 1 + g->device;
	g->stream = stream;
}

/* `behind`: bytes for what the flags say. */
static inline struct rec_kernel *cuda_kernel(struct spool_image *m, const char *name,
					     uint32_t id, uint32_t stream, uint64_t begin,
					     uint64_t end, size_t behind)
{
	struct rec_kernel *k =
		cuda_record(m, REC_KERNEL, sizeof(*k) + behind, name, begin, end);

	cuda_where(&k->g, id, stream);
	k->grid[0] = 66;
	k->grid[1] = k->grid[2] = k->block[1] = k->block[2] = 1;
	k->block[0] = 256;
	k->registers = 32;
	return k;
}

static inline struct rec_copy *cuda_copy(struct spool_image *m, uint32_t id,
					 uint32_t stream, uint64_t begin, uint64_t end,
					 size_t behind)
{
	struct rec_copy *c =
		cuda_record(m, REC_COPY, sizeof(*c) + behind, NULL, begin, end);

	cuda_where(&c->g, id, stream);
	c->bytes = 4096;
	c->kind = 1;
	c->from = 2;
	c->to = 3;
	return c;
}

static inline struct rec_set *cuda_set(struct spool_image *m, uint32_t id,
				       uint32_t stream, uint64_t begin, uint64_t end)
{
	struct rec_set *s = cuda_record(m, REC_SET, sizeof(*s), NULL, begin, end);

	cuda_where(&s->g, id, stream);
	s->bytes = 512;
	s->memory = 3;
	return s;
}

static inline struct rec_device *cuda_device(struct spool_image *m, uint32_t id,
					     const char *name)
{
	struct rec_device *d = cuda_record(m, REC_GPU, sizeof(*d), name, 0, 0);

	*d = (struct rec_device){ .r = d->r,
				  .memory = 85899345920,
				  .id = id,
				  .major = 9,
				  .sms = 132,
				  .threads_per_block = 1024,
				  .threads_per_sm = 2048,
				  .warp = 32,
				  .registers_per_block = 65536,
				  .registers_per_sm = 65536,
				  .shared_per_block = 49152,
				  .shared_per_sm = 233472,
				  .shared_optin = 232448,
				  .shared_reserved = 1024 };
	return d;
}

/* A member of the args of the n-th event of that name, up to its end; NULL: not there. */
static inline const char *cuda_arg(const struct spool_image *m, const char *name,
				   unsigned n, const char *key)
{
	static char text[4096];
	const char *line = image_event(m, name, n), *end, *at;
	char want[80];

	ck_assert_msg(line != NULL, "no event %s (%u)", name, n);
	end = strchr(line, '\n');
	fmt(want, sizeof(want), "\"%s\":", key);
	at = strstr(line, want);
	if (!at || at > end)
		return NULL;
	at += strlen(want);
	fmt(text, sizeof(text), "%.*s", (int)(strcspn(at, *at == '[' ? "]\n" : ",}\n")),
	    at);
	return text;
}

static inline long cuda_number(const struct spool_image *m, const char *name, unsigned n,
			       const char *key)
{
	const char *text = cuda_arg(m, name, n, key);

	return text ? atol(text) : -1;
}

static inline bool image_has(const struct spool_image *m, const char *text)
{
	return strstr(m->text, text) != NULL;
}

static inline unsigned image_times(const struct spool_image *m, const char *text)
{
	unsigned n = 0;

	for (const char *at = m->text; (at = strstr(at, text)); at++)
		n++;
	return n;
}

#endif
