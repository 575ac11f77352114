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
	PHASE_RUN, /* the command runs: files are made at the lowest priority */
	PHASE_END, /* the command has ended: all ended processes are written */
	PHASE_LINGER, /* the launcher goes; other processes go on */
	PHASE_STOP, /* the rest is left to recover */
};

struct shared {
	/* the launcher's */
	_Atomic uint32_t phase; /* futex */
	_Atomic uint32_t
		died; /* signal that ended the last finisher; UINT32_MAX: a hang */
	/* the finisher's */
	_Atomic uint32_t beat; /* changes as long as the finisher gets on */
	_Atomic uint32_t answer; /* futex: the phase that the finisher has finished */
	_Atomic uint32_t left; /* spools to be written */
	_Atomic uint32_t living; /* processes that go on */
	_Atomic uint32_t own; /* processes that have files of their own */
	_Atomic uint64_t cpu_ns; /* used by finishers and their children */
	_Atomic uint8_t held_done[SHARED_HELD]; /* the launcher may close these */
	/* the window being written: look_back judges by it when a finisher has died */
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
	uint32_t done_n, kept_n; /* keys; keys that stayed at the last shared_forget */
	_Atomic uint64_t done[SHARED_DONE]; /* keys, open addressing */
	uint32_t done_of[SHARED_DONE]; /* hash of the name of the key's spool */
};

struct shared *shared_make(void);
/* Stores how much processor time this process and its children have used, in ns, on top
 * of the finishers before it. */
void shared_tell_cpu(struct shared *s, uint64_t before);
/* Removes the file that a finisher, which is gone, had begun to write. */
void shared_tidy(struct shared *s);

/* The key of a spool's window, by the spool's name, which no other spool of the job ever
 * has; number 0 and SHARED_WHOLE stand for the spool itself. */
#define SHARED_WHOLE UINT64_MAX
uint64_t shared_key(const char *name, uint64_t number);
bool shared_is_done(const struct shared *s, const char *name, uint64_t number);
void shared_set_done(struct shared *s, const char *name, uint64_t number);

/* Is half of the room gone that was free after the last shared_forget? */
bool shared_is_crowded(const struct shared *s);
/* shared_keep notes a spool that is still there; shared_forget drops all others' keys. */
#define SHARED_NAMES 65536
struct shared_names {
	uint8_t bits[SHARED_NAMES / 8];
};
void shared_keep(struct shared_names *names, const char *name);
void shared_forget(struct shared *s, const struct shared_names *names);

#endif
