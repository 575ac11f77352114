/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_header - what a spool begins with: whose it is, its clock, its totals.
 *
 * Threads  written by its process; read by any process that maps it.
 * Memory   the first SPOOL_HEADER bytes of the mapping.
 * Errors   none: a process that reads another's header checks what it takes from there.
 * Units    bytes; times are ticks unless the name says _ns.
 */
#ifndef CORE_SPOOL_HEADER_H
#define CORE_SPOOL_HEADER_H

#include "agent/core/cycle_info.h"
#include "base/tally.h"
#include "config/stages.h"

#define SPOOL_MAGIC   "PROFSPL1"
#define SPOOL_VERSION 20
#define SPOOL_HEADER  (64 * 1024) /* bytes before the first chunk */
#define SPOOL_CLOCKS  512 /* clock triples kept */
#define SPOOL_CONFIG  12288 /* bytes of "key = value" lines */
#define SPOOL_FACTS   8192

struct clock_triple {
	uint64_t ticks;
	int64_t real_ns; /* CLOCK_REALTIME */
	int64_t mono_ns; /* CLOCK_MONOTONIC_RAW */
	int64_t line_ns; /* epoch time as traces tell it: follows CLOCK_REALTIME ... */
	int64_t leap_ns; /* ... but for its jumps, which are summed up here */
	double per_tick; /* ns of line_ns per tick, until the next triple or for good */
};

/* What a thread has allocated and freed in usable bytes (malloc=count); in chunks of
 * kind CHUNK_COUNTERS, so that the finisher can sum them while the process runs. */
struct spool_counters {
	_Atomic uint64_t sum[SPOOL_COUNTERS]; /* allocs, allocated, frees, freed */
	uint64_t spare[8 - SPOOL_COUNTERS];
};
_Static_assert(sizeof(struct spool_counters) == 64, "a line each");

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
};

/* What the scheduler saw; for "saw 3 Optimizer.step, ..." (written by sched). */
struct spool_sched {
	_Atomic uint64_t boundaries; /* steps counted */
	_Atomic uint64_t optimizer_steps, loader_nexts, backwards, marker_hits;
	_Atomic uint64_t windows; /* opened, provisional ones not counted */
	_Atomic uint64_t missed; /* could not be opened: the cap was reached ... */
	_Atomic uint64_t locked_out; /* ... or the program was locking its memory */
	struct {
		_Atomic uint64_t visits, steps;
	} stage[STAGES_MOST]; /* of the user's, config/stages.h */
	char chosen[64]; /* what `auto` took, as text; empty = nothing yet */
};

/* Its pages are populated as they are needed: what every process writes comes first. */
struct spool_header {
	char magic[8];
	uint32_t version, header_size;
	char build[48]; /* our version */
	uint64_t cap; /* bytes mapped at the start */
	_Atomic uint64_t settled; /* bytes, once the program's limits or mlockall have
				     taken some for good; 0 = they have not */
	_Atomic uint64_t limit; /* bytes that may be handed out: cap, or a share of it */
	_Atomic uint64_t used; /* bytes handed out: the next new chunk's offset */
	_Atomic uint64_t ready; /* bytes that our thread has populated */
	_Atomic uint64_t reserved; /* bytes that may be populated */
	uint8_t kept; /* a file, or held by the launcher: survives a kill */
	_Atomic uint8_t meanwhile; /* the open window goes when torch is met */
	uint8_t spare[6];

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

	_Atomic uint64_t cycles; /* opened so far */
	_Atomic uint64_t rare_ns; /* cost of what is rare outside of windows */
	_Atomic uint64_t counters; /* offset of the newest CHUNK_COUNTERS, 0 = none */
	struct spool_totals totals;
	struct spool_sched sched;
	char config[SPOOL_CONFIG]; /* effective options, "key = value\n" */
	char facts[SPOOL_FACTS]; /* what was found: "key = json text\n" */
	struct clock_triple clock[SPOOL_CLOCKS];
	char last_file[4096]; /* path of the newest finished file */
	struct tally seen; /* annotations, as long as none of them ended a step */
};
_Static_assert(sizeof(struct spool_header) <= SPOOL_HEADER, "spool header");

#endif
