/* SPDX-License-Identifier: Apache-2.0 */
#include "finisher/worker.h"
#include "base/log.h"
#include "base/sys.h"
#include "finisher/apart.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define BACKLOG 128 /* waiting spools, whose memory counts for more than the priority */

static _Atomic uint32_t progress;
static _Atomic bool cancel; /* the file that is being written is given up */

static int beat_progress(void)
{
	atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
	return atomic_load_explicit(&cancel, memory_order_relaxed);
}

/* ---- one spool ---- */

static bool has_work(const struct known *k)
{
	return !k->busy && k->headed && !k->meanwhile &&
	       (k->state == KNOWN_DEAD || (k->state == KNOWN_LIVE && k->look));
}

/* A living process comes first: it waits for us, and its records go on to take memory. */
static struct known *next_spool(struct worker *w)
{
	struct known *dead = NULL;

	if (w->waits)
		return NULL;
	for (size_t i = 0; i < w->all->n; i++) {
		struct known *k = w->all->at[i];

		if (!has_work(k) || !known_open(w->all, k))
			continue;
		if (k->state == KNOWN_LIVE)
			return k;
		dead = dead ? dead : k;
	}
	return dead;
}

static void settle_spool(struct worker *w, struct known *k, int err, bool dead)
{
	k->busy = false;
	if (!dead || err == -ECANCELED) {
		k->look |= err == -ECANCELED;
		return;
	}
	if (k->state == KNOWN_OVER)
		return;
	if (err == -EINVAL)
		log_warn("%s/%s: is damaged, or from another version of proflaunch",
			 w->all->dir, k->name);
	known_leave(w->all, k);
}

static void run_one(struct worker *w, struct known *k)
{
	struct task t = { .how = w->how,
			  .name = k->name,
			  .fd = k->fd,
			  .ino = k->ino,
			  .dead = k->state == KNOWN_DEAD,
			  .own = k->own,
			  .cut = k->cut };
	struct rec_heap *seen = k->seen_n ? malloc(k->seen_n * sizeof(*seen)) : NULL;
	int err;

	if (seen) {
		memcpy(seen, k->seen, k->seen_n * sizeof(*seen));
		t.seen = seen;
		t.seen_n = k->seen_n;
	}
	k->busy = true;
	k->look = false;
	worker_unlock(w);
	err = task_run(&t);
	free(seen);
	/* To give the file's blocks back may take time: the table is not locked
	 * meanwhile. */
	if (t.dead && (!err || err == -ENODATA))
		known_end(w->all, k);
	worker_lock(w);
	k->own = t.own;
	settle_spool(w, k, err, t.dead);
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;

	worker_lock(w);
	w->tid = sys_tid();
	w->is_low = false;
	while (!w->quit) {
		struct known *k = next_spool(w);

		beat_progress();
		if (k && w->low && !w->is_low)
			apart_give_way();
		w->is_low |= k && w->low;
		w->idle = !k;
		if (shared_is_crowded(w->how->shared))
			known_forget(w->all);
		if (k)
			run_one(w, k);
		else
			pthread_cond_wait(&w->more, &w->lock);
	}
	worker_unlock(w);
	return NULL;
}

/* ---- for the watch ---- */

static void begin_thread(struct worker *w, bool low)
{
	w->low = low;
	w->quit = false;
	w->idle = true;
	if (pthread_create(&w->thread, NULL, run_worker, w)) {
		log_warn("cannot start a thread: %s", sys_error(errno));
		_exit(1);
	}
}

void worker_start(struct worker *w, struct known_all *all, const struct task_how *how,
		  bool low)
{
	w->all = all;
	w->how = how;
	w->normal = getpriority(PRIO_PROCESS, 0); /* the caller's */
	writer_beat = beat_progress;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	begin_thread(w, low);
}

void worker_hurry(struct worker *w)
{
	bool was;

	worker_lock(w);
	was = w->is_low;
	w->low = w->is_low = w->has_less = false;
	worker_unlock(w);
	if (!was)
		return;
	apart_share(getpid(), true);
	if (!setpriority(PRIO_PROCESS, w->tid, w->normal))
		return; /* it was allowed: no file has to be begun anew */
	atomic_store(&cancel, true);
	worker_lock(w);
	w->quit = true;
	pthread_cond_signal(&w->more);
	worker_unlock(w);
	pthread_join(w->thread, NULL);
	atomic_store(&cancel, false);
	begin_thread(w, false);
}

void worker_keep_up(struct worker *w, unsigned left)
{
	bool low;

	if (left > BACKLOG)
		worker_hurry(w);
	else if (!left)
		w->low = true;
	worker_lock(w);
	low = w->is_low;
	worker_unlock(w);
	if (low && !w->has_less)
		w->has_less = apart_share(getpid(), false);
}

void worker_lock(struct worker *w)
{
	pthread_mutex_lock(&w->lock);
}

void worker_unlock(struct worker *w)
{
	pthread_mutex_unlock(&w->lock);
}

void worker_look(struct worker *w)
{
	for (size_t i = 0; i < w->all->n; i++)
		w->all->at[i]->look |= w->all->at[i]->state == KNOWN_LIVE;
}

unsigned worker_left(struct worker *w)
{
	unsigned left = 0, living = 0;
	bool work = false;

	for (size_t i = 0; i < w->all->n; i++) {
		const struct known *k = w->all->at[i];

		work |= has_work(k);
		living += has_work(k) && k->state == KNOWN_LIVE;
		left += k->busy || (k->headed && k->state == KNOWN_DEAD);
	}
	if (work && !w->waits)
		pthread_cond_signal(&w->more);
	atomic_store(&w->how->shared->left, left);
	return left + living;
}

void worker_beat(struct worker *w)
{
	uint32_t now = atomic_load(&progress);

	if (w->idle || now != w->beaten)
		atomic_fetch_add(&w->how->shared->beat, 1);
	w->beaten = now;
}
