/* SPDX-License-Identifier: Apache-2.0 */
/* Groups files by run, and orders them by what they tell of it. */
#include "report/choice.h"
#include "base/array.h"
#include "base/order.h"
#include "report/head.h"
#include "report/memory/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct heads {
	struct head *row;
	size_t n, room, unfinished;
};

/* ---- candidates ---- */

/* Files of a directory, and of its "children", are of one run where their heads do not
 * say another. */
static void name_run(struct head *h)
{
	const char *slash = strrchr(h->path, '/');
	size_t len = slash ? (size_t)(slash - h->path) : 0;

	if (*h->run && h->rank < 0)
		return;
	if (h->child && len > 9)
		len -= 9;
	/* Of a path that is longer, its end tells directories apart. */
	snprintf(h->run, sizeof(h->run), "in %.*s", (int)(len < 140 ? len : 140),
		 h->path + (len < 140 ? 0 : len - 140));
}

static bool add_heads(struct heads *all, const struct folder *f, int64_t since)
{
	for (size_t i = 0; i < f->n; i++) {
		struct head h;

		if (!head_read(&h, f->files[i].path)) {
			all->unfinished++;
			continue;
		}
		if (h.changed < since)
			continue;
		name_run(&h);
		if (!GROW(all->row, all->room, all->n))
			return false;
		all->row[all->n++] = h;
	}
	return true;
}

/* ---- which one ---- */

/* What tells most of a run comes first. */
static int by_use(const struct head *a, const struct head *b)
{
	return order_of(b->operators, a->operators) ?: order_of(a->child, b->child);
}

static int by_time(const struct head *a, const struct head *b)
{
	return order_of(b->changed, a->changed) ?: order_of(b->window, a->window) ?:
	       strcmp(b->path, a->path);
}

static int by_rank(const struct head *a, const struct head *b)
{
	return order_of(a->rank < 0, b->rank < 0) ?: order_of(a->rank, b->rank);
}

static bool is_wanted(const struct choice *c, const struct head *h)
{
	return (c->rank == CHOICE_ANY || c->rank == h->rank) &&
	       (c->window == CHOICE_ANY || c->window == h->window);
}

/* The newest file that tells of a run: its run is the newest. */
static const char *newest_run(const struct heads *all)
{
	const struct head *best = &all->row[0];

	for (size_t i = 1; i < all->n; i++)
		if ((by_use(&all->row[i], best) ?: by_time(&all->row[i], best)) < 0)
			best = &all->row[i];
	return best->run;
}

static const struct head *best_of(const struct choice *c, const struct heads *all,
				  const char *run)
{
	const struct head *best = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const struct head *h = &all->row[i];

		if (strcmp(h->run, run) != 0 || !is_wanted(c, h))
			continue;
		if (!best || (by_use(h, best) ?: by_rank(h, best) ?: by_time(h, best)) < 0)
			best = h;
	}
	return best;
}

/* Writes "0 to 3", "2", or "" of a run's ranks or windows. */
static void write_range(char *to, size_t size, const struct heads *all, const char *run,
			bool ranks)
{
	int64_t low = INT64_MAX, high = -1;

	for (size_t i = 0; i < all->n; i++) {
		const struct head *h = &all->row[i];
		int64_t n = ranks ? h->rank : h->window;

		if (strcmp(h->run, run) != 0 || n < 0 || !(ranks || h->ours) ||
		    (!ranks && h->child))
			continue;
		low = n < low ? n : low;
		high = n > high ? n : high;
	}
	if (high < 0)
		*to = '\0';
	else if (low == high)
		snprintf(to, size, "%lld", (long long)low);
	else
		snprintf(to, size, "%lld to %lld", (long long)low, (long long)high);
}

static void say_choice(struct choice *c, const char *place, const struct heads *all,
		       const struct head *h)
{
	char ranks[64], windows[64], which[96] = "", other[192] = "";
	size_t n = 0, m = 0;

	write_range(ranks, sizeof(ranks), all, h->run, true);
	write_range(windows, sizeof(windows), all, h->run, false);
	if (all->n == 1) {
		snprintf(c->line, sizeof(c->line), "%s: the only finished trace below %s",
			 c->path, place);
		return;
	}
	if (h->rank >= 0)
		n = (size_t)snprintf(which, sizeof(which), "rank %lld, ",
				     (long long)h->rank);
	if (h->ours)
		snprintf(which + n, sizeof(which) - n, "window %lld, ",
			 (long long)h->window);
	if (strchr(ranks, ' '))
		m = (size_t)snprintf(other, sizeof(other), "--rank (%s), ", ranks);
	if (strchr(windows, ' '))
		m += (size_t)snprintf(other + m, sizeof(other) - m, "--window (%s), ",
				      windows);
	snprintf(other + m, sizeof(other) - m, "%s", m ? "or its path" : "its path");
	snprintf(
		c->line, sizeof(c->line),
		"%s: %sof the newest run; one of %zu traces below %s%s: %s chooses another",
		c->path, which, all->n, place,
		all->unfinished ? ", where others are not finished" : "", other);
}

