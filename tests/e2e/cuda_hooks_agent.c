/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An agent of hooks and nothing else, so that every want can be tried: HOOKS_WANT is what
 * is wanted (enum cuda_want), HOOKS_WINDOW=1 opens a window for the process's life, and
 * what was recorded goes to the file HOOKS_OUT, a line for each record; with HOOKS_TELL=1
 * also a line for each call that began.
 */
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/names.h"
#include "agent/core/record_cuda.h"
#include "agent/core/record_gpu.h"
#include "agent/core/spool_view.h"
#include "agent/core/thread.h"
#include "agent/cuda/cuda.h"
#include "agent/hooks/hook.h"
#include "agent/unwind/unwind.h"
#include "tests/unit/spool_open.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *out;
static unsigned begun, ended, ready;
static bool tell; /* each begin is written, too */

static uint32_t begin(const char *function, const char *kernel)
{
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	if (tell && out)
		fprintf(out, "begin %s %s\n", function, kernel ? kernel : "-");
	return 5;
}

static void end(uint32_t token)
{
	if (token == 5)
		__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
}

static void is_ready(void)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_RELAXED);
}

static void open_window(void)
{
	uint64_t at;

	if (gate_start() || thread_start() || spool_open(NULL, 64 << 20))
		abort();
	clock_begin(spool.head);
	spool_prepare(1 << 20);
	at = chunk_take(CHUNK_CYCLE, sizeof(struct chunk) + sizeof(struct cycle_info), 1);
	memset(chunk_at(at) + 1, 0, sizeof(struct cycle_info));
	gate_set(1, at);
}

static const char *name_of(uint32_t id)
{
	return id ? ((const struct name *)(spool.base + (uint64_t)id * 8))->text : "-";
}

static void show_frames(uint32_t stack)
{
	struct stack_frame frame[STACKS_MOST];
	struct spool_view view;
	unsigned flags, n;

	if (spool_view_init(&view, spool.base, atomic_load(&spool.head->used)))
		return;
	n = stacks_get(&view, stack, frame, STACKS_MOST, &flags);
	for (unsigned i = 0; i < n; i++) {
		const struct stack_module *m = stacks_module_get(&view, frame[i].module);
		uintptr_t at = frame[i].offset + (m ? m->bias : 0);
		const char *name = NULL;
		Dl_info in;

		if (dladdr((void *)at, &in))
			name = in.dli_sname;
		fprintf(out, " | %s (%s+0x%lx)", name ? name : "??",
			m ? strrchr(m->path, '/') + 1 : "?",
			(unsigned long)frame[i].offset);
	}
	fprintf(out, "\n");
}

static void show(const struct record *r)
{
	const struct rec_call *c = (const void *)r;
	const struct rec_kernel *k = (const void *)r;
	const struct rec_collective *n = (const void *)r;
	const struct rec_stack *s = (const void *)r;
	const char *order = r->begin && (!r->end || r->end >= r->begin) ? "" : " BAD";

	if (r->kind == REC_CALL)
		fprintf(out, "call %s %d flags=%d %s%s\n", name_of(r->name), c->result,
			r->flags, r->end ? "ended" : "open", order);
	else if (r->kind == REC_KERNEL)
		fprintf(out,
			"kernel %s grid=%u,%u,%u block=%u,%u,%u shared=%u flags=%d "
			"ns=%.0f%s\n",
			name_of(r->name), k->grid[0], k->grid[1], k->grid[2], k->block[0],
			k->block[1], k->block[2], k->dynamic_shared, r->flags,
			(double)(r->end - r->begin) * 1e9 / clock_rate(spool.head),
			order);
	else if (r->kind == REC_COLLECTIVE)
		fprintf(out,
			"collective %s count=%lu type=%d rank=%d size=%d peer=%d%s\n",
			name_of(r->name), (unsigned long)n->count, n->type, n->rank,
			n->size, n->peer, order);
	else if (r->kind == REC_STACK) {
		fprintf(out, "stack %s", name_of(r->name));
		show_frames(s->stack);
	}
}

static void __attribute__((destructor)) stop(void)
{
	struct spool_view view;
	const struct chunk *c;
	uint64_t at = SPOOL_HEADER;

	cuda_hooks_want(0);
	if (!out)
		return;
	fprintf(out, "marks %u %u ready %u\n", begun, ended, ready);
	if (spool.head &&
	    !spool_view_init(&view, spool.base, atomic_load(&spool.head->used)))
		while ((c = spool_view_next(&view, &at)))
			for (uint32_t i = sizeof(*c);
			     c->kind == CHUNK_DATA && i < atomic_load(&c->used);) {
				const struct record *r =
					(const void *)((const char *)c + i);

				show(r);
				i += r->units * 8u;
			}
	fclose(out);
}

static void __attribute__((constructor)) start(void)
{
	static const struct cuda_listener to = { begin, end, is_ready,
						 cuda_hooks_driver };
	const char *want = getenv("HOOKS_WANT"), *path = getenv("HOOKS_OUT");

	tell = getenv("HOOKS_TELL") != NULL;
	hook_start(&(struct hook_listener){ 0 });
	clock_start();
	if (path)
		out = fopen(path, "w");
	if (getenv("HOOKS_WINDOW"))
		open_window();
	unwind_start(128, false);
	cuda_hooks_start(&to);
	cuda_hooks_want(want ? (unsigned)atoi(want) : 0);
}
