/* SPDX-License-Identifier: Apache-2.0 */
/* A file that does not say its run is of that of its directory. */
#include "report/heads.h"
#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool heads_read(struct heads *all, const struct folder *f, int64_t since)
{
	*all = (struct heads){ 0 };
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

void heads_free(struct heads *all)
{
	free(all->row);
	*all = (struct heads){ 0 };
}

/* ---- what a run has ---- */

struct range {
	int64_t low, high;
};

static void widen_range(struct range *r, int64_t n)
{
	r->low = n < r->low ? n : r->low;
	r->high = n > r->high ? n : r->high;
}

static void write_range(const struct range *r, char *to, size_t size)
{
	if (r->high < 0)
		*to = '\0';
	else if (r->low == r->high)
		snprintf(to, size, "%lld", (long long)r->low);
	else
		snprintf(to, size, "%lld to %lld", (long long)r->low, (long long)r->high);
}

void heads_ranks(const struct heads *all, const char *run, char *to, size_t size)
{
	struct range r = { INT64_MAX, -1 };

	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->row[i].run, run) && all->row[i].rank >= 0)
			widen_range(&r, all->row[i].rank);
	write_range(&r, to, size);
}

void heads_windows(const struct heads *all, const char *run, const char *stage, char *to,
		   size_t size)
{
	struct range r = { INT64_MAX, -1 };

	for (size_t i = 0; i < all->n; i++) {
		const struct head *h = &all->row[i];

		if (!strcmp(h->run, run) && h->window >= 0 && h->ours && !h->child &&
		    head_has_stage(h, stage))
			widen_range(&r, h->window);
	}
	write_range(&r, to, size);
}

/* The stage of a run that comes next in order; NULL: `last` was the last one. */
static const struct head *next_stage(const struct heads *all, const char *run,
				     const struct head *last)
{
	const struct head *next = NULL;

	for (size_t i = 0; i < all->n; i++) {
		const struct head *h = &all->row[i];

		if (!strcmp(h->run, run) && *h->stage &&
		    (!last || head_by_stage(h, last) > 0) &&
		    (!next || head_by_stage(h, next) < 0))
			next = h;
	}
	return next;
}

/* Of more than there is room for the last ones are left out. */
void heads_stages(const struct heads *all, const char *run, char *to, size_t size)
{
	const struct head *h = NULL;
	size_t len = 0;

	*to = '\0';
	while ((h = next_stage(all, run, h)) && len + HEAD_STAGE + 2 < size)
		len += (size_t)snprintf(to + len, size - len, "%s%s", len ? ", " : "",
					h->stage);
}
