/* SPDX-License-Identifier: Apache-2.0 */
#include "finisher/known.h"
#include "agent/core/clock.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/text.h"
#include "finisher/spares.h"
#include "writer/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TICK_NS   20000000ll /* longer than the steps of any file system's clock */
#define LOOK_NS   1000000000ll /* a process is looked for, whatever its lock says ... */
#define IN_MEMORY "memory " /* spools in memory; no file's name has a blank */
#define SOON_NS   50000000ll /* ... while somebody waits for it */
#define BACK_NS   10000000000ll /* how long a program takes to come to `import torch` */
#define BACK_MOST 64

int known_start(struct known_all *all, const char *dir)
{
	all->dir = dir;
	all->folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (all->folder < 0)
		return -errno;
	all->ns = life_namespace();
	all->lost = true;
	return 0;
}

/* ---- finding ---- */

static bool is_known(const struct known_all *all, const char *name)
{
	uint32_t hash = (uint32_t)hash_bytes(name, strlen(name));

	for (size_t i = all->n; i--;)
		if (all->at[i]->hash == hash && all->at[i]->state != KNOWN_OVER &&
		    !strcmp(all->at[i]->name, name))
			return true;
	return false;
}

/* NULL: there is no memory, or the spool is known already. */
static struct known *add_spool(struct known_all *all, const char *name)
{
	struct known *k = NULL;

	if (!is_known(all, name) && GROW(all->at, all->room, all->n))
		k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	snprintf(k->name, sizeof(k->name), "%s", name);
	k->hash = (uint32_t)hash_bytes(name, strlen(name));
	k->fd = k->held = k->slot = k->statm = -1;
	/* A finisher ended while it read this spool. */
	if (shared_is_done(all->shared, name, SHARED_WHOLE - 1))
		k->state = KNOWN_LEFT;
	all->at[all->n++] = k;
	return k;
}

static bool is_spool(const char *name)
{
	/* Messages show the name, also on a terminal. */
	for (const char *c = name; *c; c++)
		if (*c <= ' ' || *c == 0x7f)
			return false;
	return strlen(name) < SHARED_NAME && text_ends(name, ".spool");
}

