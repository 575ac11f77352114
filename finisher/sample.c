/* SPDX-License-Identifier: Apache-2.0 */
/* The finisher samples a process's memory while a window is open, so that no thread of
 * the process has to look at a clock. */
#include "agent/core/clock.h"
#include "base/array.h"
#include "config/config.h"
#include "finisher/known.h"
#include "writer/copy.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATM_NEW = -1, STATM_NONE = -2 }; /* not opened yet; cannot be opened */

#define SEEN_MOST 8192 /* samples: then every other one goes, and half as many come */

void sample_begin(struct known *k, const struct spool_header *head)
{
	struct config *c = malloc(sizeof(*c));
	char text[SPOOL_CONFIG + 1];

	memcpy(text, head->config, SPOOL_CONFIG);
	text[SPOOL_CONFIG] = '\0';
	if (c)
		config_lines(c, text);
	k->watched =
		c && (c->malloc || c->profile_memory) && head->clock_kind == clock_kind;
	free(c);
}

void sample_free(struct known *k)
{
	if (k->statm >= 0)
		close(k->statm);
	k->statm = -1;
	free(k->seen);
	k->seen = NULL;
	k->seen_n = k->seen_room = 0;
}

/* Of two neighbouring samples the later one stays, with the larger resident size. */
static void thin_samples(struct known *k)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < k->seen_n; i += 2) {
		uint64_t rss = k->seen[i].rss, anonymous = k->seen[i].r.end;

		k->seen[n] = k->seen[i + 1];
		if (rss > k->seen[n].rss) {
			k->seen[n].rss = rss;
			k->seen[n].r.end = anonymous;
		}
		n++;
	}
	k->seen_n = n;
	k->seen_every = 2 * k->seen_every + 1;
}

/* After the first thinning each second sample is kept, after the next each fourth: a long
 * window has samples from end to end. */
static void keep_sample(struct known *k, const struct rec_heap *r)
{
	if (k->seen_skip) {
		k->seen_skip--;
		return;
	}
	k->seen_skip = k->seen_every;
	if (!GROW(k->seen, k->seen_room, k->seen_n))
		return;
	k->seen[k->seen_n++] = *r;
	if (k->seen_n == SEEN_MOST)
		thin_samples(k);
}

/* An open statm stays that process's, whoever has the pid later: reading it fails
 * then. After it was opened the process is looked for once more, for the pid may have
 * been given to another in between. */
static bool open_statm(struct known *k)
{
	struct life_who who = { k->held >= 0 ? "" : k->name, k->pid, k->start, k->ino };
	char path[64];

	if (k->statm != STATM_NEW)
		return k->statm >= 0;
	snprintf(path, sizeof(path), "/proc/%u/statm", k->pid);
	k->statm = open(path, O_RDONLY | O_CLOEXEC);
	if (k->statm >= 0 && life_look(&who) != LIFE_HERE)
		close(k->statm);
	else if (k->statm >= 0)
		return true;
	k->statm = STATM_NONE;
	return false;
}

/* Reads statm's second number, in pages of this machine: cheaper for the kernel than
 * smaps, which walks the page tables. The third number counts pages of files, and shared
 * ones. */
static void read_resident(struct known *k, struct rec_heap *r)
{
	unsigned long long size, pages, shared;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	char text[128];
	ssize_t n = open_statm(k) ? pread(k->statm, text, sizeof(text) - 1, 0) : 0;

	if (n <= 0)
		return;
	text[n] = '\0';
	if (sscanf(text, "%llu %llu %llu", &size, &pages, &shared) != 3 || !pages)
		return;
	r->r.flags |= HEAP_HAS_RSS;
	r->rss = pages * page;
	r->r.end = pages > shared ? (pages - shared) * page : 0;
}

/* Has the process a window now? Without a slot: it may have, if it ever had one. */
static bool has_window(const struct known_all *all, struct known *k)
{
	uint64_t cycles = 0;

	if (all->page && k->slot < 0 && k->pid)
		k->slot = page_slot(all->page, k->pid, k->start, k->ino);
	if (all->page && k->slot >= 0)
		return page_gate(all->page, k->slot) != 0;
	return !copy_bytes(k->fd, &cycles, offsetof(struct spool_header, cycles),
			   sizeof(cycles)) &&
	       cycles;
}

static void look_at(struct known *k)
{
	uint64_t sum[SPOOL_COUNTERS];
	struct rec_heap r = { .r = { .kind = REC_HEAP, .begin = clock_ticks() } };

	if (copy_counters(k->fd, sum)) {
		r.r.flags |= HEAP_HAS_COUNTS;
		r.allocs = sum[0];
		r.allocated = sum[1];
		r.frees = sum[2];
		r.live = (int64_t)(sum[1] - sum[3]);
	}
	read_resident(k, &r);
	if (r.r.flags)
		keep_sample(k, &r);
}

bool sample_all(struct known_all *all)
{
	bool any = false;

	for (size_t i = 0; i < all->n; i++) {
		struct known *k = all->at[i];

		if (k->state != KNOWN_LIVE || !k->watched || k->fd < 0 ||
		    !has_window(all, k))
			continue;
		any = true;
		look_at(k);
	}
	return any;
}
