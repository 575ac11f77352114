/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool - the crash-safe memory of one process: a header, then chunks.
 *
 * Threads  spool_open: once.  chunk_take, chunk_give: any thread, lock-free.
 *          spool_prepare: the writer thread.  spool_view functions: anyone.
 * Memory   one file, mapped shared, of `cap` bytes; or, when a file cannot be
 *          had, private memory (then `kept` is false: nothing survives a kill).
 *          Everything is addressed by byte offset from the start.
 * Errors   0 or -errno; chunk_take gives 0 when the cap is reached.
 * Units    bytes; times are ticks unless the name says _ns.
 */
#ifndef CORE_SPOOL_H
#define CORE_SPOOL_H

#include "agent/core/record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_MAGIC   "PROFSPL1"
#define SPOOL_VERSION 4
#define SPOOL_HEADER  (64 * 1024) /* bytes before the first chunk */
#define SPOOL_CLOCKS  512 /* clock triples kept */
#define SPOOL_CONFIG  8192 /* bytes of "key = value" lines */
#define SPOOL_FACTS   8192
#define CHUNK_MAGIC   0x4b4e4843u
#define CHUNK_SMALL   4096u
#define CHUNK_MIDDLE  16384u
#define CHUNK_LARGE   65536u

struct clock_triple {
	uint64_t ticks;
	int64_t real_ns; /* CLOCK_REALTIME */
	int64_t mono_ns; /* CLOCK_MONOTONIC_RAW */
	int64_t line_ns; /* epoch time as traces tell it: follows CLOCK_REALTIME ... */
	int64_t leap_ns; /* ... but for its jumps, which are summed up here */
	double per_tick; /* its ns per tick from here to the next triple, and beyond */
};

enum drop_kind { /* why records were lost, besides their own kind */
		 DROP_CAP, /* no room under buffer_mb */
		 DROP_LATE, /* came after the writer had taken the cycle */
		 DROP_NESTED, /* an event inside our own emit (signal handler) */
		 DROP_DEAD, /* the thread's state was already gone */
		 DROP_NAMES, /* the name table was full: the event is there, its name is
				not */
		 DROP_WHYS
};

/* What is known to be missing or odd in a window's GPU part. */
enum cuda_count {
	CUDA_DROPPED, /* records that CUPTI says it dropped */
	CUDA_DISCARDED, /* records that came into a buffer of last resort */
	CUDA_LATE, /* came after the file was written */
	CUDA_ZERO, /* kernels, copies, sets without a time */
	CUDA_REVERSED, /* their end lies before their begin */
	CUDA_UNMATCHED, /* GPU work whose call was not seen */
	CUDA_OLDER, /* ... and that was asked for before the window: not in it */
	CUDA_MISSING, /* calls that launched, whose GPU work never came */
	CUDA_OUTSIDE, /* times that cannot be: far outside of the window */
	CUDA_UNDECODED, /* buffers that could not be read to their end */
	CUDA_AMBIGUOUS, /* calls so near an operator's edge that the clocks cannot tell */
	CUDA_EARLY, /* GPU work that seems to begin before its call */
	CUDA_GAPS, /* times CUPTI was in other hands */
	CUDA_GAP_NS, /* ... and how long, all together */
	CUDA_COUNTS
};

/* What is known of the heap's records in a window, besides drops. */
enum heap_count {
	HEAP_STACKS, /* stacks taken */
	HEAP_CUT, /* deeper than stack_depth: the outer frames are not there */
	HEAP_ENDED, /* the walk met code without unwind tables, or made at run time */
	HEAP_FOREIGN, /* on a signal's or coroutine's stack: ended at its edge */
	HEAP_CHECKED, /* walked a second time from the unwind tables alone ... */
	HEAP_DISAGREED, /* ... with another result */
	HEAP_UNKNOWN_STACK, /* no room for a new stack: the event is there without one */
	HEAP_COUNTS
};

/* Does the writer have to wait for GPU work of this cycle? */
enum cycle_cuda { CUDA_NONE, CUDA_PENDING, CUDA_SETTLED };

