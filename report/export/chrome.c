/* SPDX-License-Identifier: Apache-2.0 */
/* A cut reads its trace three times: for the model, for the arrows whose ends both stay,
 * and to write it. */
#include "report/export/chrome.h"
#include "base/order.h"
#include "base/text.h"
#include "report/head.h"

#include <stdlib.h>
#include <sys/stat.h>

enum arrow_end { ARROW_BEGIN = 1, ARROW_END = 2 };

struct arrows { /* of which an end stays */
	struct arrow {
		uint64_t flow;
		unsigned ends;
	} * row;
	size_t n, room;
	bool full; /* not enough memory */
};

struct keeping {
	const struct cut *cut;
	struct arrows arrows;
};

/* The middle of an arrow stays with its ends. */
static bool is_arrow(const struct rewrite_event *e)
{
	return e->ph == 's' || e->ph == 't' || e->ph == 'f';
}

/* Collects ends of arrows; nothing is written. */
static bool note_arrow(void *arg, const struct rewrite_event *e)
{
	struct keeping *k = arg;
	struct arrows *a = &k->arrows;

	if (e->ph == 't' || !is_arrow(e) || !cut_keeps(k->cut, e))
		return false;
	if (!GROW(a->row, a->room, a->n)) {
		a->full = true;
		return false;
	}
	a->row[a->n++] =
		(struct arrow){ e->flow, e->ph == 's' ? ARROW_BEGIN : ARROW_END };
	return false;
}

/* Flows are hashes: they have all 64 bits, and no difference fits a number. */
static int by_flow(const void *left, const void *right)
{
	const struct arrow *a = left, *b = right;

	return a->flow < b->flow ? -1 : a->flow > b->flow;
}

/* Leaves one row for each arrow that has both of its ends. */
static void join_ends(struct arrows *a)
{
	size_t n = 0;

	if (a->n)
		qsort(a->row, a->n, sizeof(*a->row), by_flow);
	for (size_t i = 0, next; i < a->n; i = next) {
		unsigned ends = 0;

		for (next = i; next < a->n && a->row[next].flow == a->row[i].flow; next++)
			ends |= a->row[next].ends;
		if (ends == (ARROW_BEGIN | ARROW_END))
			a->row[n++] = (struct arrow){ a->row[i].flow, ends };
	}
	a->n = n;
}

/* An arrow stays where both ends were found, any other event where it is kept. */
static bool keep_event(void *arg, const struct rewrite_event *e)
{
	const struct keeping *k = arg;
	struct arrow wanted = { .flow = e->flow };

	return cut_keeps(k->cut, e) &&
	       (!is_arrow(e) ||
		(k->arrows.n &&
		 bsearch(&wanted, k->arrows.row, k->arrows.n, sizeof(wanted), by_flow)));
}

/* ---- a trace ---- */

/* Both ends must be seen before one of them is written: this pass only looks. */
static bool find_arrows(struct keeping *k, const char *path, char *why, size_t size)
{
	struct rewrite_order order = { .keep = note_arrow, .arg = k };
	struct rewrite look;
	bool fine;

	rewrite_begin(&look, NULL);
	fine = rewrite_trace(&look, path, &order, why, size);
	rewrite_end(&look);
	if (fine && k->arrows.full) {
		snprintf(why, size, "%s: not enough memory", path);
		fine = false;
	}
	join_ends(&k->arrows);
	return fine;
}

/* What cannot be read at all is told by who tries. */
static bool is_pipe(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* Of several traces no bounds are said: the steps of each are others. */
static bool add_cut(struct chrome *c, const char *path, struct rewrite_order *order,
		    char *why, size_t size)
{
	struct cut cut;
	struct keeping k = { .cut = &cut };
	char *member = NULL;
	bool fine;

	if (is_pipe(path)) {
		snprintf(
			why, size,
			"%s: it is no file, and a part of a trace is found by reading it "
			"three times: save it as a file first",
			path);
		return false;
	}
	if (!cut_make(&cut, path, c->options, why, size))
		return false;
	if (cut.by_steps && !c->several) {
		member = cut_member(&cut);
		if (!member)
			snprintf(why, size, "%s: not enough memory", path);
	}
	order->keep = keep_event;
	order->arg = &k;
	order->member = member;
	fine = (member || !cut.by_steps || c->several) &&
	       find_arrows(&k, path, why, size) &&
	       rewrite_trace(&c->rewrite, path, order, why, size);
	free(member);
	free(k.arrows.row);
	cut_free(&cut);
	return fine;
}

/* What a trace is told by: "rank 3, stage train, window 2", or its file's name. */
static void make_label(const char *path, char *to, size_t size)
{
	struct head h;
	char rank[32] = "", stage[64] = "";

	if (!head_read(&h, path) || (h.rank < 0 && !h.ours)) {
		snprintf(to, size, "%s", text_base(path));
		return;
	}
	if (h.rank >= 0)
		snprintf(rank, sizeof(rank), "rank %lld%s", (long long)h.rank,
			 h.ours ? ", " : "");
	if (*h.stage)
		snprintf(stage, sizeof(stage), "stage %s, ", h.stage);
	if (h.ours)
		snprintf(to, size, "%s%swindow %lld", rank, stage, (long long)h.window);
	else
		snprintf(to, size, "%s", rank);
}

void chrome_begin(struct chrome *c, const struct cut_options *o, bool several, FILE *out)
{
	*c = (struct chrome){ .options = o, .several = several };
	rewrite_begin(&c->rewrite, out);
}

/* A label is only needed where traces lie beside one another. */
bool chrome_add(struct chrome *c, const char *path, char *why, size_t size)
{
	struct rewrite_order order = { 0 };
	char label[512];

	if (c->several) {
		make_label(path, label, sizeof(label));
		order.label = label;
	}
	return cut_is_wanted(c->options)
		       ? add_cut(c, path, &order, why, size)
		       : rewrite_trace(&c->rewrite, path, &order, why, size);
}

bool chrome_end(struct chrome *c)
{
	return rewrite_end(&c->rewrite);
}
