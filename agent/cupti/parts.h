/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parts - what the files of agent/cupti know of each other.
 *
 * Threads  as each part says. "The consumer" is the one thread of consumer.c.
 * Memory   maps and statics of our own; CUPTI's buffers are never unmapped.
 * Errors   CUPTI results (api.h) as int, 0 = fine; bool: false = cannot be.
 * Units    ns are CUPTI's clock unless named otherwise; ticks are clock.h's.
 *
 * A record's way: buffers.c (requested, filled, completed) -> consumer.c -> decode.c
 * -> link.c (which call, so which window) -> windows.c -> side.h.
 */
#ifndef CUPTI_PARTS_H
#define CUPTI_PARTS_H

#include "agent/core/deny.h"
#include "agent/core/record_cuda.h"
#include "agent/core/side.h"
#include "agent/cupti/api.h"
#include "agent/cupti/cupti.h"
#include "agent/cupti/layout.h"

/* ---- session.c: is CUPTI ours, and which. Any thread. ---- */

enum session_state {
	SESSION_NONE, /* no driver has answered yet */
	SESSION_STARTING,
	SESSION_READY, /* ours */
	SESSION_LEAVING, /* on its way there: what CUPTI holds of ours still comes back */
	SESSION_ASIDE, /* in another profiler's hands: a gap */
	SESSION_DEAD, /* cannot be had: said why */
};
struct session {
	_Atomic uint32_t state; /* enum session_state */
	struct config config;
	struct cupti_actions act;
	bool wanted; /* config.activities has cuda */
	_Atomic bool
		refused; /* kinds could not be switched on: what came is no part of us */
	_Atomic bool nodes; /* whole graphs were wanted, a client had their nodes */
	bool late; /* found CUDA already at work */
	bool per_thread; /* CUPTI fills a buffer for each thread */
	uint32_t version; /* cuptiGetVersion */
	uint32_t driver; /* cuDriverGetVersion, 0 = not known */
	unsigned deny; /* enum deny */
	const char *denied; /* the sentence, NULL = nothing is known against it */
	const char *foreign; /* another tool's CUDA_INJECTION64_PATH */
	void *subscriber;
	const char *strides; /* "probed" or "table" */
	char why[384]; /* why not */
};
extern struct session session;

/* A driver has answered. True: CUPTI is ours; nothing is switched on yet. */
bool session_start(bool late);
/* CUPTI is not ours (any more), and all that it had of us has come back. */
bool session_gone(void);
/* Counts gaps that ended; `last`: also one that still lasts. The consumer. */
void session_gaps(bool last);
/* What CUPTI calls back of rare events, as far as it is ours; switched on (again) on
 * session.subscriber by session_watch. */
void session_callback(int domain, uint32_t cbid, const void *data);
void session_watch(void);
void session_fork_child(void);

/*
 * Another profiler needs CUPTI for itself and cannot be shared with; `who` is text that
 * stays. Kinds off, callbacks theirs, subscriber given back; a gap begins. Any thread;
 * idempotent. session_left: what lay in our buffers is back, it may have CUPTI; called
 * when session_step_aside was true. session_return: it is gone; subscribes and registers
 * again.
 */
bool session_step_aside(const char *who);
void session_left(void);
void session_return(void);
bool session_other(void); /* another CUPTI is at work (cupti_other) */
/* cuptiActivityFlushAll, one at a time. Not from a callback of CUPTI's. */
int session_flush(uint32_t flag);
void session_tell(void); /* the facts, again: something has changed */
/* The runtime is asked for its version: not while it may be starting itself. */
void session_ask_runtime(void);
/* Once: the GPU is not recorded (any more), and why. `what` is CUPTI's function. */
void session_give_up(const char *what, int result);
void session_give_up_for(const char *why);
void session_say_busy(bool again); /* somebody has CUPTI; again: and we come back */
/* Once each: what an option asks for is not to be had, the rest is. For a kind; for what
 * is recorded of others. `result` 0: this CUPTI has no such function. */
void session_lacks_kind(uint32_t kind, int result);
void session_lacks(const char *option, const char *what, const char *function,
		   int result);
void session_give_up_missing(const char *path, const char *name);
void session_give_up_foreign(const char *path);

/* ---- kinds.c: the only one that switches kinds and calls. Any thread. ---- */

void kinds_start(void); /* what we want, by configuration and library */
/* As configured, or nothing of ours. The first error, 0 = fine. */
int kinds_ours(bool on);
const char *kinds_failed(void); /* CUPTI's function that gave that error */
bool kinds_ours_on(void);
int kinds_rest(void); /* ours off, unless a window has come meanwhile */
void kinds_lost(void); /* others have had CUPTI: nothing is on any more */
/* A client of the same CUPTI (the program's torch.profiler) switches a kind, or a
 * single API call of domain 1 or 2. What it gets as the result of its call. */
