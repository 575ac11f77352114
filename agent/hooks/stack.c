/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libunwind walks the stack; what a return address means is asked of the dynamic linker
 * once and kept for each thread.
 */
#include "agent/hooks/stack.h"
#include "agent/core/arena.h"
#include "agent/core/emit.h"
#include "agent/core/fmt.h"
#include "agent/core/log.h"
#include "agent/core/names.h"
#include "agent/core/record_cuda.h"
#include "agent/hooks/cuda_parts.h"
#include "agent/hooks/loader.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#define DEPTH   128
#define LIBRARY "libunwind.so.8"
#define CACHE   1024u /* frames; a power of two */
#define SLOT    1 /* of struct thread's, ours */

struct cache { /* a thread's */
	uint32_t epoch; /* names_epoch */
	uint64_t cycle;
	unsigned long long adds; /* libraries mapped: addresses may mean something else */
	struct {
		uintptr_t pc;
		uint32_t id;
	} frame[CACHE];
};

typedef int (*backtrace_fn)(void **frames, int most);

/* Ours first: the one beside the agent. */
static void *open_library(void)
{
	char path[4096];
	const char *slash;
	void *handle = NULL;
	Dl_info info;

	if (dladdr((void *)open_library, &info) && info.dli_fname &&
	    (slash = strrchr(info.dli_fname, '/'))) {
		fmt(path, sizeof(path), "%.*s/%s", (int)(slash - info.dli_fname),
		    info.dli_fname, LIBRARY);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return handle ? handle : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

/* NULL: not there, or another thread is at it. */
static backtrace_fn unwinder(void)
{
	static _Atomic uint32_t tried;
	static _Atomic(backtrace_fn) known;
	backtrace_fn fn = atomic_load_explicit(&known, memory_order_acquire);
	void *handle;

	if (fn || atomic_load_explicit(&tried, memory_order_relaxed) ||
	    atomic_exchange(&tried, 1))
		return fn;
	handle = open_library();
	fn = handle ? (backtrace_fn)hook_real_dlsym(handle, "unw_backtrace") : NULL;
	if (!fn)
		log_warn("cuda_stacks: %s is not there: no stacks are recorded", LIBRARY);
	atomic_store_explicit(&known, fn, memory_order_release);
	return fn;
}

/* ---- what an address means ---- */

static uint32_t describe(uintptr_t pc)
{
	char text[4096];
	const char *base;
	Dl_info info;
	size_t n;

	/* The call, not where it returns to: that may be another function's. */
	if (!dladdr((void *)(pc - 1), &info) || !info.dli_fname) {
		n = fmt(text, sizeof(text), "?? (+0x%lx)", (unsigned long)pc);
	} else {
		base = strrchr(info.dli_fname, '/');
		n = fmt(text, sizeof(text), "%s (%s+0x%lx)",
			info.dli_sname ? info.dli_sname : "??",
			base ? base + 1 : info.dli_fname,
			(unsigned long)(pc - (uintptr_t)info.dli_fbase));
	}
	return names_add(text, n < sizeof(text) ? n : sizeof(text) - 1, NULL, 0);
}

static struct cache *cache_of(struct thread *t)
{
	struct cache *c = t->slot[SLOT];
	uint64_t cycle = gate_cycle();
	unsigned long long adds;

	if (!c && !(t->slot[SLOT] = c = arena_alloc(sizeof(*c))))
		return NULL;
	if (c->cycle == cycle && c->epoch == names_epoch)
		return c;
	adds = loader_adds();
	if (c->epoch != names_epoch || c->adds != adds)
		memset(c->frame, 0, sizeof(c->frame));
	c->cycle = cycle;
	c->epoch = names_epoch;
	c->adds = adds;
	return c;
}

static uint32_t frame_id(struct cache *c, uintptr_t pc)
{
	size_t at = (pc ^ pc >> 10) & (CACHE - 1);

	if (c->frame[at].pc != pc || !c->frame[at].id) {
		c->frame[at].pc = pc;
		c->frame[at].id = describe(pc);
	}
	return c->frame[at].id;
}

/* ---- the record ---- */

void stack_take(uint32_t name)
{
	struct thread *t = thread_mine ? thread_mine : thread_new();
	backtrace_fn walk = unwinder();
	struct cache *c;
	struct rec_stack *r;
	void *pc[DEPTH];
	uint32_t id[DEPTH], size;
	int n, first = 0;

	if (!walk || !t || !(c = cache_of(t)))
		return;
	n = walk(pc, DEPTH);
	while (first < n && cuda_is_ours(pc[first]))
		first++;
	for (int i = first; i < n; i++)
		id[i - first] = frame_id(c, (uintptr_t)pc[i]);
	n -= first;
	if (n <= 0)
		return;
	size = (uint32_t)(sizeof(*r) + ((unsigned)n * sizeof(*id) + 7) / 8 * 8);
	t = emit_enter(REC_STACK);
	if (!t)
		return;
	r = emit_reserve(t, REC_STACK, size);
	if (r) {
		memset(r, 0, size);
		r->r.name = name;
		r->r.begin = clock_ticks();
		r->depth = (uint32_t)n;
		memcpy(r->frame, id, (unsigned)n * sizeof(*id));
		emit_commit(t, &r->r, REC_STACK, 0, size);
	}
	emit_leave(t);
}