/* Opens only files of our own user: another user's file may be anything. */
bool known_open(struct known_all *all, struct known *k)
{
	struct stat st;

	if (k->fd >= 0)
		return true;
	k->fd = openat(all->folder, k->name,
		       O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (k->fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
		return false;
	if (k->fd < 0 || fstat(k->fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid()) {
		k->state = KNOWN_OVER;
		return false;
	}
	k->ino = st.st_ino;
	return true;
}

static void meet_spool(struct known_all *all, const char *name)
{
	struct known *k = is_spool(name) ? add_spool(all, name) : NULL;

	if (!k)
		return;
	if (!life_name(name, &k->pid, &k->start))
		k->pid = 0;
	k->own_pid = k->pid;
	known_open(all, k);
}

static void read_folder(struct known_all *all)
{
	int fd = openat(all->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d)))
		meet_spool(all, e->d_name);
	if (d)
		closedir(d);
}

/* Reads the folder where its time has changed: to take back an inotify watch takes the
 * kernel longer than a short command runs.  A spool made in the same tick of the clock as
 * the last look may have been missed: so the folder is read once more. */
void known_find(struct known_all *all)
{
	struct stat st;
	int64_t changed;

	if (fstat(all->folder, &st))
		return;
	changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	if (!all->lost && changed == all->changed && all->settled)
		return;
	all->settled = sys_clock_ns(CLOCK_REALTIME) - changed > TICK_NS;
	all->changed = changed;
	all->lost = false;
	read_folder(all);
}

void known_hold(struct known_all *all, int fd, int held)
{
	struct known *k = NULL;
	char name[64];
	struct stat st;

	if (!fstat(fd, &st)) {
		snprintf(name, sizeof(name), IN_MEMORY "%d.%llu", held,
			 (unsigned long long)st.st_ino);
		/* NULL where it came already: from the launcher's table, as the finisher
		 * before left its message unread. */
		k = add_spool(all, name);
	}
	if (!k) {
		close(fd);
		return;
	}
	k->fd = fd;
	k->held = held;
	k->ino = st.st_ino;
}

bool known_in_memory(const char *name)
{
	return !strncmp(name, IN_MEMORY, strlen(IN_MEMORY));
}

/* ---- watching ---- */

/* Reads the header, which comes with the first record. -ENODATA: it is not there; another
 * error: that cannot be told. */
static int look_for_header(struct known_all *all, struct known *k)
{
	struct spool_header *h = malloc(sizeof(*h));
	int err = h ? copy_bytes(k->fd, h, 0, sizeof(*h)) : -ENOMEM;

	if (!err && memcmp(h->magic, SPOOL_MAGIC, 8))
		err = -ENODATA;
	if (!err) {
		k->headed = k->look = true;
		if (k->held >= 0) {
			k->pid = k->own_pid = h->pid;
			k->start = h->start_time;
		}
		/* A pid of another pid namespace means another process here. */
		if (h->pid_ns && all->ns && h->pid_ns != all->ns)
			k->pid = 0;
		if (h->version == SPOOL_VERSION)
			sample_begin(k, h);
		/* The process took its slot before it wrote its header. */
		if (all->page)
			k->slot = page_slot(all->page, k->pid, k->start, k->ino);
	}
	free(h);
	return err;
}

static bool is_gone(struct known *k, int64_t now, bool soon)
{
	/* The launcher's descriptor of a spool in memory has the lock itself, so it
	 * cannot test it. */
	int locked = k->held >= 0 ? -ENOLCK : life_locked(k->fd);
	struct life_who who = { k->held >= 0 ? "" : k->name, k->pid, k->start, k->ino };

	/* overlayfs gives up a lock with the descriptor, while the file is still mapped:
	 * then the process itself is looked for. */
	if (!locked && !k->lockless)
		k->lockless = life_look(&who) == LIFE_HERE;
	if (!locked && !k->lockless)
		return true;
	if (soon && k->look_ns > now + SOON_NS)
		k->look_ns = now + SOON_NS;
	if (now < k->look_ns)
		return false;
	k->look_ns = now + LOOK_NS;
	return life_look(&who) == LIFE_GONE;
}

/* A shell that starts a program with torch has ended long before torch is met: so what it
 * allocated is not written at once. At most BACK_MOST spools wait so, for they take
 * room. */
static void keep_back(struct known_all *all, struct known *k, int64_t now)
{
	uint8_t meanwhile = 0;

	if (!all->page || all->kept_back >= BACK_MOST ||
	    copy_bytes(k->fd, &meanwhile, offsetof(struct spool_header, meanwhile), 1) ||
	    !meanwhile)
		return;
	k->meanwhile = true;
	k->until_ns = now + BACK_NS;
	all->kept_back++;
}

static void let_go(struct known_all *all, struct known *k)
{
	k->meanwhile = false;
	all->kept_back--;
}

static void bury_spool(struct known_all *all, struct known *k, int64_t now)
{
	k->state = KNOWN_DEAD;
	/* A header that cannot be read may be there: the task says what is the matter. */
	if (!k->headed)
		k->headed = look_for_header(all, k) != -ENODATA;
	if (all->page && k->slot < 0 && k->pid)
		k->slot = page_slot(all->page, k->pid, k->start, k->ino);
	if (all->page && k->slot >= 0) {
		k->cut = leader_cut(all->page, k->slot);
		if (!all->shared->totals.opened && k->headed)
			all->shared->totals.opened = page_opened(all->page);
		/* A next finisher needs a slot that tells of an open window: that slot
		 * stays. */
		if (!k->cut.number)
			page_free(all->page, k->slot, k->pid, k->ino);
	}
	if (k->headed) {
		copy_trim(k->fd);
		keep_back(all, k, now);
	} else {
		known_end(all, k);
	}
}

/* Looks at the leaders' windows before a leader's slot becomes free for others. */
static void look_at_leaders(struct known_all *all, int64_t now)
{
	for (size_t i = 0; all->page && i < all->n; i++) {
		struct known *k = all->at[i];

		if (k->state == KNOWN_LIVE && k->slot >= 0)
			leader_look(all->page, k->slot, &k->wait, now);
	}
}

void known_judge(struct known_all *all, int64_t now, bool soon)
{
	bool torch = all->kept_back && page_has_torch(all->page);
	unsigned living = 0;

	look_at_leaders(all, now);
	for (size_t i = 0; i < all->n; i++) {
		struct known *k = all->at[i];

		if (k->meanwhile && (torch || soon || now >= k->until_ns))
			let_go(all, k);
		if (k->state != KNOWN_LIVE || !known_open(all, k)) {
			living += k->state == KNOWN_LIVE;
			continue;
		}
		if (!k->look_ns)
			k->look_ns = now + LOOK_NS;
		if (!k->headed)
			look_for_header(all, k);
		if (!k->busy && is_gone(k, now, soon))
			bury_spool(all, k, now);
		else
			living++;
	}
	all->living = living;
}

static bool has_spool(const struct known_all *all, uint32_t pid)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->at[i]->state == KNOWN_LIVE && all->at[i]->own_pid == pid)
			return true;
	return false;
}

