/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared - memory of the launcher and its finishers alone.
 *
 * A finisher may die at any time: what must outlive it is here.  No process of the job
 * can reach it, so that what it says of windows that are done is true whatever stands in
 * a spool.
 *
 * Threads  the launcher's one, the finisher's two; each field says whose it is.
 * Memory   anonymous, shared through fork; about 2.5 MiB, touched as it is needed.
 * Errors   shared_make: NULL.
 * Units    as named.
 */
#ifndef FINISHER_SHARED_H
#define FINISHER_SHARED_H

#include "finisher/lines.h"
#include "finisher/totals.h"

#define SHARED_DONE (1u << 17) /* a power of two */
#define SHARED_HELD 4096 /* spools in memory that the launcher keeps */
#define SHARED_NAME 256

enum shared_phase {
	PHASE_RUN, /* the command runs: at the lowest priority */
	PHASE_END, /* it has ended: all that has, too, is written now */
	PHASE_LINGER, /* the launcher goes; other processes go on */
	PHASE_STOP, /* the rest is left to recover */
};

struct shared {
	/* the launcher's */
	_Atomic uint32_t phase; /* futex */
	_Atomic uint32_t
		died; /* signal that ended the last finisher; UINT32_MAX: a hang */
	/* the finisher's */
	_Atomic uint32_t beat; /* changes all the time */
	_Atomic uint32_t answer; /* futex: the phase that it has come to the end of */
	_Atomic uint32_t left; /* spools to be written */
	_Atomic uint32_t living; /* processes that go on */
	_Atomic uint32_t own; /* processes that have files of their own */
	_Atomic uint64_t cpu_ns; /* what finishers have used, and their children */
	_Atomic uint8_t held_done[SHARED_HELD]; /* the launcher may close these */
	/* what is being written: a finisher that dies there had better leave it */
	struct {
		_Atomic uint32_t on;
		uint32_t kills; /* finishers that were killed in it */
		uint64_t key,
			killed; /* of the window; of the one that `kills` is about */
		char spool[SHARED_NAME];
		char path[PATH_MAX]; /* of the file; empty: not begun */
	} now;
	struct lines lines; /* the launcher's; when that has gone the finisher's */
	struct totals totals;
	uint32_t done_n, kept_n; /* keys; those that stayed when it was looked through */
	_Atomic uint64_t done[SHARED_DONE]; /* keys, open addressing */
	uint32_t done_of[SHARED_DONE]; /* whose: of the spool's name */
};

struct shared *shared_make(void);
/* This process and its children have used so much processor time, in ns, on top of what
 * finishers before it had. */
void shared_tell_cpu(struct shared *s, uint64_t before);
/* What a finisher that is gone had begun to write goes. */
void shared_tidy(struct shared *s);

/* A window of a spool, by the spool's name, which no other of the job ever has; number 0
 * and SHARED_WHOLE stand for the spool itself. */
#define SHARED_WHOLE UINT64_MAX
uint64_t shared_key(const char *name, uint64_t number);
bool shared_is_done(const struct shared *s, const char *name, uint64_t number);
void shared_set_done(struct shared *s, const char *name, uint64_t number);

/* Half of what was free then has gone since it was looked through. */
bool shared_is_crowded(const struct shared *s);
/* What is done of all others is forgotten: their spools are no more. */
#define SHARED_NAMES 65536
struct shared_names {
	uint8_t bits[SHARED_NAMES / 8];
};
void shared_keep(struct shared_names *names, const char *name);
void shared_forget(struct shared *s, const struct shared_names *names);

#endif
