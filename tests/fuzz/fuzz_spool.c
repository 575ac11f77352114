/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile spool: what a killed program left, with some bytes changed, is finished as
 * `recover` does it. Whatever comes of it must be valid JSON.
 *
 * fuzz_spool SECONDS SEED SPOOL...; a spool's configuration is left alone, for it says
 * where files go.
 */
#include "agent/core/clock.h"
#include "agent/core/codes.h"
#include "agent/core/names.h"
#include "agent/core/record_cuda.h"
#include "agent/core/record_function.h"
#include "agent/core/record_gpu.h"
#include "agent/core/record_heap.h"
#include "agent/core/record_inputs.h"
#include "agent/core/record_module.h"
#include "agent/core/record_python.h"
#include "agent/core/record_stack.h"
#include "agent/core/spool_view.h"
#include "agent/core/stacks.h"
#include "finisher/totals.h"
#include "tests/fuzz/fuzz.h"
#include "writer/copy.h"
#include "writer/json.h"
#include "writer/writer.h"

#include <sys/mman.h>
#include <unistd.h>

static uint64_t files;
static const struct spool_header *header; /* of the spool that is finished */
static struct totals totals; /* what the launcher would tell of them all */

static void check_totals(void)
{
	const uint64_t *first = &totals.files, *last = &totals.marker_hits;

	for (; first <= last; first++)
		fuzz_require(*first <= TOTALS_MOST);
	fuzz_require(memchr(totals.chosen, 0, sizeof(totals.chosen)));
	fuzz_require(memchr(totals.last_file, 0, sizeof(totals.last_file)));
}

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *text;

	fuzz_require(f);
	fseek(f, 0, SEEK_END);
	*len = (size_t)ftell(f);
	rewind(f);
	text = malloc(*len + 1);
	fuzz_require(fread(text, 1, *len, f) == *len);
	fclose(f);
	return text;
}

static void finished(const struct cycle_info *info, uint64_t state, int err,
		     const struct writer_result *r, void *arg)
{
	size_t len;
	char *text;

	(void)state;
	(void)err;
	(void)arg;
	totals_add_window(&totals, header, info, r);
	totals_add_result(&totals, r);
	if (!r->path[0])
		return;
	text = slurp(r->path, &len);
	fuzz_require(json_valid(text, len));
	free(text);
	unlink(r->path);
	files++;
}

/* ---- a GPU part and more of the heap than what was killed had ---- */

struct part {
	uint8_t *base;
	struct chunk *chunk;
	uint32_t tid; /* a thread with records */
	uint64_t begin; /* of the cycle, in ticks */
	uint64_t ns; /* CUPTI's clock then */
};

static struct chunk *add_chunk(struct part *p, enum chunk_kind kind, uint64_t cycle)
{
	struct spool_header *head = (struct spool_header *)p->base;
	struct chunk *c = (struct chunk *)(p->base + head->used);

	memset(c, 0, CHUNK_LARGE);
	*c = (struct chunk){ .magic = CHUNK_MAGIC, .size = CHUNK_LARGE };
	c->kind = kind;
	c->cycle = cycle;
	c->used = sizeof(*c);
	head->used += CHUNK_LARGE;
	return c;
}

/* Names lie anywhere: here in what the chunk does not use. */
static uint32_t name_at(struct part *p, const char *text, unsigned slot)
{
	struct name *n = (struct name *)((uint8_t *)p->chunk + CHUNK_LARGE - 4096 +
					 128 * (size_t)slot);

	n->len = (uint16_t)strlen(text);
	memcpy(n->text, text, n->len);
	return (uint32_t)(((uint8_t *)n - p->base) / 8);
}

static uint32_t stack_at(struct part *p)
{
	uint8_t *at = (uint8_t *)p->chunk + CHUNK_LARGE - 2048;
	struct stack_module *m = (struct stack_module *)at;
	struct stack *s = (struct stack *)(at + 1024);

	m->path_len = 8;
	memcpy(m->path, "/libx.so", 9);
	s[0].depth = 2;
	s[1].depth = 1;
	s[0].caller = (uint32_t)(((uint8_t *)&s[1] - p->base) / 8);
	s[0].frame = s[1].frame =
		stacks_pack((struct stack_frame){ (uint32_t)((at - p->base) / 8), 18 });
	return (uint32_t)(((uint8_t *)s - p->base) / 8);
}