/* A member whose pid is gone has left a fork child, with or without a spool, or is of
 * another pid namespace. Where no other process is left all such members count as one. */
unsigned known_living(struct known_all *all, int64_t now, bool soon)
{
	unsigned n = all->living;
	bool unseen = false;

	if (all->page &&
	    (soon || now >= all->members_ns || page_keeps_locks(all->page))) {
		all->members = page_members(all->page, all->member, KNOWN_MEMBERS);
		all->members_ns = now + LOOK_NS;
	}
	for (unsigned i = 0; i < all->members; i++) {
		if (has_spool(all, all->member[i]))
			continue;
		if (sys_start_time(all->member[i]))
			n++;
		else
			unseen = true;
	}
	return n ? n : unseen;
}

/* ---- the end ---- */

void known_end(struct known_all *all, struct known *k)
{
	bool spare = k->held < 0 && spares_empty(all->page, all->folder, k->name, k->fd);

	if (k->held >= 0)
		atomic_store(&all->shared->held_done[k->held], 1);
	else if (!spare && unlinkat(all->folder, k->name, 0) && errno != ENOENT)
		log_warn("%s/%s: %s", all->dir, k->name, sys_error(errno));
	/* The same process may take the file again: not before its old slot is free. */
	if (k->cut.number)
		page_free(all->page, k->slot, k->pid, k->ino);
	if (spare)
		spares_offer(all->page, all->folder, k->ino);
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
	k->state = KNOWN_OVER;
}

void known_leave(struct known_all *all, struct known *k)
{
	struct totals *t = &all->shared->totals;

	k->state = KNOWN_LEFT;
	if (k->held >= 0)
		t->lost++;
	else
		t->failed++;
}

void known_forget(const struct known_all *all)
{
	struct shared_names names = { 0 };

	for (size_t i = 0; i < all->n; i++)
		if (all->at[i]->state != KNOWN_OVER)
			shared_keep(&names, all->at[i]->name);
	shared_forget(all->shared, &names);
}

void known_sweep(struct known_all *all)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct known *k = all->at[i];

		if (k->state != KNOWN_OVER || k->busy) {
			all->at[n++] = k;
			continue;
		}
		if (k->fd >= 0)
			close(k->fd);
		sample_free(k);
		free(k);
	}
	all->n = n;
}
