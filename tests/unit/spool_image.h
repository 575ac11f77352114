/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_image - a spool put together by hand, and the trace that comes of it.
 *
 * Its clock is the simplest there is: tick n is n ns after ts 0.
 *
 * Threads  one.
 * Memory   a calloc'ed image; files in a fresh directory under $TMPDIR.
 * Errors   a failed Check assertion.
 * Units    ticks = ns; offsets in bytes.
 */
#ifndef TESTS_SPOOL_IMAGE_H
#define TESTS_SPOOL_IMAGE_H

#include "agent/core/clock.h"
#include "agent/core/names.h"
#include "agent/core/record_heap.h"
#include "agent/core/spool_view.h"
#include "agent/core/stacks.h"
#include "base/fmt.h"
#include "tests/unit/unit.h"
#include "writer/trace.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef IMAGE_SIZE
#define IMAGE_SIZE (64u << 20)
#endif
#define IMAGE_BASE  1700000000000000000ll
#define IMAGE_STAMP 1700000000123456789ll

struct spool_image {
	uint8_t *base;
	struct spool_header *head;
	struct cycle_info *info;
	struct chunk *data, *names, *stacks; /* the ones that are being filled */
	struct name *last; /* stored */
	struct rec_thread thread; /* said last */
	struct config config;
	struct writer_result result;
	char dir[128];
	char *text; /* the trace, once written */
	size_t len;
};

static inline struct chunk *image_chunk_of(struct spool_image *m, enum chunk_kind kind,
					   uint32_t size)
{
	uint64_t at = m->head->used;
	struct chunk *c = (struct chunk *)(m->base + at);

	ck_assert_uint_le(at + size, IMAGE_SIZE);
	m->head->used = at + size;
	c->magic = CHUNK_MAGIC;
	c->size = size;
	c->kind = kind;
	c->used = sizeof(*c);
	c->cycle = 1;
	return c;
}

/* Records go into a new chunk from here on. */
static inline void image_chunk(struct spool_image *m)
{
	m->data = image_chunk_of(m, CHUNK_DATA, CHUNK_LARGE);
}

static inline struct spool_image *image_new(uint64_t begin, uint64_t end)
{
	struct spool_image *m = calloc(1, sizeof(*m));
	struct chunk *c;

	m->base = aligned_alloc(4096, IMAGE_SIZE);
	memset(m->base, 0, IMAGE_SIZE);
	m->head = (struct spool_header *)m->base;
	memcpy(m->head->magic, SPOOL_MAGIC, 8);
	m->head->version = SPOOL_VERSION;
	m->head->header_size = SPOOL_HEADER;
	m->head->used = SPOOL_HEADER;
	m->head->cap = IMAGE_SIZE;
	m->head->pid = 4242;
	m->head->base_ns = IMAGE_BASE;
	m->head->clock_kind = CLOCK_NS;
	m->head->clocks = 1;
	m->head->clock[0].real_ns = m->head->clock[0].line_ns = IMAGE_BASE;
	m->head->clock[0].per_tick = 1;
	strcpy(m->head->host, "node1");
	strcpy(m->head->exe, "python3");
	strcpy(m->head->build, "0.1.0");
	c = image_chunk_of(m, CHUNK_CYCLE, CHUNK_SMALL);
	c->used = sizeof(*c) + sizeof(*m->info);
	m->info = (struct cycle_info *)(c + 1);
	m->info->number = 1;
	m->info->state = CYCLE_SEALED;
	m->info->begin = begin;
	m->info->end = end;
	m->info->stamp_ns = IMAGE_STAMP;
	m->names = image_chunk_of(m, CHUNK_NAMES, CHUNK_LARGE);
	image_chunk(m);
	config_defaults(&m->config);
	fmt(m->dir, sizeof(m->dir), "%s/image-XXXXXX",
	    getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(m->dir));
	fmt(m->config.logdir, sizeof(m->config.logdir), "%s/log", m->dir);
	return m;
}

static inline void image_free(struct spool_image *m)
{
	char command[256];

	fmt(command, sizeof(command), "rm -rf '%s'", m->dir);
	ck_assert_int_eq(system(command), 0);
	free(m->base);
	free(m->text);
	free(m);
}