enum cycle_state { CYCLE_NONE, CYCLE_OPEN, CYCLE_SEALED, CYCLE_WRITTEN, CYCLE_DISCARDED };
enum cycle_flag {
	CYCLE_PROVISIONAL = 1, /* taken before the first boundary; may be discarded */
	CYCLE_CHILD = 2, /* follows an ancestor's window: goes to children/ */
	CYCLE_WHOLE = 4, /* marker none: from start to end, no steps */
	CYCLE_TIMED = 8, /* boundaries come from the clock: no thread owns its steps */
	CYCLE_FAILED = 16, /* its process could not write the file: recover may try */
};

/* One recording window; lies at the start of a chunk of its own. */
struct cycle_info {
	uint64_t number; /* 1, 2, ... within the process */
	_Atomic uint32_t state; /* enum cycle_state */
	uint32_t flags; /* enum cycle_flag */
	uint64_t begin, end; /* ticks; end 0 while open */
	int64_t stamp_ns; /* epoch ns in the file name, unique in the process */
	int64_t first_step; /* ProfilerStep number of the first step, -1 = none */
	_Atomic uint64_t events; /* chunks' records, as far as counted */
	_Atomic uint64_t drops[REC_KINDS]; /* by kind */
	_Atomic uint64_t whys[DROP_WHYS]; /* the same drops, by reason */
	_Atomic uint64_t faulted; /* chunks a host thread had to fault in itself */
	_Atomic uint64_t cost_ticks; /* sampled cost of our callbacks ... */
	_Atomic uint64_t cost_samples; /* ... and how many events were sampled */
	_Atomic uint32_t cuda_state; /* enum cycle_cuda */
	uint32_t spare;
	_Atomic uint64_t cuda[CUDA_COUNTS];
	_Atomic uint64_t heap[HEAP_COUNTS];
};

enum chunk_kind {
	CHUNK_FREE = 1,
	CHUNK_DATA, /* records of threads */
	CHUNK_NAMES,
	CHUNK_CYCLE,
	CHUNK_CUDA, /* records of a cycle's GPU part: agent/core/side.h */
	CHUNK_STACKS, /* call stacks and modules: agent/core/stacks.h */
	CHUNK_REST /* of any size: what spool_close gave back */
};

struct chunk {
	uint32_t magic;
	uint32_t size; /* bytes with this header: SMALL, MIDDLE or LARGE */
	_Atomic uint32_t kind; /* enum chunk_kind */
	_Atomic uint32_t used; /* committed bytes with this header */
	_Atomic uint32_t taken; /* the writer has read it: later commits are late */
	uint32_t spare;
	uint64_t cycle; /* cycle number (DATA) */
	_Atomic uint64_t next_free; /* offset, while FREE */
	_Atomic uint64_t next_left; /* offset, while a dead thread's leftover */
	uint64_t pad[2];
};
_Static_assert(sizeof(struct chunk) == 64, "chunk header");

/* Totals that outlive the cycles; the launcher sums them for its closing lines. */
struct spool_totals {
	_Atomic uint64_t files, bytes, steps;
	_Atomic uint64_t events[REC_KINDS];
	_Atomic uint64_t drops[REC_KINDS];
	_Atomic uint64_t whys[DROP_WHYS];
	_Atomic uint64_t cost_ns; /* estimated time our callbacks took in windows */
	_Atomic uint64_t discarded; /* provisional cycles thrown away */
	_Atomic uint64_t cuda[CUDA_COUNTS];
	_Atomic uint64_t heap[HEAP_COUNTS];
	char last_file[4096]; /* path of the newest finished file */
};

/* What the scheduler saw; for "saw 3 Optimizer.step, ..." (written by sched). */
struct spool_sched {
	_Atomic uint64_t boundaries; /* steps counted */
	_Atomic uint64_t optimizer_steps, loader_nexts, backwards, marker_hits;
	_Atomic uint64_t windows; /* opened, provisional ones not counted */
	_Atomic uint64_t missed; /* could not be opened: the cap was reached */
	char chosen[64]; /* what `auto` took, as text; empty = nothing yet */
};

struct spool_header {
	char magic[8];
	uint32_t version, header_size;
	char build[48]; /* our version */
	uint64_t cap; /* bytes mapped */
	_Atomic uint64_t limit; /* bytes that may be handed out: cap, or a share of it */
	_Atomic uint64_t used; /* bytes handed out: the next new chunk's offset */
	_Atomic uint64_t ready; /* bytes reserved and touched */
	_Atomic uint64_t reserved; /* bytes reserved (space guaranteed) */
	uint8_t kept; /* lies in a file: survives a kill */
	uint8_t spare[7];

