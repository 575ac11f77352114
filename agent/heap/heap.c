/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap's modes: what the options want in a window and outside of one, when a child or
 * a dozing process wakes, and the counters' record.
 */
#include "agent/heap/heap.h"
#include "agent/core/emit.h"
#include "agent/core/stacks.h"
#include "agent/heap/count.h"
#include "agent/heap/gap.h"
#include "agent/heap/mode.h"
#include "agent/heap/pass.h"
#include "agent/unwind/rules.h"
#include "agent/unwind/unwind.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/sys.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

struct heap_settings heap_settings;

void (*heap_first)(void);
_Atomic bool heap_dozes;
static bool rss_wanted;
static char ahead[256]; /* what allocates instead of us; "" = nothing */
static uint64_t base[SPOOL_COUNTERS]; /* the counters when the window began */

/* ---- start ---- */

static const char *text_of(uint32_t mode)
{
	static const char *const text[] = { "off", "count", "sample", "all" };

	return text[mode <= HEAP_ALL ? mode : 0];
}

static void look_ahead(uint32_t mode)
{
	const char *who = heap_ahead();

	if (!who)
		return;
	fmt(ahead, sizeof(ahead), "%s", *who ? who : "the program itself");
	log_warn("malloc=%s: %s brings an allocator that is called before ours: the heap "
		 "is not recorded",
		 text_of(mode), ahead);
}

/* `changes` tells a call that it has begun under another mode (new.c). */
static void set_mode(enum heap_mode mode)
{
	if (heap_mode() == HEAP_COLD)
		return;
	atomic_store_explicit(&heap_real.mode, mode, memory_order_release);
	atomic_fetch_add_explicit(&heap_real.changes, 1, memory_order_release);
}

static enum heap_mode windowless_mode(void)
{
	return heap_settings.always ? HEAP_COUNT : HEAP_IDLE;
}

void heap_start(const struct config *config, uint64_t seed)
{
	struct heap_settings *s = &heap_settings;

	rss_wanted = config->malloc != HEAP_IDLE || config->profile_memory;
	if (!HEAP_HOOKS || config->malloc == HEAP_IDLE)
		return;
	look_ahead(config->malloc);
	if (*ahead || !heap_find())
		return;
	if (heap_is_glibc())
		heap_sizes_try();
	s->mode = config->malloc;
	s->stacks = CONFIG_HAS(config->native_stacks, NATIVE_MALLOC) &&
		    s->mode >= HEAP_SAMPLE;
	if (s->stacks)
		s->stacks = unwind_start(config->stack_depth, s->mode == HEAP_ALL);
	if (s->mode == HEAP_SAMPLE && !heap_samples_start()) {
		s->mode = HEAP_IDLE;
		return;
	}
	s->sample_bytes = (uint64_t)config->malloc_sample_kb << 10;
	s->seed = seed;
	/* Counters lie in threads' states, and those need the key that thread_start
	 * makes. */
	s->always = s->mode == HEAP_COUNT && config->malloc_since && !thread_start();
	heap_settings.walks = s->stacks;
	set_mode(windowless_mode());
}

/* What takes stacks of either kind is not on the hook's short way. */
static void settle_walks(void)
{
	heap_settings.walks = heap_settings.stacks || heap_settings.also;
}

void heap_also_walk(heap_also *also)
{
	if (heap_settings.mode >= HEAP_SAMPLE)
		heap_settings.also = also;
	settle_walks();
}

bool heap_is_sample(void)
{
	return heap_settings.mode == HEAP_SAMPLE;
}

bool heap_wanted(void)
{
	return heap_settings.mode != HEAP_IDLE;
}

/* ---- windows ---- */

void heap_opened(struct cycle_info *info)
{
	if (!heap_wanted())
		return;
	if (heap_settings.mode == HEAP_SAMPLE && !atomic_exchange(&heap_dozes, false))
		heap_samples_turn();
	/* With `always` the counters go on from the process's start, and base stays 0. */
	if (!heap_settings.always)
		heap_sum(base);
	memcpy(info->heap_base, base, sizeof(base));
	set_mode((enum heap_mode)heap_settings.mode);
	if (heap_settings.mode != HEAP_ALL)
		heap_pass_cost(info);
}

/* The next window may be open already: then the mode is that one's. */
void heap_ended(struct cycle_info *info, bool kept)
{
	(void)info, (void)kept;
	if (heap_wanted() && !gate_cycle())
		set_mode(windowless_mode());
}

bool heap_doze(void)
{
	if (heap_settings.mode != HEAP_SAMPLE || heap_mode() == HEAP_COLD)
		return false;
	heap_samples_turn();
	atomic_store(&heap_dozes, true);
	set_mode(HEAP_SAMPLE);
	return true;
}