/* Of Python: a stack of one frame. */
static uint32_t python_at(struct part *p)
{
	uint8_t *at = (uint8_t *)p->chunk + CHUNK_LARGE - 3072;
	struct code *c = (struct code *)at;
	struct stack *s = (struct stack *)(at + 512);

	*c = (struct code){ .magic = CODES_MAGIC,
			    .first_line = 7,
			    .table_len = 6,
			    .file_len = 7,
			    .name_len = 4,
			    .lines = CODE_LOCATIONS };
	memcpy(c->text, "/a/x.py\0step\0\xe8\x01\xf7\x7e\x5c\xd3", 20);
	s->depth = 1;
	s->frame = stacks_pack((struct stack_frame){ (uint32_t)((at - p->base) / 8), 4 });
	return (uint32_t)(((uint8_t *)s - p->base) / 8);
}

static void *add(struct part *p, enum record_kind kind, size_t size, uint32_t name,
		 uint64_t begin, uint64_t end)
{
	struct record *r = (struct record *)((uint8_t *)p->chunk + p->chunk->used);

	r->kind = (uint8_t)kind;
	r->units = (uint16_t)(size / 8);
	r->name = name;
	r->begin = begin;
	r->end = end;
	p->chunk->used += (uint32_t)size;
	return r;
}

static void add_thread_records(struct part *p)
{
	uint32_t function = name_at(p, "cudaLaunchKernel", 0);
	uint64_t at = p->begin + 1000;
	struct rec_collective *coll;
	struct rec_thread *t;
	struct rec_stack *s;
	struct rec_op *op;

	t = add(p, REC_THREAD, sizeof(*t), 0, at, 0);
	t->tid = p->tid;
	op = add(p, REC_ANNOTATION, sizeof(*op), name_at(p, "nccl:all_reduce", 1),
		 at + 10, at + 900000);
	op = add(p, REC_OP, sizeof(*op) + sizeof(struct op_stack) + 16,
		 name_at(p, "record_param_comms", 2), at + 20, at + 800000);
	op->r.flags = OP_INPUTS | OP_STACK;
	*(struct op_stack *)(op + 1) = (struct op_stack){ .python = python_at(p) };
	memcpy((struct op_stack *)(op + 1) + 1,
	       (uint8_t[]){ IN_TENSOR, 6, 1, 8, 1, IN_OTHER, IN_INT, 1 }, 8);
	coll = add(p, REC_COLLECTIVE, sizeof(*coll), name_at(p, "ncclAllReduce", 3),
		   at + 30, at + 40);
	coll->count = 8;
	for (unsigned i = 0; i < 4; i++) {
		s = add(p, REC_STACK, sizeof(*s), function, at + 90 + i * 10000, 0);
		s->stack = stack_at(p);
	}
	((struct rec_call *)add(p, REC_CALL, sizeof(struct rec_call), function,
				at + 300000, at + 300500))
		->correlation = 1;
	add(p, REC_KERNEL, sizeof(struct rec_kernel), function, at + 301000, at + 302000);
}

/* They nest, or not; some are no names. */
static void add_modules(struct part *p)
{
	uint32_t class = name_at(p, "Linear", 6), path = name_at(p, "layers.0", 7);
	struct rec_module *m;

	for (unsigned i = 0; i < 20; i++) {
		uint64_t at = p->begin + 1000 + i * 20000;

		m = add(p, REC_MODULE, sizeof(*m), fuzz_below(4) ? class : path, at,
			fuzz_below(4) ? at + fuzz_below(90000) : 0);
		m->self = fuzz_below(8) * 64;
		m->r.flags = (uint8_t)fuzz_below(4); /* enum module_flag */
		m->path = fuzz_below(4) ? path : (uint32_t)fuzz_random();
	}
}

