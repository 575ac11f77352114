/* SPDX-License-Identifier: Apache-2.0 */
/* Slices are by thread and begin: a track is a range of them, looked at once to count its
 * lanes, once to put each slice into its own. */
#include "report/page/columns.h"

#include <stdlib.h>

#define UNIT    100 /* ns */
#define NO_NAME UINT32_MAX

/* What is known while the columns are made. */
struct maker {
	struct columns *c;
	const struct subject *s;
	const struct excerpt *excerpt;
	uint8_t (*depth)[2]; /* of each slice: how many of the host, and of Python, around
				it */
	uint32_t *number; /* of each text of the model: its name here */
	uint32_t *order; /* slices of the track, lane by lane */
	int64_t begin;
};

/* ---- bytes ---- */

/* Seven bits a byte, the lowest first; all but the last have the high bit. */
static bool put_varint(struct columns *c, uint64_t n)
{
	do {
		if (!GROW(c->bytes, c->room, c->n))
			return false;
		c->bytes[c->n++] = (unsigned char)((n & 127) | (n > 127 ? 128 : 0));
		n >>= 7;
	} while (n);
	return true;
}

/* A moment in units; a hostile one is cut to what a page can count. */
static uint64_t units_at(const struct maker *k, int64_t ts)
{
	double since = ((double)ts - (double)k->begin) / UNIT;

	return since <= 0 ? 0 : since > 9e15 ? (uint64_t)9e15 : (uint64_t)since;
}

/* What has no name is "?", whose number is behind those of all texts. */
static bool put_name(struct maker *k, uint32_t name)
{
	struct columns *c = k->c;
	size_t text = name < k->s->model.texts.n ? name : k->s->model.texts.n;

	if (k->number[text] == NO_NAME) {
		if (!GROW(c->names, c->names_room, c->names_n))
			return false;
		k->number[text] = (uint32_t)c->names_n;
		c->names[c->names_n++] = name;
	}
	return put_varint(c, k->number[text]);
}

/* ---- lanes ---- */

/* Which track of its thread a slice belongs to; steps have one of their own. */
static enum columns_kind kind_of(const struct maker *k, uint32_t slice)
{
	switch (k->s->model.slices[slice].kind) {
	case SLICE_PYTHON:
		return COLUMNS_PYTHON;
	case SLICE_DEVICE:
	case SLICE_DEVICE_NOTE:
		return COLUMNS_DEVICE;
	case SLICE_NOTE:
		return text_starts_with(slice_name(&k->s->model, slice), "ProfilerStep#")
			       ? COLUMNS_STEPS
			       : COLUMNS_HOST;
	default:
		return COLUMNS_HOST;
	}
}

/* Depth stops at the last lane: a hostile file has a million slices around one. */
static uint8_t one_deeper(uint8_t depth, bool deeper)
{
	return depth + deeper < (int)COLUMNS_LANES ? (uint8_t)(depth + deeper) : depth;
}

/* A parent comes before what it holds. */
static void set_depths(struct maker *k)
{
	const struct model *m = &k->s->model;

	for (uint32_t i = 0; i < m->slices_n; i++) {
		uint32_t parent = m->slices[i].parent;
		enum columns_kind kind;

		k->c->all += kind_of(k, i) != COLUMNS_STEPS;
		k->depth[i][0] = k->depth[i][1] = 0;
		if (parent == NO_ROW || parent >= i)
			continue;
		kind = kind_of(k, parent);
		k->depth[i][0] =
			one_deeper(k->depth[parent][0],
				   kind == COLUMNS_HOST || kind == COLUMNS_DEVICE);
		k->depth[i][1] = one_deeper(k->depth[parent][1], kind == COLUMNS_PYTHON);
	}
}

/* Lanes of Python count functions alone, all others what is not Python: so each track
 * begins in its first lane. */
static unsigned lane_of(const struct maker *k, uint32_t slice, enum columns_kind kind)
{
	return k->depth[slice][kind == COLUMNS_PYTHON];
}