bool heap_is_dozing(void)
{
	return atomic_load(&heap_dozes);
}

void heap_undoze(void)
{
	if (atomic_exchange(&heap_dozes, false) && !gate_cycle())
		set_mode(windowless_mode());
}

void heap_doze_ends(void)
{
	uintptr_t guard;

	if (!atomic_exchange(&heap_dozes, false))
		return;
	guard = guard_enter();
	heap_first();
	guard_leave(guard);
}

bool heap_is_asleep(void)
{
	return heap_mode() == HEAP_ASLEEP;
}

void heap_fork_child(bool wake)
{
	if (!heap_wanted())
		return;
	heap_sum_forget();
	memset(base, 0, sizeof(base));
	atomic_store(&heap_dozes, false);
	if (!(wake && heap_doze()))
		set_mode(wake ? HEAP_ASLEEP : windowless_mode());
}

/* A fork child comes here, once. Its window is made by system calls alone: a lock of the
 * program's may be held by a thread of the parent's, which is not here to open it. */
void heap_wake(void)
{
	uintptr_t guard;
	uint32_t asleep = HEAP_ASLEEP;

	if (!atomic_compare_exchange_strong(&heap_real.mode, &asleep, windowless_mode()))
		return;
	guard = guard_enter();
	heap_first();
	guard_leave(guard);
}

/* ---- counters ---- */

struct resident {
	uint64_t all, shared; /* bytes */
};

static uint64_t next_number(const char **at)
{
	uint64_t n = 0;

	while (**at && *(*at)++ != ' ')
		;
	for (const char *p = *at; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n;
}

/* "size resident shared ..." in pages. */
static struct resident resident_bytes(void)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct resident now = { 0 };
	char text[128];
	const char *at = text;

	if (sys_read_file("/proc/self/statm", text, sizeof(text)) <= 0)
		return now;
	now.all = next_number(&at) * page;
	now.shared = next_number(&at) * page;
	return now;
}

static void put_counters(struct resident now)
{
	uint64_t bytes = now.all;
	bool counts = heap_settings.mode == HEAP_COUNT;
	struct thread *t = bytes || counts ? emit_enter(REC_HEAP) : NULL;
	uint64_t sum[SPOOL_COUNTERS] = { 0 };
	struct rec_heap *r;

	if (!t)
		return;
	if (counts)
		heap_sum(sum);
	/* Unsigned: more may have been freed in the window than was allocated in it. */
	for (unsigned i = 0; i < SPOOL_COUNTERS; i++)
		sum[i] -= base[i];
	r = emit_reserve(t, REC_HEAP, sizeof(*r));
	if (r) {
		r->r.name = 0;
		r->r.begin = clock_ticks();
		r->r.end = now.all > now.shared ? now.all - now.shared : 0;
		r->live = (int64_t)(sum[COUNT_ALLOCATED] - sum[COUNT_FREED]);
		r->allocs = sum[COUNT_ALLOCS];
		r->frees = sum[COUNT_FREES];
		r->allocated = sum[COUNT_ALLOCATED];
		r->rss = bytes;
		emit_commit(t, &r->r, REC_HEAP,
			    (counts ? HEAP_HAS_COUNTS : 0) | (bytes ? HEAP_HAS_RSS : 0),
			    sizeof(*r));
	}
	emit_leave(t);
}

/* The resident size is in a file, which the program's threads must not open. */
void heap_mark(void)
{
	put_counters((struct resident){ 0 });
}

void heap_tick(void)
{
	if (gate_cycle())
		put_counters(rss_wanted ? resident_bytes() : (struct resident){ 0 });
}

bool heap_samples(void)
{
	return rss_wanted || heap_settings.mode == HEAP_COUNT;
}

/* ---- facts ---- */

static const char *library_of(void *code)
{
	const char *path = heap_owner(code);
	Dl_info info;

	/* The linker looks through all symbols of the library for the nearest. */
	if (!path && code && dladdr(code, &info))
		path = info.dli_fname;
	return path && !strpbrk(path, "\"\\\n\r\t") ? path : "";
}

size_t heap_facts(char *json, size_t size)
{
	return fmt(json, size,
		   "{\"mode\": \"%s\", \"since\": \"%s\", \"malloc\": \"%s\", "
		   "\"new\": \"%s\", \"ahead\": \"%s\", \"bootstrap_bytes\": %lu}",
		   text_of(heap_settings.mode), heap_settings.always ? "start" : "window",
		   library_of((void *)(uintptr_t)heap_real.malloc),
		   library_of((void *)(uintptr_t)heap_real._Znwm),
		   strpbrk(ahead, "\"\\\n\r\t") ? "?" : ahead,
		   (unsigned long)boot_used());
}