/* They cross annotations and each other; some are before the window. */
static void add_functions(struct part *p)
{
	struct rec_function *f;
	struct rec_python *e;

	for (unsigned i = 0; i < 20; i++) {
		uint64_t at = p->begin + 500 + i * 20000;

		f = add(p, REC_FUNCTION, sizeof(*f), 0, fuzz_below(8) ? at : p->begin - 5,
			fuzz_below(4) ? at + fuzz_below(400000) : 0);
		f->r.flags = (uint8_t)fuzz_below(4); /* enum function_flag */
		f->code = fuzz_below(2) ? (uint32_t)fuzz_random() : 0;
		f->offset = (uint32_t)fuzz_random();
		e = add(p, REC_PYTHON, sizeof(*e), (uint32_t)fuzz_random(), at + 200,
			fuzz_below(4) ? at + fuzz_below(90000) : 0);
		e->r.flags = (uint8_t)fuzz_below(8); /* enum pause_kind, PAUSE_RAISED */
		add(p, REC_C_CALL, 24, (uint32_t)fuzz_random(), at + 9, at + 40000);
	}
}

/* Inside the annotation; every fourth block stays. */
static void add_heap_records(struct part *p)
{
	uint64_t at = p->begin + 310000;
	struct rec_memory *tensor;
	struct rec_heap *sums;
	struct rec_alloc *a;
	struct record *r;

	for (unsigned i = 0; i < 60; i++, at += 1000) {
		uint64_t address = 0x7f0000000000 + i % 7 * 4096;

		a = add(p, REC_ALLOC, sizeof(*a), stack_at(p), at, address);
		a->r.flags = (uint8_t)(i % HEAP_FREE | (i & 1 ? HEAP_SAMPLED : 0));
		a->bytes = 1ull << i;
		if (i & 3) {
			r = add(p, REC_FREE, sizeof(*r), 0, at + 100, address);
			r->flags = HEAP_FREE;
		}
		tensor = add(p, REC_MEMORY, sizeof(*tensor), 0, at + 200, 0);
		tensor->allocated = tensor->reserved = 1ull << i;
		tensor->device_type = i & 1;
		sums = add(p, REC_HEAP, sizeof(*sums), 0, at + 300, 0);
		sums->r.flags = HEAP_HAS_COUNTS | HEAP_HAS_RSS;
		sums->live = (int64_t)(i * address);
		sums->allocs = sums->frees = i;
		sums->allocated = sums->rss = i * address;
		if (i % 9 == 8)
			((struct rec_step *)add(p, REC_STEP, sizeof(struct rec_step), 0,
						at - 8000, at + 400))
				->number = i / 9;
	}
}

static void add_gpu_records(struct part *p)
{
	static const struct {
		enum record_kind kind;
		uint8_t flags;
		size_t size;
	} work[] = {
		{ REC_KERNEL, GPU_GRAPH | GPU_LATENCY, sizeof(struct rec_kernel) + 32 },
		{ REC_COPY, GPU_PEER, sizeof(struct rec_copy) + 16 },
		{ REC_SET, 0, sizeof(struct rec_set) },
		{ REC_GRAPH, 0, sizeof(struct rec_graph) },
		{ REC_SYNC, 0, sizeof(struct rec_sync) },
		{ REC_EVENT, 0, sizeof(struct rec_event) },
		{ REC_OVERHEAD, 0, sizeof(struct rec_overhead) },
		{ REC_BLOCK, 0, sizeof(struct rec_block) },
		{ REC_GPU, 0, sizeof(struct rec_device) },
	};
	uint32_t kernel = name_at(p, "_ZN2at6native6kernelILi4EfEEviT0_", 5);

	for (unsigned i = 0; i < 2; i++)
		add(p, REC_MOMENT, sizeof(struct rec_moment), 0, p->begin + i * 1000000,
		    p->ns + i * 1000000);
	for (unsigned i = 0; i < 180; i++) {
		unsigned w = i % (sizeof(work) / sizeof(*work));
		uint64_t at = p->ns + 2000 + i * 4000;
		struct rec_call *c = add(p, REC_CALL, sizeof(*c), kernel, at, at + 1000);
		struct record *r = add(p, work[w].kind, work[w].size, kernel,
				       at + fuzz_below(9000), at + 9000);

		c->tid = i & 1 ? p->tid : 7;
		c->correlation = i + 1;
		c->r.flags = CALL_LAUNCHES;
		r->flags = work[w].flags;
		if (w < 4)
			((struct rec_gpu *)r)->correlation = i + 1;
		else if (w == 4)
			((struct rec_sync *)r)->type = i & 3;
	}
}

