/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over all records before they are written: what is open at each moment says
 * which edges a call crosses. */
#include "writer/python/pieces.h"
#include "agent/core/record_module.h"
#include "base/search.h"
#include "writer/sort.h"

#include <errno.h>

_Static_assert((int)FUNCTION_ENTERED == (int)MODULE_ENTERED, "flags of both");

static struct piece *nth_piece(const struct pile *p, size_t i)
{
	return (struct piece *)p->mem + i;
}

static bool is_function(const struct record *r)
{
	return r->kind == REC_FUNCTION;
}

/* Nothing but a function can be cut: a module lies in its functions. */
static bool is_edge(const struct record *r)
{
	return r->kind == REC_ANNOTATION || r->kind == REC_STEP;
}

bool pieces_is_entered(const struct record *r)
{
	return (r->kind == REC_MODULE || is_function(r)) && r->flags & FUNCTION_ENTERED;
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

/* Is what follows of a call behind an edge long enough? */
static bool is_rest(const struct pieces *p, uint64_t begin, uint64_t end)
{
	return end > begin && end - begin >= p->least;
}

/* Those that wait for their time stay in its order. */
static int add_rest(struct pieces *p, struct piece rest)
{
	size_t i = p->rest.n;

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

/* A function begins: the innermost edge around it ends first. */
static int open_piece(struct pieces *p, struct piece piece)
{
	struct piece rest = piece;
	int err = 0;

	for (size_t i = p->open.n; i--;) {
		const struct piece *around = nth_piece(&p->open, i);

		if (!is_edge(around->call) || around->end >= piece.end)
			continue;
		rest.begin = around->end;
		rest.inside = false;
		rest.later = true;
		err = cut_piece(p, &piece, around->end);
		if (!err && is_rest(p, rest.begin, rest.end))
			err = add_rest(p, rest);
		break;
	}
	return err ? err : pile_add(&p->open, &piece, sizeof(piece));
}

/* An edge begins: the functions around it that it outlasts end here, and their rest lies
 * in it. The outermost of those comes first. */
static int open_edge(struct pieces *p, struct piece edge)
{
	size_t first = p->open.n, n = p->open.n;
	bool moves;
	int err = 0;

	for (size_t i = n; i--;)
		if (is_edge(nth_piece(&p->open, i)->call)) {
			uint64_t end = nth_piece(&p->open, i)->end;

			edge.end = edge.end < end ? edge.end : end;
			break;
		}
	while (first && is_function(nth_piece(&p->open, first - 1)->call) &&
	       nth_piece(&p->open, first - 1)->end < edge.end)
		first--;
	for (size_t i = first; !err && i < n; i++) {
		struct piece *piece = nth_piece(&p->open, i), rest = *piece;

		rest.begin = edge.begin;
		rest.inside = true;
		moves = is_rest(p, rest.begin, rest.end);
		/* One that begins here, too, moves into the edge. */
		rest.later = piece->later || piece->begin < edge.begin;
		err = cut_piece(p, piece,
				moves && piece->begin == edge.begin ? 0 : edge.begin);
		if (!err && moves)
			err = add_rest(p, rest);
	}
	p->open.n = first;
	return err ? err : pile_add(&p->open, &edge, sizeof(edge));
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
			       .end = read_end(p->cycle, r),
			       .tid = tid };
	int err = open_rests(p, tid, piece.begin, false);

	if (err)
		return err;
	close_ended(p, piece.begin);
	if (is_function(r))
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
					.end = read_end(p->cycle, r),
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
		if (is_function(piece->call))
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

const struct piece *pieces_before(struct pieces *p, uint32_t tid, uint64_t now)
{
	const struct piece *piece;

	while (p->next_rest < p->rest.n && nth_piece(&p->rest, p->next_rest)->tid < tid)
		p->next_rest++;
	piece = p->next_rest < p->rest.n ? nth_piece(&p->rest, p->next_rest) : NULL;
	if (!piece || piece->tid != tid || piece->begin > now ||
	    (piece->begin == now && piece->inside))
		return NULL;
	p->next_rest++;
	return piece;
}

uint64_t pieces_end(const struct pieces *p, const struct record *r)
{
	size_t at =
		SEARCH_FIRST(i, 0, p->first.n,
			     (uintptr_t)nth_piece(&p->first, i)->call >= (uintptr_t)r);

	return at < p->first.n && nth_piece(&p->first, at)->call == r
		       ? nth_piece(&p->first, at)->end
		       : read_end(p->cycle, r);
}
