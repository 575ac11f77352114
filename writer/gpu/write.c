/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU's part of a file, from its first event to its last. */
#include "agent/core/names.h"
#include "base/search.h"
#include "writer/gpu/cuda.h"
#include "writer/sort.h"

#include <errno.h>

#define DEEP 32 /* annotations nested in each other on one row */
#define NEAR 64 /* pieces of work looked at around an annotation */
#define ROOM 3 /* ns to its neighbour from which a note may grow */

/* An annotation of a thread as a stream shows it: from its first piece of work there to
 * the last. */
struct note {
	int64_t begin, end; /* ns */
	size_t first, last; /* places of that work */
	uint32_t annotation, lane;
};

struct nest {
	int64_t end[DEEP];
	unsigned n;
};

struct stream {
	struct trace *t;
	size_t first, last; /* its work */
	uint32_t number;
	unsigned lanes, work_lanes; /* rows it needs; rows that have work */
	struct pile notes; /* struct note, by begin */
	struct nest nest[CUDA_LANES];
	struct row row[CUDA_LANES];
};

/* ---- annotations ---- */

/* Makes one note for each annotation whose calls have work on this stream. The row's
 * number in the annotation tells whether it has a note here already. */
static int gather_annotations(struct stream *s)
{
	struct cuda *c = s->t->cuda;
	struct cuda_annotation *all = c->annotations.mem;

	s->notes.n = 0;
	for (size_t i = s->first; i < s->last; i++) {
		const struct cuda_work *w = cuda_work_at(c, i);
		const struct cuda_call *call = cuda_caller(c, w);
		uint32_t number = call && w->kind <= REC_GRAPH ? call->annotation : 0;
		struct cuda_annotation *a = number ? &all[number - 1] : NULL;
		struct note *n, note;

		if (!a)
			continue;
		if (a->row == s->number) {
			n = (struct note *)s->notes.mem + a->note;
			n->end = w->end > n->end ? w->end : n->end;
			n->last = i;
			continue;
		}
		a->row = s->number;
		a->note = (uint32_t)s->notes.n;
		note = (struct note){ w->begin, w->end, i, i, number - 1, 0 };
		if (pile_add(&s->notes, &note, sizeof(note)))
			return -ENOMEM;
	}
	return 0;
}

static bool note_before(const void *left, const void *right)
{
	const struct note *a = left, *b = right;

	return a->begin != b->begin ? a->begin < b->begin : a->end > b->end;
}

/* Does work on the stream's own row begin before `ns` and end behind it? */
static bool is_straddled(const struct stream *s, int64_t ns)
{
	const struct cuda *c = s->t->cuda;
	size_t at = SEARCH_FIRST(i, s->first, s->last, cuda_work_at(c, i)->begin >= ns);

	while (at > s->first && cuda_work_at(c, at - 1)->lane)
		at--;
	return at > s->first && cuda_work_at(c, at - 1)->end > ns;
}

/* False: the note would cross an open one, or the row is too deep. */
static bool try_to_nest(struct nest *in, const struct note *n)
{
	while (in->n && in->end[in->n - 1] <= n->begin)
		in->n--;
	if (in->n == DEEP || (in->n && in->end[in->n - 1] < n->end))
		return false;
	in->end[in->n++] = n->end;
	return true;
}

/* Puts a note on the stream's own row if it nests with that row's work and notes, else on
 * a row behind all work. */
static void choose_lanes(struct stream *s)
{
	struct note *n = s->notes.mem;

	for (size_t i = 0; i < s->notes.n; i++) {
		unsigned lane = 0;

		if (is_straddled(s, n[i].begin) || is_straddled(s, n[i].end) ||
		    !try_to_nest(&s->nest[0], &n[i]))
			for (lane = s->work_lanes; lane < CUDA_LANES - 1; lane++)
				if (try_to_nest(&s->nest[lane], &n[i]))
					break;
		n[i].lane = lane < CUDA_LANES ? lane : CUDA_LANES - 1;
		if (n[i].lane >= s->lanes)
			s->lanes = n[i].lane + 1;
	}
}

/* Makes an annotation a little longer than its work, so that the work lies inside, if its
 * neighbours before and behind leave room. */