static inline uint32_t image_name(struct spool_image *m, const char *text, size_t len,
				  const char *extra)
{
	size_t extra_len = strlen(extra),
	       size = (sizeof(struct name) + len + extra_len + 9) & ~7ul;
	struct name *n = m->last;

	/* The same text again has the same id. */
	if (n && n->len == len && n->extra_len == extra_len &&
	    !memcmp(n->text, text, len) && !memcmp(n->text + len + 1, extra, extra_len))
		return (uint32_t)(((uint8_t *)n - m->base) / 8);
	n = m->last = (struct name *)((uint8_t *)m->names + m->names->used);
	ck_assert_uint_le(m->names->used + size, m->names->size);
	n->len = (uint16_t)len;
	n->extra_len = (uint16_t)extra_len;
	memcpy(n->text, text, len);
	memcpy(n->text + len + 1, extra, extra_len);
	m->names->used += (uint32_t)size;
	return (uint32_t)(((uint8_t *)n - m->base) / 8);
}

/* The next record, committed. */
static inline void *image_record(struct spool_image *m, enum record_kind kind,
				 size_t size, uint32_t name, uint64_t begin, uint64_t end)
{
	struct record *r;

	/* As the agent does: each chunk begins with whose it is. */
	if (m->data->used + size > m->data->size) {
		image_chunk(m);
		r = (struct record *)((uint8_t *)m->data + m->data->used);
		memcpy(r, &m->thread, sizeof(m->thread));
		m->data->used += sizeof(m->thread);
	}
	r = (struct record *)((uint8_t *)m->data + m->data->used);
	memset(r, 0, size);
	r->kind = kind;
	r->units = (uint16_t)(size / 8);
	r->name = name;
	r->begin = begin;
	r->end = end;
	m->data->used += (uint32_t)size;
	return r;
}

static inline void image_thread(struct spool_image *m, uint32_t tid, uint32_t ordinal,
				const char *comm)
{
	struct rec_thread *t =
		image_record(m, REC_THREAD, sizeof(*t), 0, m->info->begin, 0);

	t->tid = tid;
	t->ordinal = ordinal;
	memcpy(t->comm, comm, strnlen(comm, sizeof(t->comm)));
	m->thread = *t;
}

static inline struct rec_op *image_op(struct spool_image *m, const char *name,
				      uint64_t begin, uint64_t end)
{
	struct rec_op *op =
		image_record(m, REC_OP, sizeof(*op),
			     image_name(m, name, strlen(name), ""), begin, end);

	op->seq = -1;
	return op;
}

static inline struct rec_step *image_step(struct spool_image *m, int64_t number,
					  uint64_t begin, uint64_t end)
{
	struct rec_step *s = image_record(m, REC_STEP, sizeof(*s), 0, begin, end);

	s->number = number;
	return s;
}

/* ---- the heap ---- */

static inline struct rec_alloc *image_alloc(struct spool_image *m, enum heap_call call,
					    uint32_t stack, uint64_t address,
					    uint64_t bytes, uint64_t ticks)
{
	struct rec_alloc *a =
		image_record(m, REC_ALLOC, sizeof(*a), stack, ticks, address);

	a->r.flags = (uint8_t)call;
	a->bytes = bytes;
	return a;
}

static inline struct record *image_release(struct spool_image *m, uint64_t address,
					   uint64_t ticks)
{
	struct record *r = image_record(m, REC_FREE, sizeof(*r), 0, ticks, address);

	r->flags = HEAP_FREE;
	return r;
}

static inline struct rec_heap *image_counters(struct spool_image *m, uint64_t ticks,
					      uint64_t rss)
{
	struct rec_heap *h = image_record(m, REC_HEAP, sizeof(*h), 0, ticks, 0);

	h->r.flags = HEAP_HAS_RSS;
	h->rss = rss;
	return h;
}

static inline void *image_stacks_room(struct spool_image *m, size_t size)
{
	void *at;

	if (!m->stacks || m->stacks->used + size > m->stacks->size)
		m->stacks = image_chunk_of(m, CHUNK_STACKS, CHUNK_LARGE);
	at = (uint8_t *)m->stacks + m->stacks->used;
	m->stacks->used += (uint32_t)((size + 7) & ~7ul);
	return at;
}

static inline uint32_t image_module(struct spool_image *m, const char *path)
{
	size_t len = strlen(path);
	struct stack_module *to = image_stacks_room(m, sizeof(*to) + len + 1);

	memset(to->build_id, 0xab, sizeof(to->build_id));
	to->build_id_len = sizeof(to->build_id);
	to->bias = 0x7f0000000000;
	to->path_len = (uint16_t)len;
	memcpy(to->path, path, len);
	return (uint32_t)(((uint8_t *)to - m->base) / 8);
}

