/* SPDX-License-Identifier: Apache-2.0 */
/* Groups files by run, and orders them by what they tell of it. */
#include "report/choice.h"
#include "base/array.h"
#include "base/order.h"
#include "report/heads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STAGES 320 /* a list of their names */

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

/* Of files of one run. */
static int by_worth(const struct head *a, const struct head *b)
{
	return by_use(a, b) ?: by_rank(a, b) ?: head_by_stage(a, b) ?: by_time(a, b);
}

static bool is_wanted(const struct choice *c, const struct head *h)
{
	return (c->rank == CHOICE_ANY || c->rank == h->rank) &&
	       head_has_stage(h, c->stage) &&
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
		if (!best || by_worth(h, best) < 0)
			best = h;
	}
	return best;
}

/* What is said of the file, "rank 0, stage train, window 2, " and what chooses another,
 * "--rank (0 to 3), or its path". */
static void write_which(const struct head *h, char *to, size_t size)
{
	size_t n = 0;

	*to = '\0';
	if (h->rank >= 0)
		n = (size_t)snprintf(to, size, "rank %lld, ", (long long)h->rank);
	if (*h->stage)
		n += (size_t)snprintf(to + n, size - n, "stage %s, ", h->stage);
	if (h->ours)
		snprintf(to + n, size - n, "window %lld, ", (long long)h->window);
}

static void write_other(const struct heads *all, const struct head *h, char *to,
			size_t size)
{
	char ranks[64], windows[64], stages[STAGES];
	size_t n = 0;

	heads_ranks(all, h->run, ranks, sizeof(ranks));
	heads_stages(all, h->run, stages, sizeof(stages));
	heads_windows(all, h->run, h->stage, windows, sizeof(windows));
	if (strchr(ranks, ' '))
		n = (size_t)snprintf(to, size, "--rank (%s), ", ranks);
	if (strcmp(stages, h->stage) != 0)
		n += (size_t)snprintf(to + n, size - n, "--stage (%s), ", stages);
	if (strchr(windows, ' '))
		n += (size_t)snprintf(to + n, size - n, "--window (%s), ", windows);
	snprintf(to + n, size - n, "%s", n ? "or its path" : "its path");
}

static void say_choice(struct choice *c, const char *place, const struct heads *all,
		       const struct head *h)
{
	char which[128], other[STAGES + 256];

	if (all->n == 1) {
		snprintf(c->line, sizeof(c->line), "%s: the only finished trace below %s",
			 c->path, place);
		return;
	}
	write_which(h, which, sizeof(which));
	write_other(all, h, other, sizeof(other));
	snprintf(
		c->line, sizeof(c->line),
		"%s: %sof the newest run; one of %zu traces below %s%s: %s chooses another",
		c->path, which, all->n, place,
		all->unfinished ? ", where others are not finished" : "", other);
}

/* Windows are those of the stage that is wanted, where the run has that one. */
static bool nothing_fits(const struct choice *c, const char *place,
			 const struct heads *all, const char *run, char *why, size_t size)
{
	char ranks[64], windows[64], stages[STAGES], rank[64] = "", window[64] = "";

	heads_ranks(all, run, ranks, sizeof(ranks));
	heads_stages(all, run, stages, sizeof(stages));
	heads_windows(all, run, c->stage, windows, sizeof(windows));
	if (!*windows)
		heads_windows(all, run, NULL, windows, sizeof(windows));
	if (c->rank != CHOICE_ANY)
		snprintf(rank, sizeof(rank), " of rank %lld", (long long)c->rank);
	if (c->window != CHOICE_ANY)
		snprintf(window, sizeof(window), " of window %lld", (long long)c->window);
	snprintf(why, size,
		 "%s: no trace%s%s%s%s in the newest run: it has %s%s%s%s%s, and %s%s",
		 place, rank, c->stage ? " of stage " : "", c->stage ? c->stage : "",
		 window,
		 *stages    ? "stages "
		 : c->stage ? "no stages"
			    : "",
		 stages, *stages || c->stage ? ", " : "", *ranks ? "ranks " : "no ranks",
		 ranks, *windows ? "windows " : "no numbers of windows", windows);
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
	       h->pid == best->pid && h->ours == best->ours && !by_use(h, best) &&
	       !head_by_stage(h, best);
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
					      !strcmp(h->stage, one.stage) &&
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
	struct heads all;
	const struct head *h;
	bool fine = heads_read(&all, f, c->since);

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
		strcpy(c->chosen, h->stage);
		say_choice(c, place, &all, h);
		fine = (!c->all || keep_windows(c, &all, h)) &&
		       (!c->ranks || keep_ranks(c, &all, h));
		if (!fine)
			snprintf(why, size, "%s: %s", place, strerror(ENOMEM));
	}
	heads_free(&all);
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

	*c->line = *c->chosen = '\0';
	if (stat(place, &st)) {
		snprintf(why, size, "%s: %s", place, strerror(errno));
		return false;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(c->path, sizeof(c->path), "%s", place);
		if (c->rank == CHOICE_ANY && c->window == CHOICE_ANY && !c->stage)
			return (!c->all && !c->ranks) || keep_path(c, place, why, size);
		snprintf(why, size,
			 "%s: is one trace: --rank, --stage and --window choose below a "
			 "directory",
			 place);
		return false;
	}
	if (folder_list(&f, place, why, size))
		return false;
	fine = choose_below(c, place, &f, why, size);
	folder_free(&f);
	return fine;
}