static void make_room(const struct stream *s, const struct note *n, int64_t *begin,
		      int64_t *end)
{
	const struct cuda *c = s->t->cuda;
	const struct cuda_work *before = NULL, *behind = NULL;
	size_t i = n->first, tries = 0;

	while (!before && i-- > s->first && tries++ < NEAR)
		before = cuda_work_at(c, i)->lane ? NULL : cuda_work_at(c, i);
	if (before ? before->end + ROOM <= n->begin : tries < NEAR)
		--*begin;
	for (i = n->last + 1, tries = 0; !behind && i < s->last && tries < NEAR;
	     i++, tries++)
		if (!cuda_work_at(c, i)->lane && cuda_work_at(c, i)->begin >= n->end)
			behind = cuda_work_at(c, i);
	if (behind ? n->end + ROOM <= behind->begin : tries < NEAR)
		++*end;
}

/* Writes Kineto's "gpu_user_annotation": the annotation's name over the work of the calls
 * made in it. */
static int put_note(struct stream *s, const struct note *n)
{
	struct trace *t = s->t;
	const struct cuda_annotation *a =
		(struct cuda_annotation *)t->cuda->annotations.mem + n->annotation;
	const struct name *name = names_get(t->view, a->name);
	struct json *j = &t->json;
	int64_t begin = n->begin, end = n->end;
	int err;

	if (!n->lane)
		make_room(s, n, &begin, &end);
	err = row_place(&s->row[n->lane], (uint64_t)begin, (uint64_t)end, &begin, &end);
	if (err)
		return err;
	json_lit(j, "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"");
	if (name)
		json_escaped(j, name->text, name->len);
	else
		json_lit(j, "unknown");
	json_lit(j, "\",\"pid\":");
	gpu_put_row(t, cuda_work_at(t->cuda, s->first)->row, n->lane);
	slice_times(t, begin, end);
	json_text_unsigned(j, ",\"args\":{\"External id\":", a->external);
	json_lit(j, "}},\n");
	return j->err;
}

/* ---- a stream ---- */

/* Writes work and annotations in one order; an annotation comes before work that begins
 * with it. */
static int put_all(struct stream *s)
{
	const struct note *n = s->notes.mem;
	size_t note = 0;
	int err = 0;

	for (size_t i = s->first; !err && i < s->last; i++) {
		const struct cuda_work *w = cuda_work_at(s->t->cuda, i);

		while (!err && note < s->notes.n && n[note].begin <= w->begin)
			err = put_note(s, &n[note++]);
		if (!err)
			err = gpu_put_work(s->t, &s->row[w->lane], i);
	}
	return err;
}

/* Writes one row and its lanes, from their names to their last slice. */
static int put_stream(struct stream *s)
{
	struct trace *t = s->t;
	uint64_t row = cuda_work_at(t->cuda, s->first)->row;
	int err = gather_annotations(s);

	s->lanes = 0;
	for (size_t i = s->first; i < s->last; i++)
		if (cuda_work_at(t->cuda, i)->lane >= s->lanes)
			s->lanes = cuda_work_at(t->cuda, i)->lane + 1u;
	s->work_lanes = s->lanes;
	memset(s->nest, 0, sizeof(s->nest));
	if (!err)
		err = sort_merge(s->notes.mem, s->notes.n, sizeof(struct note),
				 note_before);
	if (err)
		return err;
	choose_lanes(s);
	for (unsigned i = 0; i < s->lanes; i++) {
		gpu_row_names(t, row, i);
		row_init_ns(&s->row[i], t->row.begin_ns, gpu_write_end(t));
	}
	err = put_all(s);
	for (unsigned i = 0; i < s->lanes; i++)
		row_free(&s->row[i]);
	return err;
}

int64_t gpu_write_end(const struct trace *t)
{
	return t->cuda && t->cuda->last >= t->row.end_ns ? t->cuda->last + 1
							 : t->row.end_ns;
}

int gpu_write(struct trace *t)
{
	struct cuda *c = t->cuda;
	struct stream *s = pile_map(sizeof(*s));
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->t = t;
	gpu_process_rows(t);
	for (; !err && s->first < c->work.n; s->first = s->last) {
		s->last = gpu_row_end(c, s->first);
		s->number++;
		err = put_stream(s);
	}
	if (!err)
		gpu_instants(t);
	pile_free(&s->notes);
	pile_unmap(s, sizeof(*s));
	return err ? err : t->json.err;
}
