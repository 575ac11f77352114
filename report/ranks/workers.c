/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files of children whose parent is the process, one after the other. */
#include "report/ranks/workers.h"
#include "base/array.h"
#include "base/order.h"
#include "report/figures/sum.h"
#include "report/head.h"
#include "report/memory/folder.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

struct watching {
	struct workers *w;
	struct model *m; /* of the process */
	int64_t from, to; /* its steps */
	struct spans waits; /* for data */
};

/* A time of a child's file on the process's axis. */
static int64_t own_time(const struct watching *t, const struct model *child, int64_t ts)
{
	int64_t to = sum_minus(child->base_ns, t->m->base_ns);

	sum_add(&to, ts);
	return to;
}

/* What lies outside of the steps counts up to their edge. */
static int64_t clip_time(const struct watching *t, int64_t ts)
{
	return ts < t->from ? t->from : ts > t->to ? t->to : ts;
}

/* Takes the times in which something ran. */
static bool take_slices(const struct watching *t, const struct model *child,
			struct spans *busy, struct worker *to)
{
	for (size_t i = 0; i < child->slices_n; i++) {
		const struct slice *s = &child->slices[i];
		int64_t begin = own_time(t, child, s->begin);
		int64_t end = own_time(t, child, s->end);

		/* A step of its own is the whole window. */
		if (text_starts_with(slice_name(child, (uint32_t)i), "ProfilerStep#"))
			continue;
		if (s->kind == SLICE_OP && begin >= t->from && begin < t->to)
			to->operators += s->parent == NO_ROW ||
					 child->slices[s->parent].kind != SLICE_OP;
		if (!spans_add(busy, clip_time(t, begin), clip_time(t, end)))
			return false;
	}
	spans_join(busy);
	return true;
}

/* The name of the thread that the process began with: Python gives its workers one. */
static uint32_t name_of(struct watching *t, const struct model *child, int64_t pid)
{
	for (size_t i = 0; i < child->threads_n; i++) {
		const struct thread *thread = &child->threads[i];
		const char *name = texts_get(&child->texts, thread->name);
		const char *open = strchr(name, '(');

		if (thread->tid != pid || thread->name == TEXT_NONE)
			continue;
		/* "thread 17 (pt_data_worker)" */
		if (text_starts_with(name, "thread ") && open && open[1])
			return texts_add(&t->m->texts, open + 1, strlen(open + 1) - 1);
		return texts_add(&t->m->texts, name, strlen(name));
	}
	return TEXT_NONE;
}

/* Adds a child, if its file has a part of the steps. */
static bool add_worker(struct watching *t, const struct model *child, int64_t pid)
{
	struct worker to = { .pid = pid, .name = name_of(t, child, pid) };
	struct spans busy = { 0 }, both = { 0 };
	bool fine = take_slices(t, child, &busy, &to);

	to.recorded = clip_time(t, own_time(t, child, child->end)) -
		      clip_time(t, own_time(t, child, child->begin));
	fine = fine && spans_common(&both, &busy, &t->waits);
	to.busy = spans_within(&busy, t->from, t->to);
	to.helpful = spans_within(&both, t->from, t->to);
	spans_free(&busy);
	spans_free(&both);
	if (!fine || to.recorded <= 0)
		return fine;
	if (!GROW(t->w->row, t->w->room, t->w->n))
		return false;
	t->w->row[t->w->n++] = to;
	return true;
}

/* A child of another process, or an older run of the same folder, is passed over. */
static bool read_child(struct watching *t, const char *path)
{
	char why[PATH_MAX + 256];
	struct model child;
	struct head head;
	bool fine;

	if (!head_read(&head, path)) {
		t->w->unread++;
		return true;
	}
	if (head.parent != t->m->whose.pid || !head.parent)
		return true;
	if (model_read(&child, path, WANT(SLICE_OP) | WANT(SLICE_NOTE), why,
		       sizeof(why))) {
		t->w->unread++;
		return true;
	}
	fine = add_worker(t, &child, head.pid);
	model_free(&child);
	return fine;
}

/* Processes begin in the order of their numbers, as a rule. */
static int by_pid(const void *left, const void *right)
{
	const struct worker *a = left, *b = right;

	return order_of(a->pid, b->pid) ?: order_of(a->busy, b->busy);
}

/* No folder "children" is no fault: the process had none. */
static bool read_children(struct watching *t, const char *path)
{
	const char *slash = strrchr(path, '/');
	char place[PATH_MAX], why[PATH_MAX + 256];
	struct folder f;
	struct stat st;
	bool fine = true;

	if (snprintf(place, sizeof(place), "%.*schildren",
		     slash ? (int)(slash - path) + 1 : 0, path) >= (int)sizeof(place) ||
	    stat(place, &st) || !S_ISDIR(st.st_mode) ||
	    folder_list(&f, place, why, sizeof(why)))
		return true;
	for (size_t i = 0; fine && i < f.n; i++)
		fine = read_child(t, f.files[i].path);
	folder_free(&f);
	return fine;
}

bool workers_make(struct workers *w, const char *path, struct model *m,
		  const struct steps *s)
{
	struct watching t = { .w = w, .m = m };
	bool fine;

	*w = (struct workers){ 0 };
	if (!s->n)
		return true;
	t.from = s->row[0].begin;
	t.to = s->row[s->n - 1].end;
	fine = steps_spans(m, SHARE_DATALOADER, &t.waits);
	w->waited = spans_within(&t.waits, t.from, t.to);
	fine = fine && read_children(&t, path);
	if (w->n)
		qsort(w->row, w->n, sizeof(*w->row), by_pid);
	spans_free(&t.waits);
	if (!fine)
		workers_free(w);
	return fine;
}

void workers_free(struct workers *w)
{
	free(w->row);
	*w = (struct workers){ 0 };
}
