/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at the head of each file alone: what stands before its events. */
#include "report/choice.h"
#include "base/array.h"
#include "base/order.h"
#include "report/input.h"
#include "report/memory/folder.h"
#include "report/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct head {
	const char *path; /* the folder's */
	char run[160];
	int64_t rank, window, changed;
	bool ours, operators, child;
};

struct heads {
	struct head *row;
	size_t n, room, unfinished;
};

/* ---- the head of a file ---- */

static ssize_t read_input(void *arg, void *bytes, size_t size, const char **why)
{
	return input_read(arg, bytes, size, why);
}

static int64_t number_value(struct parse *p)
{
	return parse_value(p, TOKEN_NUMBER) ? number_i64(p) : 0;
}

/* Takes "window", "process" or "events" of the object "proflaunch". */
static void read_member(struct head *h, struct parse *p)
{
	if (!parse_value(p, TOKEN_OBJECT))
		return;
	while (parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "number"))
			h->window = number_value(p);
		else if (parse_is(p, "operators"))
			h->operators = number_value(p) > 0;
		else if (!parse_is(p, "job"))
			parse_skip(p, TOKEN_KEY);
		else if (parse_value(p, TOKEN_STRING))
			snprintf(h->run, sizeof(h->run), "job %.*s",
				 (int)(p->len < 128 ? p->len : 128), p->text);
	}
}

static void read_ours(struct head *h, struct parse *p)
{
	h->ours = true;
	h->operators = false;
	if (!parse_value(p, TOKEN_OBJECT))
		return;
	while (parse_next(p) == TOKEN_KEY)
		if (parse_is(p, "window") || parse_is(p, "process") ||
		    parse_is(p, "events"))
			read_member(h, p);
		else
			parse_skip(p, TOKEN_KEY);
}

/* The only process of a job is no rank. */
static void read_rank(struct head *h, struct parse *p)
{
	int64_t rank = CHOICE_ANY, size = 0;

	if (!parse_value(p, TOKEN_OBJECT))
		return;
	while (parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "rank"))
			rank = number_value(p);
		else if (parse_is(p, "world_size"))
			size = number_value(p);
		else
			parse_skip(p, TOKEN_KEY);
	}
	h->rank = size > 1 ? rank : CHOICE_ANY;
}

static void read_members(struct head *h, struct parse *p)
{
	if (parse_next(p) != TOKEN_OBJECT)
		return;
	while (parse_next(p) == TOKEN_KEY && !parse_is(p, "traceEvents")) {
		if (parse_is(p, "proflaunch"))
			read_ours(h, p);
		else if (parse_is(p, "distributedInfo"))
			read_rank(h, p);
		else
			parse_skip(p, TOKEN_KEY);
	}
}

/* Whatever cannot be read leaves the rest unknown: the reader says why, if the file is
 * chosen. */
static void read_head(struct head *h)
{
	const char *why;
	struct input *in = input_open(h->path, &why);
	struct parse p;

	if (!in)
		return;
	if (parse_start(&p, read_input, in)) {
		read_members(h, &p);
		parse_stop(&p);
	}
	input_close(in);
}

/* ---- candidates ---- */

/* Does the file end as JSON does? What is packed is taken to be whole. */
static bool is_finished(int fd, off_t size)
{
	char end[64] = "", begin[2] = "";
	ssize_t n = pread(fd, end, sizeof(end), size > 64 ? size - 64 : 0);

	if (pread(fd, begin, 2, 0) == 2 && !memcmp(begin, "\x1f\x8b", 2))
		return true;
	while (n > 0 && strchr(" \t\r\n", end[n - 1]))
		n--;
	return n > 0 && (end[n - 1] == '}' || end[n - 1] == ']');
}

static bool look_at(struct head *h, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool fine = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		    is_finished(fd, st.st_size);

	*h = (struct head){ .path = path,
			    .rank = CHOICE_ANY,
			    .operators = true,
			    .child = strstr(path, "/children/") != NULL };
	if (fine)
		h->changed = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	if (fd >= 0)
		close(fd);
	return fine;
}

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

static bool add_heads(struct heads *all, const struct folder *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct head h;

		if (!look_at(&h, f->files[i].path)) {
			all->unfinished++;
			continue;
		}
		read_head(&h);
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

		if (strcmp(h->run, run) != 0 || n < 0 || !(ranks || h->ours))
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
		snprintf(other + m, sizeof(other) - m, "--window (%s), ", windows);
	snprintf(c->line, sizeof(c->line),
		 "%s: %sof the newest run; one of %zu traces below %s%s: %sor its path "
		 "chooses another",
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
	snprintf(why, size,
		 "%s: no trace%s%s in the newest run: its ranks are %s, its "
		 "windows %s",
		 place, rank, window, *ranks ? ranks : "not said",
		 *windows ? windows : "not said");
	return false;
}

static bool choose_below(struct choice *c, const char *place, const struct folder *f,
			 char *why, size_t size)
{
	struct heads all = { 0 };
	const struct head *h;
	bool fine = add_heads(&all, f);

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
	}
	free(all.row);
	return fine;
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
			return true;
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
