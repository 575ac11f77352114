/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over all records before they are written: what is open at each moment says
 * which edges a call crosses. */
#include "writer/python/pieces.h"
#include "agent/core/record_module.h"
#include "base/search.h"
#include "writer/python/returned.h"
#include "writer/sort.h"

#include <errno.h>

#define WAITING 4096 /* rests of calls that cross edges at a time */

_Static_assert((int)FUNCTION_ENTERED == (int)MODULE_ENTERED &&
		       (int)FUNCTION_GONE == (int)MODULE_GONE,
	       "flags of both");

static struct piece *nth_piece(const struct pile *p, size_t i)
{
	return (struct piece *)p->mem + i;
}

uint64_t pieces_call_end(const struct pieces *p, const struct record *r)
{
	return p->returned && r->kind == REC_MODULE
		       ? returned_end(p->returned, p->cycle, (const void *)r)
		       : read_end(p->cycle, r);
}

static bool is_edge(const struct record *r)
{
	return r->kind == REC_ANNOTATION || r->kind == REC_STEP;
}

bool pieces_is_call(const struct record *r)
{
	return r->kind == REC_FUNCTION || r->kind == REC_MODULE || r->kind == REC_C_CALL;
}

bool pieces_is_entered(const struct record *r)
{
	return pieces_is_call(r) && r->flags & FUNCTION_ENTERED;
}

/* The innermost edge that is open, + 1: edges lie within each other, so that it ends
 * first. */
static size_t edge_around(const struct pieces *p)
{
	const struct piece *top = p->open.n ? nth_piece(&p->open, p->open.n - 1) : NULL;

	return !top ? 0 : is_edge(top->call) ? p->open.n : top->edge;
}

/* The innermost rest that is open, + 1. */
static size_t rest_around(const struct pieces *p)
{
	const struct piece *top = p->open.n ? nth_piece(&p->open, p->open.n - 1) : NULL;

	return !top ? 0 : top->at ? p->open.n : top->around;
}

static int push_piece(struct pieces *p, struct piece piece)
{
	piece.edge = edge_around(p);
	piece.around = rest_around(p);
	return pile_add(&p->open, &piece, sizeof(piece));
}

static void close_ended(struct pieces *p, uint64_t now)
{
	while (p->open.n && nth_piece(&p->open, p->open.n - 1)->end <= now)
		p->open.n--;
}

/* The piece ends sooner than it was to. */
static int cut_piece(struct pieces *p, struct piece *piece, uint64_t end)
{
	piece->end = end;
	if (!piece->at)
		return pile_add(&p->first, piece, sizeof(*piece));
	nth_piece(&p->rest, piece->at - 1)->end = end;
	return 0;
}

/* What follows of a call behind an edge. Those that wait for their time stay in its
 * order; a spool may be hostile: of more than can wait nothing follows. */
static int add_rest(struct pieces *p, struct piece rest)
{
	size_t i = p->rest.n;

	if (rest.end <= rest.begin || i - p->next_rest >= WAITING)
		return 0;
	rest.used = rest.end - rest.begin >= p->least;
	if (!pile_push(&p->rest, sizeof(rest)))
		return -ENOMEM;
	for (; i > p->next_rest; i--) {
		const struct piece *before = nth_piece(&p->rest, i - 1);

		if (before->tid != rest.tid || before->begin <= rest.begin)
			break;
		*nth_piece(&p->rest, i) = *before;
	}
	*nth_piece(&p->rest, i) = rest;
	return 0;
}

/* A call begins: the edge around it may end first. */
static int open_piece(struct pieces *p, struct piece piece)
{
	struct piece rest = piece;
	size_t edge = edge_around(p);
	uint64_t end = edge ? nth_piece(&p->open, edge - 1)->end : UINT64_MAX;
	int err = 0;

	if (end < piece.end) {
		rest.begin = end;
		rest.inside = false;
		rest.later = true;
		err = cut_piece(p, &piece, end);
		err = err ? err : add_rest(p, rest);
	}
	return err ? err : push_piece(p, piece);
}

/* An edge begins: the calls around it that it outlasts end here, and their rest lies in
 * it. The outermost of those comes first. One that begins here, too, moves into it. */
static int open_edge(struct pieces *p, struct piece edge)
{
	size_t first = p->open.n, n = p->open.n, around = edge_around(p);
	int err = 0;

	if (around && nth_piece(&p->open, around - 1)->end < edge.end)
		edge.end = nth_piece(&p->open, around - 1)->end;
	while (first && pieces_is_call(nth_piece(&p->open, first - 1)->call) &&
	       nth_piece(&p->open, first - 1)->end < edge.end)
		first--;
	for (size_t i = first; !err && i < n; i++) {
		struct piece *piece = nth_piece(&p->open, i), rest = *piece;
		bool moves = piece->begin == edge.begin && piece->end > edge.begin;

		rest.begin = edge.begin;
		rest.inside = true;
		rest.later = piece->later || !moves;
		err = cut_piece(p, piece, moves ? 0 : edge.begin);
		err = err ? err : add_rest(p, rest);
	}
	p->open.n = first;
	return err ? err : push_piece(p, edge);
}