static bool nothing_fits(const struct choice *c, const char *place,
			 const struct heads *all, const char *run, char *why, size_t size)
{
	char ranks[64], windows[64], rank[64] = "", window[64] = "";

	write_range(ranks, sizeof(ranks), all, run, true);
	write_range(windows, sizeof(windows), all, run, false);
	if (c->rank != CHOICE_ANY)
		snprintf(rank, sizeof(rank), " of rank %lld", (long long)c->rank);
	if (c->window != CHOICE_ANY)
		snprintf(window, sizeof(window), " of window %lld", (long long)c->window);
	snprintf(why, size, "%s: no trace%s%s in the newest run: it has %s%s, and %s%s",
		 place, rank, window, *ranks ? "ranks " : "no ranks", ranks,
		 *windows ? "windows " : "no numbers of windows", windows);
	return false;
}

/* ---- all windows, all ranks ---- */

static bool keep_window(struct choice *c, const char *path)
{
	if (!GROW(c->windows, c->windows_room, c->windows_n) ||
	    !(c->windows[c->windows_n] = strdup(path)))
		return false;
	c->windows_n++;
	return true;
}

static bool is_window_of(const struct head *h, const struct head *best)
{
	return !strcmp(h->run, best->run) && h->rank == best->rank &&
	       h->pid == best->pid && h->ours == best->ours && !by_use(h, best);
}

static int by_window(const void *left, const void *right)
{
	const struct head *a = left, *b = right;

	return order_of(a->window, b->window) ?: strcmp(a->path, b->path);
}

/* Keeps the paths of all windows of the process that the best file is of. Files that no
 * proflaunch wrote do not say whose they are: then it is that file alone. */
static bool keep_windows(struct choice *c, struct heads *all, const struct head *best)
{
	struct head process = *best;

	if (all->n)
		qsort(all->row, all->n, sizeof(*all->row), by_window);
	for (size_t i = 0; i < all->n; i++) {
		const struct head *h = &all->row[i];
		bool mine = process.ours && c->window == CHOICE_ANY
				    ? is_window_of(h, &process)
				    : !strcmp(h->path, process.path);

		if (!mine)
			continue;
		if (!keep_window(c, h->path))
			return false;
	}
	return true;
}

static int by_rank_then_time(const void *left, const void *right)
{
	return by_rank(left, right) ?: by_time(left, right);
}

/* Keeps the newest file of each rank that is of the same run and window. */
static bool keep_ranks(struct choice *c, struct heads *all, const struct head *best)
{
	struct head one = *best;
	int64_t last = -1;

	if (all->n)
		qsort(all->row, all->n, sizeof(*all->row), by_rank_then_time);
	for (size_t i = 0; i < all->n; i++) {
		const struct head *h = &all->row[i];
		bool mine = one.rank < 0
				    ? !strcmp(h->path, one.path)
				    : !strcmp(h->run, one.run) && h->rank > last &&
					      h->ours == one.ours && !by_use(h, &one) &&
					      (!h->ours || h->window == one.window);

		if (!mine)
			continue;
		if (!keep_window(c, h->path))
			return false;
		last = h->rank;
	}
	return true;
}

void choice_free(struct choice *c)
{
	for (size_t i = 0; i < c->windows_n; i++)
		free(c->windows[i]);
	free(c->windows);
	c->windows = NULL;
	c->windows_n = c->windows_room = 0;
}

static bool choose_below(struct choice *c, const char *place, const struct folder *f,
			 char *why, size_t size)
{
	struct heads all = { 0 };
	const struct head *h;
	bool fine = add_heads(&all, f, c->since);

	if (!fine) {
		snprintf(why, size, "%s: %s", place, strerror(ENOMEM));
	} else if (!all.n) {
		snprintf(why, size, "%s: of %zu trace files below it none is finished",
			 place, f->n);
		fine = false;
	} else if (!(h = best_of(c, &all, newest_run(&all)))) {
		fine = nothing_fits(c, place, &all, newest_run(&all), why, size);
	} else {
		snprintf(c->path, sizeof(c->path), "%s", h->path);
		say_choice(c, place, &all, h);
		fine = (!c->all || keep_windows(c, &all, h)) &&
		       (!c->ranks || keep_ranks(c, &all, h));
		if (!fine)
			snprintf(why, size, "%s: %s", place, strerror(ENOMEM));
	}
	free(all.row);
	return fine;
}

static bool keep_path(struct choice *c, const char *path, char *why, size_t size)
{
	if (keep_window(c, path))
		return true;
	snprintf(why, size, "%s: %s", path, strerror(ENOMEM));
	return false;
}

bool choice_make(struct choice *c, const char *place, char *why, size_t size)
{
	struct folder f;
	struct stat st;
	bool fine;

	*c->line = '\0';
	if (stat(place, &st)) {
		snprintf(why, size, "%s: %s", place, strerror(errno));
		return false;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(c->path, sizeof(c->path), "%s", place);
		if (c->rank == CHOICE_ANY && c->window == CHOICE_ANY)
			return (!c->all && !c->ranks) || keep_path(c, place, why, size);
		snprintf(why, size,
			 "%s: is one trace: --rank and --window choose below a directory",
			 place);
		return false;
	}
	if (folder_list(&f, place, why, size))
		return false;
	fine = choose_below(c, place, &f, why, size);
	folder_free(&f);
	return fine;
}
