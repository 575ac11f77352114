/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hooks/heap.h"
#include "agent/core/emit.h"
#include "agent/core/fmt.h"
#include "agent/core/log.h"
#include "agent/core/sys.h"
#include "agent/hooks/heap_parts.h"
#include "agent/hooks/unwind.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#define GAP_NS 20000000

void (*heap_first)(void);
static bool rss_wanted;
static char ahead[256]; /* who allocates instead of us; "" = nobody */
static uint64_t base[THREAD_HEAP]; /* the counters when the window began */
static _Atomic int64_t marked_ns;

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

static void set_mode(enum heap_mode mode)
{
	if (heap_mode() == HEAP_COLD)
		return;
	atomic_store_explicit(&heap_real.mode, mode, memory_order_release);
	atomic_fetch_add_explicit(&heap_real.changes, 1, memory_order_release);
}

static enum heap_mode calm(void) /* outside of windows */
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
	s->stacks = config->malloc_stacks && s->mode >= HEAP_SAMPLE;
	if (s->stacks)
		unwind_start(config->stack_depth, s->mode == HEAP_ALL);
	s->sample_bytes = (uint64_t)config->malloc_sample_kb << 10;
	s->seed = seed;
	s->always = s->mode == HEAP_COUNT && config->malloc_since && !thread_start();
	set_mode(calm());
}

bool heap_wanted(void)
{
	return heap_settings.mode != HEAP_IDLE;
}

/* ---- windows ---- */

void heap_opened(struct cycle_info *info)
{
	(void)info;
	if (!heap_wanted())
		return;
	if (heap_settings.mode == HEAP_SAMPLE)
		heap_samples_turn();
	if (!heap_settings.always)
		heap_sum(base);
	set_mode((enum heap_mode)heap_settings.mode);
}

/* The next window may be open already. */
void heap_ended(struct cycle_info *info, bool kept)
{
	(void)info, (void)kept;
	if (heap_wanted() && !gate_cycle())
		set_mode(calm());
}

void heap_fork_child(bool wake)
{
	heap_sum_forget();
	memset(base, 0, sizeof(base));
	if (heap_wanted())
		set_mode(wake ? HEAP_ASLEEP : calm());
}

/* Only in a child, and only once; what is needed for a window is made of system calls,
 * and by none of the program's locks. */
void heap_wake(void)
{
	uintptr_t guard = thread_guard;
	uint32_t asleep = HEAP_ASLEEP;

	if (!atomic_compare_exchange_strong(&heap_real.mode, &asleep, calm()))
		return;
	thread_guard = THREAD_OURS;
	heap_first();
	thread_guard = guard;
}

/* ---- counters ---- */

/* "size resident ..." in pages. */
static uint64_t rss(void)
{
	char text[128];
	const char *at = sys_read_file("/proc/self/statm", text, sizeof(text)) > 0
				 ? strchr(text, ' ')
				 : NULL;
	uint64_t pages = 0;

	for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
		pages = pages * 10 + (uint64_t)(*at - '0');
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

void heap_mark(void)
{
	bool counts = heap_settings.mode == HEAP_COUNT;
	uint64_t bytes = rss_wanted && gate_cycle() ? rss() : 0, sum[THREAD_HEAP] = { 0 };
	struct thread *t = bytes || counts ? emit_enter(REC_HEAP) : NULL;
	struct rec_heap *r;

	if (!t)
		return;
	atomic_store(&marked_ns, clock_get_ns(CLOCK_MONOTONIC));
	if (counts)
		heap_sum(sum);
	for (unsigned i = 0; i < THREAD_HEAP; i++)
		sum[i] -= base[i];
	r = emit_reserve(t, REC_HEAP, sizeof(*r));
	if (r) {
		r->r.name = 0;
		r->r.begin = clock_ticks();
		r->r.end = 0;
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

void heap_tick(void)
{
	if (gate_cycle() &&
	    clock_get_ns(CLOCK_MONOTONIC) - atomic_load(&marked_ns) >= GAP_NS)
		heap_mark();
}

/* ---- facts ---- */

static const char *library_of(void *code)
{
	Dl_info info;

	if (!code || !dladdr(code, &info) || !info.dli_fname ||
	    strpbrk(info.dli_fname, "\"\\\n\r\t"))
		return "";
	return info.dli_fname;
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