	/* whose it is */
	char host[72], boot_id[40], job[72];
	uint32_t pid, ppid;
	uint64_t start_time; /* field 22 of /proc/pid/stat */
	uint64_t pid_ns; /* inode of /proc/self/ns/pid */
	int64_t base_ns; /* ts 0 of every file of the job */
	_Atomic uint64_t exit_ticks; /* when the process said goodbye, 0 = it did not */
	char exe[256]; /* basename of argv[0] */

	/* clock.h: ticks to time */
	uint64_t clock_kind; /* enum clock_kind */
	_Atomic uint64_t clocks; /* triples stored */
	struct clock_triple clock[SPOOL_CLOCKS];

	_Atomic uint64_t cycles; /* opened so far */
	struct spool_totals totals;
	struct spool_sched sched;
	char config[SPOOL_CONFIG]; /* effective options, "key = value\n" */
	char facts[SPOOL_FACTS]; /* what was found: "key = json text\n" */
};
_Static_assert(sizeof(struct spool_header) <= SPOOL_HEADER, "spool header");

/* ---- the owner's side ---- */

struct spool {
	struct spool_header *head; /* NULL until spool_open */
	uint8_t *base; /* == head */
	int fd; /* -1 for private memory */
	char path[4096]; /* empty for memory */
};
extern struct spool spool; /* one per process; forgotten by spool_forget */

/* Makes and maps <dir>/<name>.  dir NULL or failing: private memory. `cap` bytes. */
int spool_open(const char *dir, uint64_t cap);
/* The same in memory that the launcher of job `id` holds as well (hold.h). */
int spool_open_held(const char *id, uint64_t cap);
/* Lets 1 / `divisor` of the cap be handed out from now on. */
void spool_share(unsigned divisor);
/* In a forked child: drop the parent's mapping from view (touches nothing). */
void spool_forget(void);
/* Writer thread: touch `ahead` bytes, and reserve several times as many, past what is
 * handed out. 0, or -errno when the space is refused (what is reserved stays usable). */
int spool_prepare(uint64_t ahead);
/* Is half of what was last prepared in use? True once after each spool_prepare. */
bool spool_low(void);
/* At the process's end: what was reserved and never handed out goes back to the disk, for
 * a sweep may come much later. From then on there is room for two chunks. Any thread. */
void spool_close(void);
/* A chunk of `kind` for cycle `cycle`, at least `size` bytes; 0 at the cap. */
uint64_t chunk_take(enum chunk_kind kind, uint32_t size, uint64_t cycle);
void chunk_give(uint64_t offset);
/* Chunks of one kind that all threads put entries into, one chunk after the other. */
struct chunk_fill {
	_Atomic uint64_t chunk; /* offset of the one that takes new entries */
	_Atomic uint64_t taken; /* bytes of all so far */
};
/* Offset of room for `size` bytes; all of them together take cap / share at most. 0: no
 * room. */
uint64_t chunk_room(struct chunk_fill *f, enum chunk_kind kind, uint32_t size,
		    unsigned share);
void spool_forget_chunks(void); /* parts of spool_forget */
void spool_forget_reserve(void);
/* spool_reserve.c: space that cannot be refused later; what has no file has all of it. 0
 * or -errno. */
int spool_reserve(uint64_t from, uint64_t to);
static inline struct chunk *chunk_at(uint64_t offset)
{
	return (struct chunk *)(spool.base + offset);
}
/* Appends "key = value\n" to the facts; value is JSON text. Cold, any thread.
 */
void spool_fact(const char *key, const char *json);

/* ---- the reader's side: a mapping that may be damaged or hostile ---- */

struct spool_view {
	const uint8_t *base;
	uint64_t size; /* bytes that may be read */
	const struct spool_header *head;
};

/* Checks the header. Returns 0 or -EINVAL. */
int spool_view_init(struct spool_view *v, const void *base, uint64_t size);
/* Next chunk at or after *at with a sound header, or NULL. Moves *at behind it. */
const struct chunk *spool_view_next(const struct spool_view *v, uint64_t *at);

#endif