/* Something begins in the innermost piece: if that is a rest, or lies in one, that is
 * written, however short it is, and so is each around it. */
static void use_rests(struct pieces *p)
{
	for (size_t i = rest_around(p); i; i = nth_piece(&p->open, i - 1)->around) {
		struct piece *rest =
			nth_piece(&p->rest, nth_piece(&p->open, i - 1)->at - 1);

		if (rest->used)
			break;
		rest->used = true;
	}
}

/* The rests that begin until `now` are open from then on. */
static int open_rests(struct pieces *p, uint32_t tid, uint64_t now, bool with_inside)
{
	int err = 0;

	while (!err && p->next_rest < p->rest.n) {
		struct piece piece = *nth_piece(&p->rest, p->next_rest);

		if (piece.tid == tid &&
		    (piece.begin > now ||
		     (piece.begin == now && piece.inside && !with_inside)))
			break;
		piece.at = ++p->next_rest;
		if (piece.tid != tid)
			continue;
		close_ended(p, piece.begin);
		err = open_piece(p, piece);
	}
	return err;
}

static int note_record(struct pieces *p, const struct record *r, uint32_t tid)
{
	struct piece piece = { .call = r,
			       .begin = read_in_window(p->cycle, r->begin),
			       .end = pieces_call_end(p, r),
			       .tid = tid };
	int err = open_rests(p, tid, piece.begin, false);

	if (err)
		return err;
	close_ended(p, piece.begin);
	use_rests(p);
	if (pieces_is_call(r))
		return open_piece(p, piece);
	if (is_edge(r))
		err = open_edge(p, piece);
	return err ? err : open_rests(p, tid, piece.begin, true);
}

static int note_entered(struct pieces *p)
{
	struct cursor c = { .cycle = p->cycle, .last = p->cycle->runs.n };
	const struct record *r;
	uint64_t offset;
	int err = 0;

	while (!err && (r = read_next(&c, &offset)))
		if (pieces_is_entered(r))
			err = pile_add(
				&p->entered,
				&(struct piece){
					.call = r,
					.begin = read_in_window(p->cycle, r->begin),
					.end = pieces_call_end(p, r),
					.tid = read_run(p->cycle, c.run)->tid },
				sizeof(struct piece));
	return err;
}

/* Of a thread: first what was there before. */
static int begin_thread(struct pieces *p, uint32_t tid)
{
	const struct piece *piece;
	int err = 0;

	p->open.n = 0;
	while (!err && (piece = pieces_entered(p, tid)))
		err = open_piece(p, *piece);
	return err;
}

static int note_all(struct pieces *p)
{
	struct cursor c = { .cycle = p->cycle, .last = p->cycle->runs.n };
	const struct record *r;
	uint64_t offset;
	uint32_t tid = 0;
	bool any = false;
	int err = 0;

	while (!err && (r = read_next(&c, &offset))) {
		uint32_t now = read_run(p->cycle, c.run)->tid;

		if (!any || now != tid)
			err = begin_thread(p, now);
		any = true;
		tid = now;
		if (!err && !pieces_is_entered(r))
			err = note_record(p, r, tid);
	}
	return err;
}

static bool piece_before(const void *left, const void *right)
{
	return (uintptr_t)((const struct piece *)left)->call <
	       (uintptr_t)((const struct piece *)right)->call;
}

int pieces_start(struct pieces *p, const struct cycle_read *c, uint64_t least)
{
	int err;

	p->cycle = c;
	p->least = least;
	err = note_entered(p);
	err = err ? err : note_all(p);
	p->next_entered = p->next_rest = 0;
	return err ? err
		   : sort_merge(p->first.mem, p->first.n, sizeof(struct piece),
				piece_before);
}

void pieces_free(struct pieces *p)
{
	pile_free(&p->entered);
	pile_free(&p->open);
	pile_free(&p->first);
	pile_free(&p->rest);
}

const struct piece *pieces_entered(struct pieces *p, uint32_t tid)
{
	const struct piece *piece = p->next_entered < p->entered.n
					    ? nth_piece(&p->entered, p->next_entered)
					    : NULL;

	if (!piece || piece->tid != tid)
		return NULL;
	p->next_entered++;
	return piece;
}

/* One that moved is all that there is of its call. */
static bool is_written(const struct piece *piece)
{
	return piece->used || !piece->later;
}

const struct piece *pieces_before(struct pieces *p, uint32_t tid, uint64_t now)
{
	for (; p->next_rest < p->rest.n; p->next_rest++) {
		const struct piece *piece = nth_piece(&p->rest, p->next_rest);

		if (piece->tid < tid || (piece->tid == tid && !is_written(piece)))
			continue;
		if (piece->tid != tid || piece->begin > now ||
		    (piece->begin == now && piece->inside))
			return NULL;
		p->next_rest++;
		return piece;
	}
	return NULL;
}

uint64_t pieces_end(const struct pieces *p, const struct record *r)
{
	size_t at =
		SEARCH_FIRST(i, 0, p->first.n,
			     (uintptr_t)nth_piece(&p->first, i)->call >= (uintptr_t)r);

	return at < p->first.n && nth_piece(&p->first, at)->call == r
		       ? nth_piece(&p->first, at)->end
		       : pieces_call_end(p, r);
}