/* Room for it behind everything else. */
static void add_gpu(uint8_t **bytes, size_t *len)
{
	struct spool_header *head = (struct spool_header *)*bytes;
	struct part p = { 0 };
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0, cycle = 0, room = head->used + 2 * CHUNK_LARGE;

	if (*len < room) {
		*bytes = realloc(*bytes, room);
		*len = room;
	}
	p.base = *bytes;
	head = (struct spool_header *)p.base;
	head->cap = head->cap > room ? head->cap : room;
	fuzz_require(!spool_view_init(&v, p.base, *len));
	while ((c = spool_view_next(&v, &at))) {
		const struct cycle_info *info = (const struct cycle_info *)(c + 1);

		if (c->kind == CHUNK_DATA && c->used > sizeof(*c))
			p.tid = ((const struct rec_thread *)(c + 1))->tid;
		if (c->kind != CHUNK_CYCLE)
			continue;
		cycle = info->number;
		p.begin = info->begin;
	}
	fuzz_require(cycle);
	p.ns = (uint64_t)clock_line_at(head, p.begin, p.begin).ns;
	p.chunk = add_chunk(&p, CHUNK_DATA, cycle);
	add_thread_records(&p);
	add_functions(&p);
	add_modules(&p);
	add_heap_records(&p);
	p.chunk = add_chunk(&p, CHUNK_CUDA, cycle);
	add_gpu_records(&p);
}

/* The header is hit as often as the rest, though it is small; the GPU part as well. */
static void damage(uint8_t *bytes, size_t len)
{
	uint64_t used = ((struct spool_header *)bytes)->used;
	size_t keep = offsetof(struct spool_header, config);
	size_t end = keep + sizeof(((struct spool_header *)0)->config);
	unsigned times = (unsigned)fuzz_below(20);

	if (fuzz_below(2))
		fuzz_mutate(bytes, keep, times);
	if (len > end)
		fuzz_mutate(bytes + end, len - end, times);
	if (used <= len && fuzz_below(2))
		fuzz_mutate(bytes + used - 2 * CHUNK_LARGE, 2 * CHUNK_LARGE, times);
}

#define SPOOLS 8

int main(int argc, char **argv)
{
	uint8_t *good[SPOOLS], *bad;
	size_t len[SPOOLS];
	unsigned n = 0;
	int fd = memfd_create("spool", MFD_CLOEXEC);

	for (; n < SPOOLS && 3 + (int)n < argc; n++) {
		good[n] = (uint8_t *)slurp(argv[3 + n], &len[n]);
		add_gpu(&good[n], &len[n]);
	}
	fuzz_require(n);
	while (fuzz_goes_on(argc, argv)) {
		struct writer_plan plan = { .done = finished };
		struct copy copy;
		unsigned i = (unsigned)fuzz_below(n);
		size_t part = fuzz_below(10) ? len[i] : fuzz_below(len[i]);

		bad = malloc(len[i]);
		memcpy(bad, good[i], len[i]);
		damage(bad, part);
		fuzz_require(!ftruncate(fd, 0) && !ftruncate(fd, (off_t)part) &&
			     pwrite(fd, bad, part, 0) == (ssize_t)part);
		if (!copy_open(&copy, fd)) {
			header = copy.view.head;
			writer_recover(&copy, &plan);
			totals_add_header(&totals, copy.view.head);
			check_totals();
			copy_close(&copy);
		}
		free(bad);
	}
	printf("%llu files\n", (unsigned long long)files);
	while (n)
		free(good[--n]);
	return 0;
}