/* Writes a lane: slices that begin before the one in front of them ends are cut. */
static bool put_lane(struct maker *k, const uint32_t *order, uint32_t n)
{
	const struct slice *slices = k->s->model.slices;
	uint64_t end = 0, last = 0;
	bool fine = true;

	for (uint32_t i = 0; fine && i < n; i++) {
		uint64_t begin = units_at(k, slices[order[i]].begin);

		begin = begin > end ? begin : end;
		fine = put_varint(k->c, begin - last);
		last = begin;
		end = units_at(k, slices[order[i]].end);
		end = end > begin ? end : begin;
	}
	end = 0;
	for (uint32_t i = 0; fine && i < n; i++) {
		uint64_t begin = units_at(k, slices[order[i]].begin);

		begin = begin > end ? begin : end;
		end = units_at(k, slices[order[i]].end);
		end = end > begin ? end : begin;
		fine = put_varint(k->c, end - begin);
	}
	for (uint32_t i = 0; fine && i < n; i++)
		fine = put_name(k, slices[order[i]].name);
	return fine;
}

/* The track's slices lie in `order` lane by lane. */
static bool put_lanes(struct maker *k, const struct columns_track *t)
{
	const uint32_t *order = k->order;
	bool fine = true;

	for (unsigned i = 0; fine && i < t->lanes; i++) {
		fine = put_lane(k, order, t->lane[i]);
		order += t->lane[i];
	}
	return fine;
}

/* ---- tracks ---- */

/* Is the slice of that kind, and does it stay? */
static bool is_of_track(const struct maker *k, uint32_t slice, enum columns_kind kind)
{
	return kind_of(k, slice) == kind &&
	       excerpt_keeps(k->excerpt, &k->s->model.slices[slice]);
}

/* Makes a track of the slices of a kind in [first, after); none where there are none. */
static bool put_track(struct maker *k, enum columns_kind kind, uint32_t first,
		      uint32_t after)
{
	struct columns_track t = { .kind = kind,
				   .thread = k->s->model.slices[first].thread };
	uint32_t at[COLUMNS_LANES] = { 0 };

	for (uint32_t i = first; i < after; i++)
		if (is_of_track(k, i, kind))
			t.lane[lane_of(k, i, kind)]++;
	for (unsigned i = 0; i < COLUMNS_LANES; i++) {
		if (t.lane[i])
			t.lanes = i + 1;
		if (i + 1 < COLUMNS_LANES)
			at[i + 1] = at[i] + t.lane[i];
		k->c->slices += t.lane[i];
	}
	if (!t.lanes)
		return true;
	for (uint32_t i = first; i < after; i++)
		if (is_of_track(k, i, kind))
			k->order[at[lane_of(k, i, kind)]++] = i;
	if (!GROW(k->c->tracks, k->c->tracks_room, k->c->tracks_n))
		return false;
	k->c->tracks[k->c->tracks_n++] = t;
	return put_lanes(k, &t);
}

/* A thread's slices lie together: each range of them is looked at once for a kind. */
static bool put_threads(struct maker *k, enum columns_kind kind)
{
	const struct model *m = &k->s->model;
	bool fine = true;

	for (uint32_t first = 0, after; fine && first < m->slices_n; first = after) {
		after = first;
		while (after < m->slices_n &&
		       m->slices[after].thread == m->slices[first].thread)
			after++;
		fine = put_track(k, kind, first, after);
	}
	return fine;
}

/* Tracks of devices come first, then the host's, and Python's at last. */
bool columns_make(struct columns *c, const struct subject *s,
		  const struct excerpt *excerpt)
{
	const struct model *m = &s->model;
	struct maker k = { .c = c, .s = s, .excerpt = excerpt, .begin = m->begin };
	bool fine;

	*c = (struct columns){ 0 };
	k.depth = malloc((m->slices_n + 1) * sizeof(*k.depth));
	k.order = malloc((m->slices_n + 1) * sizeof(*k.order));
	k.number = malloc((m->texts.n + 1) * sizeof(*k.number));
	fine = k.depth && k.order && k.number;
	if (fine) {
		memset(k.number, 0xff, (m->texts.n + 1) * sizeof(*k.number));
		set_depths(&k);
		fine = put_threads(&k, COLUMNS_DEVICE) && put_threads(&k, COLUMNS_HOST) &&
		       put_threads(&k, COLUMNS_PYTHON);
	}
	free(k.depth);
	free(k.order);
	free(k.number);
	if (!fine)
		columns_free(c);
	return fine;
}

void columns_free(struct columns *c)
{
	free(c->bytes);
	free(c->tracks);
	free(c->names);
	*c = (struct columns){ 0 };
}