int kinds_theirs(uint32_t kind, bool on);
int kinds_theirs_api(int domain, uint32_t cbid, bool on);
/* The client is gone: nothing is wanted by it any more. */
void kinds_theirs_none(void);
/* Is a record of this kind (cbid: of calls, else 0) what it asked for just now? */
bool kinds_for_theirs(uint32_t kind, uint32_t cbid);
/* Are there times at which kernels are recorded and calls are not? */
bool kinds_stray(void);
/* The kinds that we ask for, as bits. Constant once the session is ready. */
uint64_t kinds_for_ours(void);
void kinds_fork_child(void);

/* ---- tee.c, yield.c: the program's own profiler ---- */

/*
 * In the completed callback (any thread of CUPTI's), before the buffer is queued: gives
 * the client a copy of what it asked for. True: the buffer was not ours but the
 * client's, and is served: nothing more is to be done.
 */
bool tee_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		   size_t valid);
/* A flush of ours has returned: all that was complete went through tee_completed. */
void tee_flushed(void);
void tee_fork_child(void);

/* ---- calls.c: CUDA calls by name. One thread until the session is ready. ---- */

enum call_trait {
	CALL_KNOWN = 1,
	CALL_OURS = 2, /* we record it */
	CALL_WORKS = 4, /* launches GPU work */
};
#define CALLS_MOST 2048u
struct call {
	const char *name; /* CUPTI's own text */
	uint16_t length; /* without its _v<digits> */
	uint8_t traits;
	uint32_t id; /* names.h; 0 = not yet */
};
const char *calls_start(bool all_driver_calls); /* why not, NULL = fine */
void calls_forget_names(void); /* the spool is another one */
/* NULL: no such call is known. */
struct call *calls_get(int domain, uint32_t cbid);

/* ---- buffers.c ---- */

struct buffer {
	uint8_t *mem;
	size_t size, valid;
	_Atomic uint64_t turn; /* counts requests */
	_Atomic uint32_t held; /* enum: by CUPTI, or not yet read */
	bool discard; /* of last resort: its records are counted only */
	struct buffer *next;
	_Atomic uint32_t next_free;
};
bool buffers_start(uint32_t mb, bool per_thread, bool null_is_safe);
/* The two callbacks, on any thread. */
void buffers_requested(uint8_t **buffer, size_t *size, size_t *most);
void buffers_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		       size_t valid);
extern void (*buffers_wake)(void); /* a buffer has come back */
bool buffers_ours(const uint8_t *mem); /* any thread */
uint64_t buffers_turn_of(const uint8_t *mem); /* of which request; 0: not ours */
/* The consumer: what has come back, oldest first; each to be given back cleared. */
struct buffer *buffers_take(void);
void buffers_give(struct buffer *b);
void buffers_prepare(void); /* touches buffers ahead of need */
uint64_t buffers_turn(void); /* requests so far */
/* Does CUPTI hold records in a buffer that it asked for at or before `turn`, or has
 * one come back that is not yet read? */
bool buffers_held(uint64_t turn);
uint64_t buffers_refused(void); /* requests that got NULL, since last asked */
void buffers_fork_child(void);

/* ---- windows.c, moments.c: the consumer, but where said ---- */

#define WINDOWS_MOST 256u
enum window_state { WINDOW_FREE, WINDOW_OPEN, WINDOW_SEALED, WINDOW_OVER };
struct window {
	enum window_state state;
	bool thrown; /* nobody wants it any more: nothing of it is missed */
	uint32_t number; /* our own count, from 1; its low bits are the slot */
	struct cycle_info *info; /* NULL once it is over */
	struct side side;
	uint64_t begin, end; /* ns; end UINT64_MAX while open */
	uint64_t launched, matched; /* calls that launch, and those with GPU work */
	bool called; /* calls were seen in it: */
	uint32_t first_call, last_call; /* their correlation ids */
	uint64_t turn; /* buffers_turn at the seal */
	unsigned flushes; /* since the seal */
	bool flushing; /* one is under way that began after the seal */
	int64_t sealed_at, news_at; /* CLOCK_MONOTONIC ns */
};
extern int64_t windows_now; /* CLOCK_MONOTONIC when the consumer last looked */

/* Scheduler's side, stores only. */
void windows_opened(struct cycle_info *info);
void windows_sealed(struct cycle_info *info, bool kept);
bool windows_standing(void); /* one is open that no consumer has seen yet. Any thread. */
bool windows_asked(void); /* has something come that windows_collect did not see? */
void windows_live(bool on); /* a consumer will look. Any thread. */

