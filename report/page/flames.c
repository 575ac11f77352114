/* SPDX-License-Identifier: Apache-2.0 */
/* Folds what begins in the steps, and prints what is wide enough to be seen. */
#include "report/page/flames.h"
#include "base/frame_text.h"
#include "report/export/chain.h"
#include "report/figures/launches.h"
#include "report/figures/self_time.h"
#include "report/out.h"
#include "report/units.h"

#include <stdlib.h>

/* ---- weights ---- */

/* As in every table: what begins in the steps. A function that began before them is a
 * frame, and has no time of its own. */
static bool is_counted(const struct subject *s, const struct slice *slice)
{
	return slice->begin >= s->from && slice->begin < s->to;
}

/* Own times: a node's whole time is then the sum of what lies below it. */
static bool fold_host(struct fold *f, const struct subject *s, const struct chain *c)
{
	int64_t *self = self_time_make(&s->model);

	for (size_t i = 0; self && i < s->model.slices_n; i++)
		if (s->model.slices[i].kind < SLICE_DEVICE &&
		    is_counted(s, &s->model.slices[i]))
			fold_add(f, c->node[i], self[i]);
	free(self);
	return self != NULL;
}

/* GPU work stands below the operator that launched it. */
static bool fold_device(struct fold *f, const struct subject *s, const struct chain *c)
{
	const struct model *m = &s->model;
	struct launches all;

	if (!launches_make(&all, m))
		return false;
	for (uint32_t i = 0; i < m->slices_n; i++) {
		const struct slice *work = &m->slices[i];
		uint32_t op;

		if (work->kind != SLICE_DEVICE || !is_counted(s, work))
			continue;
		op = launches_op(&all, work);
		fold_add(f,
			 fold_below(f, op == NO_ROW ? FOLD_ROOT : c->node[op],
				    slice_name(m, i)),
			 work->end - work->begin);
	}
	launches_free(&all);
	return true;
}

/* ---- kinds ---- */

/* The kind of slices of each name; frames of a "Call stack" are no slices. */
static uint8_t *kinds_of_texts(const struct model *m)
{
	uint8_t *kind = malloc(m->texts.n + 1);

	if (!kind)
		return NULL;
	memset(kind, SLICE_KINDS, m->texts.n + 1);
	for (size_t i = 0; i < m->slices_n; i++)
		if (m->slices[i].name < m->texts.n)
			kind[m->slices[i].name] = m->slices[i].kind;
	return kind;
}

/* What colours a box. Modules and steps are told by the names that torch gives them. */
static const char *kind_word(const struct model *m, const uint8_t *kinds,
			     const char *frame)
{
	static const char *const words[SLICE_KINDS] = {
		[SLICE_OP] = "operator",   [SLICE_NOTE] = "annotation",
		[SLICE_PYTHON] = "python", [SLICE_CALL] = "call",
		[SLICE_DEVICE] = "gpu",    [SLICE_DEVICE_NOTE] = "annotation",
	};
	uint32_t text = texts_find(&m->texts, frame);

	if (text_starts_with(frame, "nn.Module: "))
		return "module";
	if (text_starts_with(frame, "ProfilerStep"))
		return "annotation";
	if (text != TEXT_NONE && kinds[text] != SLICE_KINDS)
		return words[kinds[text]];
	return frame_place(frame, strlen(frame)) ? "python" : "native";
}

/* ---- output ---- */

struct tree {
	const struct fold *f;
	int64_t *total; /* of each node, with what is below it */
	uint32_t *place; /* of each node and each frame in the output */
	uint32_t *frame;
};
#define NO_PLACE UINT32_MAX

/* A node is made after its parent. */
static void add_totals(struct tree *t)
{
	for (size_t i = t->f->n; i-- > 0;) {
		const struct fold_node *node = &t->f->nodes[i];

		if (__builtin_add_overflow(t->total[i], node->weight, &t->total[i]))
			t->total[i] = INT64_MAX;
		if (i && __builtin_add_overflow(t->total[node->parent], t->total[i],
						&t->total[node->parent]))
			t->total[node->parent] = INT64_MAX;
	}
}

/* A box that no screen shows has no row. */
static bool is_seen(const struct tree *t, size_t node)
{
	return t->total[node] > 0 &&
	       (double)t->total[node] >= FLAMES_LEAST * (double)t->total[FOLD_ROOT];
}

/* A parent that is not seen has no child that is: its place is known by then. */
static void put_nodes(struct tree *t, FILE *out)
{
	const struct fold_node *nodes = t->f->nodes;
	uint32_t n = 0;

	fputs("\"nodes\": [", out);
	for (size_t i = 1; i < t->f->n; i++) {
		uint32_t parent = nodes[i].parent;

		if (!is_seen(t, i))
			continue;
		t->place[i] = n++;
		fprintf(out, "%s[%ld,%u,%s]", n > 1 ? "," : "",
			parent == FOLD_ROOT ? -1L : (long)t->place[parent],
			t->frame[nodes[i].frame], units_us(t->total[i]));
	}
	putc(']', out);
}

/* Frames of nodes that are seen, in the order of their first node. */
static void put_frames(struct tree *t, const struct model *m, const uint8_t *kinds,
		       FILE *out)
{
	uint32_t n = 0;

	fputs("{\"frames\": [", out);
	for (size_t i = 1; i < t->f->n; i++) {
		uint32_t frame = t->f->nodes[i].frame;
		const char *text = fold_text(t->f, frame);

		if (!is_seen(t, i) || t->frame[frame] != NO_PLACE)
			continue;
		t->frame[frame] = n++;
		fputs(n > 1 ? ",[" : "[", out);
		out_json(out, text);
		fprintf(out, ",\"%s\"]", kind_word(m, kinds, text));
	}
	fputs("], ", out);
}

/* Frames get their numbers first: nodes refer to them. */
static bool print_tree(const struct fold *f, const struct model *m, FILE *out)
{
	struct tree t = { .f = f };
	uint8_t *kinds = kinds_of_texts(m);
	bool fine;

	t.total = calloc(f->n + 1, sizeof(*t.total));
	t.place = malloc((f->n + 1) * sizeof(*t.place));
	t.frame = malloc((f->frames.n + 1) * sizeof(*t.frame));
	fine = t.total && t.place && t.frame && kinds;
	if (fine) {
		memset(t.frame, 0xff, (f->frames.n + 1) * sizeof(*t.frame));
		add_totals(&t);
		put_frames(&t, m, kinds, out);
		put_nodes(&t, out);
		putc('}', out);
	}
	free(t.total);
	free(t.place);
	free(t.frame);
	free(kinds);
	return fine;
}

/* Folds anew for each tree: a fold has one weight. */
static bool print_flame(const struct subject *s, const char *key, FILE *out,
			bool (*weigh)(struct fold *f, const struct subject *s,
				      const struct chain *c))
{
	struct fold *f = malloc(sizeof(*f));
	struct chain c;
	bool fine = false;

	if (!f)
		return false;
	fold_start(f, "");
	if (chain_make(&c, &s->model, f)) {
		fprintf(out, "\"%s\": ", key);
		fine = weigh(f, s, &c) && !f->full && print_tree(f, &s->model, out);
		chain_free(&c);
	}
	fold_free(f);
	free(f);
	return fine;
}

/* Times of the host and of the GPU make no sum: each has its own tree. */
bool flames_print(const struct subject *s, FILE *out)
{
	bool fine;

	putc('{', out);
	fine = print_flame(s, "cpu", out, fold_host);
	fputs(", ", out);
	fine = fine && print_flame(s, "gpu", out, fold_device);
	putc('}', out);
	return fine;
}
