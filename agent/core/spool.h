/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool - the crash-safe memory of one process: a header, then chunks.
 *
 * It is a file that is mapped and closed again: the program never has a descriptor of
 * ours.  The lock that says "alive" stays with the mapping; room on the disk, and the
 * news that there is none, come from populating pages (MADV_POPULATE_WRITE, Linux 5.14).
 * No page is written that was not populated, so a full disk is never a SIGBUS; nor can
 * others read it: a leak checker reads all that it may, and tmpfs makes pages for that.
 *
 * Threads  spool_place: once, while there is one thread.  spool_prepare: our own thread.
 * Memory   `cap` bytes mapped shared, of a file or of a memfd that the launcher holds;
 *          or private memory (then `kept` is false: nothing survives a kill).
 *          Everything is addressed by byte offset from the start.
 * Errors   0 or -errno.
 * Units    bytes; times are ticks unless the name says _ns.
 */
#ifndef CORE_SPOOL_H
#define CORE_SPOOL_H

#include "agent/core/spool_header.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spool {
	struct spool_header *head; /* NULL until spool_begin */
	uint8_t *base; /* NULL until spool_place; then == head, once there is one */
	uint64_t cap; /* bytes mapped */
	uint64_t now; /* bytes still mapped, while it is small */
	uint64_t reserved; /* bytes safe to populate, as far as known at the start */
	_Atomic uint32_t pages; /* of the header, populated: a bit each */
	_Atomic uint64_t open; /* bytes that may be touched; the rest is PROT_NONE */
	_Atomic uint32_t pins; /* threads between spool_pin and spool_unpin */
	_Atomic bool small; /* from spool_shrink or spool_put_away until spool_settle or
			       spool_regrow */
	bool large; /* lies on a disk: large pages are worth their memory */
	bool kept; /* a file, or memory that the launcher holds as well */
	uint64_t ino; /* of the file */
};
extern struct spool spool; /* one per process; forgotten by spool_forget */
extern char spool_path[4096]; /* its file; empty for memory */

/* What may be mapped of `cap` bytes: a sixteenth of what limits on memory leave, if there
 * are some (`group`: of the control group's); 0 = too little to be of use. Opens files.
 */
uint64_t spool_room(uint64_t cap, uint64_t group);
/* What a limit of `bytes` on RLIMIT_AS or RLIMIT_DATA leaves to us, the spool that is
 * there not counted: 2 MiB at least, or 0. Opens a file unseen. */
uint64_t spool_room_below(int resource, uint64_t bytes);
/* Makes and maps <dir>/<name> of `cap` bytes; nothing is written yet, so that it has no
 * blocks. dir NULL: private memory. */
int spool_place(const char *dir, uint64_t cap);
/* The same in memory that the launcher of job `id` holds as well (hold.h). */
int spool_place_held(const char *id, uint64_t cap);
/* Gives up what spool_place made, where it turns out to be of no use. */
void spool_unplace(void);
/* Populates `size` bytes of the header at `at`, so that they may be written; false: no
 * page can be had. True for `at` elsewhere: other memory may be written. */
bool spool_head_has(const void *at, size_t size);
/* Writes the header. -ENOSPC: not a page can be had. */
int spool_begin(void);
/* The header holds all that it must: from now on readers take it for one. */
void spool_show(void);
/* Lets 1 / `divisor` of the cap be handed out from now on. */
void spool_share(unsigned divisor);
/* Unmaps all but what is handed out and `room` bytes; nothing more is handed out until
 * spool_settle or spool_regrow. No thread of ours may run meanwhile. False: nothing was
 * done, as a thread has had it pinned for 50 ms. */
bool spool_shrink(uint64_t room);
void spool_settle(void); /* the spool stays so */
/* While it is small: it will grow to what is handed out and `room` bytes, no more. */
void spool_bound(uint64_t room);
/* Unmaps all but the header, until spool_regrow; for the only thread, which touches
 * nothing of it meanwhile; also where it is small already. False: nothing was done, as
 * nobody else has what lies in this process's memory alone. */
bool spool_put_away(void);
/* The spool is unlocked, and as large as before if it can. False: not even what was
 * handed out is there again. */
bool spool_regrow(void);
/* Populates `ahead` bytes: until spool_unconfine no others are handed out. */
void spool_confine(uint64_t ahead);
void spool_unconfine(void); /* the limit is what it was */
/* In a forked child: the parent's mapping goes, and with it our share of its lock. */
void spool_forget(void);
/* The same where this thread may be in the middle of writing to it: zeros take the
 * spool's place, and nothing is handed out any more. */
void spool_leave(void);
/* Our thread: populate `ahead` bytes past what is handed out. 0, or -errno when the space
 * is refused (what is there stays usable). */
int spool_prepare(uint64_t ahead);
/* While it is on, a running spool_prepare stops soon: somebody waits for our thread. */
void spool_halt(bool on);
/* Is half of what was last prepared in use? True once after each spool_prepare. */
bool spool_low(void);
/* Where pages cannot be populated: makes room for `ahead` bytes and more by the file's
 * name; for a thread whose descriptors are its own. 0 or -errno. */
int spool_reserve(uint64_t ahead);
bool spool_must_reserve(uint64_t ahead); /* ... must it be called now? */
void spool_forget_reserve(void);
/* Makes the spool one mapping again: where much was recorded, large pages split it. */
void spool_join_pages(void);
/* Makes the bytes before `end`, and some more, accessible; false: they are not mapped. */
bool spool_open_to(uint64_t end);
/* Until spool_unpin nothing is unmapped that was not handed out; false: it is now, and
 * there is nothing to undo. Any thread. */
bool spool_pin(void);
void spool_unpin(void);
/* Populates a chunk that no thread of ours has made ready; false: it cannot be
 * written. Pinned. */
bool spool_populate(uint64_t at, uint64_t size);
/* Appends "key = value\n" to the facts; value is JSON text. Cold, any thread.
 */
void spool_fact(const char *key, const char *json);

#endif