void windows_collect(void); /* takes what the scheduler has stored */
struct window *windows_at(uint64_t ns); /* open, sealed or over; NULL */
struct window *windows_get(uint32_t number); /* the same, by number */
/* Pending, with calls before and after the one of this correlation id; NULL. */
struct window *windows_around(uint32_t correlation);
unsigned windows_pending(bool *open); /* not yet over; is one open? */
bool windows_fresh(void); /* is one open, or sealed a moment ago? */
bool windows_overdue(void); /* will one soon be given up? */
bool windows_complete(void); /* all calls have their work, CUPTI holds nothing */
void windows_settle(bool all); /* what is complete or too old; or all that is sealed */
void windows_flush(void); /* one begins */
void windows_flushed(void); /* it is over, and all that came is decoded */
void windows_moment(const struct rec_moment *m); /* into every pending one */
void windows_count(enum cuda_count what, uint64_t n); /* to the newest pending one */
void windows_late(const struct window *w);
void windows_gap(uint64_t from, uint64_t to); /* ns */
void windows_fork_child(void);

void moments_take(void); /* takes CUPTI's time, into every pending window */
void moments_write(struct window *w, const struct rec_moment *m);
void moments_replay(struct window *w); /* the newest, into a window that begins */
uint64_t moments_ns(uint64_t ticks); /* ticks as CUPTI tells time */
uint64_t moments_now(void); /* CUPTI's time, to a millisecond or so */
void moments_fork_child(void);

/* ---- link.c: correlation ids. The consumer. ---- */

struct made; /* decode.h */
bool link_start(void);
/* A call: window NULL = outside of all. Brings GPU work that waited for it. */
void link_call(uint32_t correlation, struct window *w, bool works);
/* GPU work: goes to the window of its call, now or when that comes. */
void link_work(uint32_t correlation, const struct made *m);
void link_expire(int64_t age_ns); /* what waited longer: by its own time */
bool link_waits(const struct window *w); /* does work wait that ran in it? */
void link_fork_child(void);

/* ---- walk.c, decode.c: the consumer ---- */

void decode_buffer(const uint8_t *at, size_t valid);
uint64_t decode_count(const uint8_t *at, size_t valid); /* records, unread */
/* Writes a record, its kind and flags set, into a window after the last checks. */
void decode_place(struct window *w, const struct made *m);
extern uint64_t decode_records; /* decoded so far */

/* ---- devices.c: the consumer ---- */

void devices_seen(const uint8_t *record);
void devices_used(uint32_t device);
void devices_write(struct window *w); /* a REC_GPU for each */
uint32_t devices_driver(void); /* cuDriverGetVersion, 0 = no driver. Any thread. */

/* ---- round.c: the consumer ---- */

/* CUPTI is called only outside, where it may keep us. False: what we had in hand is
 * somebody else's now; so for all that return bool, and -1 of round_fetch. */
bool round_enter(void);
void round_leave(void);
int round_fetch(uint32_t flag); /* a flush: what CUPTI says */
bool round_kinds(bool on);
void round_drain(void); /* reads what has come back, and what windows there are */
void round_drops(void);
bool round_flush(void); /* a flush, and all that comes of it */
/* Another thread: the consumer is stuck in CUPTI. False: it is at work all the same. */
bool round_take(void);
bool round_taken(void);
void round_fork_child(void);

/* ---- consumer.c ---- */

bool consumer_start(void); /* idempotent; any thread */
bool consumer_is(uint32_t thread); /* as CUPTI tells threads */
/* Waits until the consumer has gone round `flush`ing: a context ends. */
void consumer_flush(int64_t ns);
/* The process ends: what CUPTI still holds, decoded. False: not in time. */
bool consumer_finish(int64_t ns, bool settle);
bool consumer_ends(void); /* that has been asked for */
void consumer_fork_child(void);

/* ---- bell.c: left for the consumer by any thread, also in callbacks ---- */

void consumer_wake(void);
uint32_t bell_seen(void); /* how often it rang */
void bell_sleep(uint32_t seen, int64_t ns); /* until it rings again; -1 = for good */
void bell_near(bool near); /* a window will open */
void bell_off(bool off); /* switched off in the running program */
bool bell_is_off(void);
bool bell_wants(bool window); /* shall kinds be on, with or without a window? */
void bell_fork_child(void);

/* ---- exit.c ---- */

void exit_register(void); /* a handler; at start and again with the first context */
void exit_fork_child(void);

/* ---- lock.c: between threads of ours and callers; waits 2 s at most ---- */

bool lock_take(_Atomic uint32_t *lock); /* false: not ours, go on all the same */
void lock_give(_Atomic uint32_t *lock, bool taken);

/* ---- text.c: the consumer ---- */

/* Bytes before the NUL (or more than 8192); false: there is no text. */
bool text_length(const char *text, size_t *length);

/* ---- find.c, facts.c ---- */

struct found {
	char path[512]; /* of libcupti, empty = none */
	char cudart[448]; /* path of the CUDA runtime, empty = none seen (static) */
	int runtime; /* its version, its major at first; 0 = none seen */
	int major; /* of libcupti */
	bool mapped; /* it was there before us */
	char why[256]; /* when none: what was looked for */
};
void *find_cupti(struct found *f, uint32_t driver); /* a handle, or NULL */

void facts_tell(const struct found *f); /* into the spool; the last word counts */

#endif