/* Frames at offset, offset + 16, ... of one module. */
static inline uint32_t image_call_stack(struct spool_image *m, uint32_t module,
					uint64_t offset, unsigned depth)
{
	uint32_t id = 0;

	for (unsigned i = depth; i--;) {
		struct stack *to = image_stacks_room(m, sizeof(*to));

		to->depth = (uint16_t)(depth - i);
		to->caller = id;
		to->frame =
			stacks_pack((struct stack_frame){ module, offset + 16ul * i });
		id = (uint32_t)(((uint8_t *)to - m->base) / 8);
	}
	return id;
}

/* ---- the file ---- */

static inline void spool_image_read(struct spool_image *m, const char *path)
{
	FILE *f = fopen(path, "rb");
	long len;

	ck_assert_msg(f != NULL, "no file %s", path);
	fseek(f, 0, SEEK_END);
	len = ftell(f);
	rewind(f);
	free(m->text);
	m->text = calloc(1, (size_t)len + 1);
	m->len = fread(m->text, 1, (size_t)len, f);
	fclose(f);
}

/* A cycle as the only one of its spool. */
static inline int writer_cycle(const struct spool_view *v, const struct cycle_info *info,
			       const struct config *config, struct writer_result *result)
{
	struct read_index ix;
	int err = index_make(&ix, v);

	if (err)
		return err;
	err = write_trace(v, &ix, info, config, NULL, result);
	index_free(&ix);
	return err;
}

/* Writes the cycle, reads the file back; its JSON must be good. */
static inline void image_write(struct spool_image *m)
{
	struct spool_view v;

	/* Written again it has the same id, and its first file would be taken for it. */
	if (m->result.path[0])
		unlink(m->result.path);
	ck_assert_int_eq(spool_view_init(&v, m->base, IMAGE_SIZE), 0);
	ck_assert_int_eq(writer_cycle(&v, m->info, &m->config, &m->result), 0);
	if (!m->result.path[0])
		return;
	spool_image_read(m, m->result.path);
	ck_assert_uint_eq(m->len, m->result.bytes);
	if (m->config.format == FORMAT_JSON)
		ck_assert(json_valid(m->text, m->len));
}

/* Finds the n-th (from 0) event of that name; its line's begin, or NULL. */
static inline const char *image_event(const struct spool_image *m, const char *name,
				      unsigned n)
{
	char want[256];
	const char *at = strstr(m->text, "\"traceEvents\": [");

	fmt(want, sizeof(want), "\"name\":\"%s\"", name);
	do
		at = at ? strstr(at + 1, want) : NULL;
	while (n--);
	while (at && at[-1] != '\n')
		at--;
	return at;
}

struct slice {
	unsigned tid;
	uint64_t begin, end; /* ns */
	bool cut; /* "finished": "false" */
};

static inline uint64_t image_ns(const char *text)
{
	unsigned long us;
	unsigned ns;

	ck_assert_int_eq(sscanf(text, "%lu.%3u", &us, &ns), 2);
	return us * 1000 + ns;
}

/* The slice whose line begins at `line`. */
static inline struct slice image_slice(const char *line)
{
	const char *end = strchr(line, '\n'),
		   *cut = strstr(line, "\"finished\":\"false\"");
	const char *ts = strstr(line, "\"ts\":"), *dur = strstr(line, "\"dur\":");
	struct slice s = { 0 };

	ck_assert(ts && dur && dur < end);
	ck_assert_int_eq(sscanf(strstr(line, "\"tid\":") + 6, "%u", &s.tid), 1);
	s.begin = image_ns(ts + 5);
	s.end = s.begin + image_ns(dur + 6);
	s.cut = cut && cut < end;
	return s;
}

static inline struct slice image_find(const struct spool_image *m, const char *name,
				      unsigned n)
{
	const char *line = image_event(m, name, n);

	ck_assert_msg(line != NULL, "no event %s (%u)", name, n);
	return image_slice(line);
}

/* The trace is that of tests/golden; GOLDEN_UPDATE=1 makes it so. */
static inline void image_golden(struct spool_image *m, const char *name)
{
	char path[256], *mine = m->text, *dir;

	m->text = NULL;
	fmt(path, sizeof(path), "tests/golden/%s", name);
	/* The directory is a fresh one each time. */
	dir = strstr(mine, m->dir);
	ck_assert_ptr_nonnull(dir);
	memmove(dir, dir + strlen(m->dir), strlen(dir + strlen(m->dir)) + 1);
	if (getenv("GOLDEN_UPDATE")) {
		FILE *f = fopen(path, "wb");

		fputs(mine, f);
		fclose(f);
	}
	spool_image_read(m, path);
	ck_assert_msg(!strcmp(mine, m->text), "not %s (GOLDEN_UPDATE=1)", path);
	free(mine);
}

#endif
