/* SPDX-License-Identifier: Apache-2.0 */
/* Reads events until the list's end. An event that is no JSON is mended where a guess
 * will do; else what lies before the next event is passed over. */
#include "report/events.h"
#include "report/mend.h"
#include "report/parse_bytes.h"
#include "report/scan/scan.h"

#include <string.h>

/* Mending costs time: of a file that is all damage only short events are mended. */
#define FAILURES_MOST 10000u
#define SHORT_EVENT   512u

struct list {
	struct reader *r;
	struct scan scan;
	unsigned depth; /* of what is inside the list */
	/* The event that is being read, as it was: reading decodes it in place. */
	char event[MEND_MOST];
	size_t event_n;
	uint64_t event_at;
	struct mended mended;
};

/* ---- an event's bytes ---- */

/* Copies the event whose opening brace was taken. */
static void copy_event(struct list *l)
{
	struct parse *p = l->r->p;
	size_t most = l->r->damage.passed < FAILURES_MOST ? MEND_MOST : SHORT_EVENT, n;
	const char *ahead;

	do
		parse_bytes_ahead(p, &n);
	while (n + 1 < most && parse_bytes_read_on(p));
	ahead = parse_bytes_ahead(p, &n); /* they may have moved, at the end, too */
	n = n + 1 < most ? n : most - 1;
	*l->event = '{';
	memcpy(l->event + 1, ahead, n);
	l->event_n = n + 1;
	l->event_at = parse_bytes_offset(p) - 1;
}

/* Makes the byte at `target` the next one. False: it is gone, or there is no memory. */
static bool move_to(struct list *l, uint64_t target)
{
	struct parse *p = l->r->p;
	uint64_t at = parse_bytes_offset(p), end = l->event_at + l->event_n;
	size_t n;

	if (target >= at) {
		parse_bytes_ahead(p, &n);
		if (target - at > n)
			return false;
		p->at += target - at;
		return true;
	}
	if (target < l->event_at || at > end)
		return false;
	if (parse_bytes_put_back(p, l->event + (target - l->event_at),
				 (size_t)(at - target)))
		return true;
	l->r->full = true;
	return false;
}

/* ---- behind an error ---- */

/* The place of the first loss is kept, as that is where a reader would look. */
static void note_passed(struct reader *r, uint64_t from, uint64_t to)
{
	struct damage *d = &r->damage;

	if (!d->passed++)
		d->passed_at = from;
	d->passed_bytes += to - from;
}

/* Goes on at the next event, which lies behind `from`. False: there is none, and the
 * error stays. */
static bool find_next_event(struct list *l, uint64_t from)
{
	struct parse *p = l->r->p;
	const char *why = p->why;
	uint64_t offset = p->offset;

	parse_bytes_resume(p, 0, l->depth, EXPECT_VALUE);
	for (;;) {
		size_t n, keep = 512, found;
		const char *ahead = parse_bytes_ahead(p, &n);

		found = mend_find_event(ahead, n);
		if (found != SIZE_MAX) {
			p->at += found;
			if (parse_bytes_offset(p) > from)
				note_passed(l->r, from, parse_bytes_offset(p));
			else
				l->r->damage.repaired++;
			return true;
		}
		/* The key of an event may be cut here. */
		p->at += n > keep ? n - keep : 0;
		if (!parse_bytes_read_on(p))
			break;
	}
	p->why = why;
	p->offset = offset;
	p->expect = EXPECT_BROKEN;
	return false;
}

struct piece {
	const char *at;
	size_t n;
};

/* A short read is no error, and 0 says that the piece is over. */
static ssize_t from_piece(void *arg, void *bytes, size_t size, const char **why)
{
	struct piece *from = arg;
	size_t n = from->n < size ? from->n : size;

	(void)why;
	memcpy(bytes, from->at, n);
	from->at += n;
	from->n -= n;
	return (ssize_t)n;
}

/* Reads the event from its mended text. */
static bool read_mended(struct list *l)
{
	struct reader *r = l->r;
	struct piece text = { l->mended.text, l->mended.len };
	struct parse side, *main = r->p;
	bool good;

	if (!parse_start(&side, from_piece, &text)) {
		r->full = true;
		return false;
	}
	r->p = &side;
	good = parse_next(&side) == TOKEN_OBJECT && read_event_take(r) && r->e.ph;
	r->p = main;
	parse_stop(&side);
	return good;
}

/* Goes on behind an event that is no JSON. False: nothing more can be read. */
static bool mend_or_pass(struct list *l)
{
	struct reader *r = l->r;
	struct parse *p = r->p;
	size_t used = mend_event(&l->mended, l->event, l->event_n), next;

	if (used && read_mended(l) && move_to(l, l->event_at + used)) {
		parse_bytes_resume(p, 0, l->depth, EXPECT_MORE);
		r->damage.repaired++;
		read_event_give(r);
		return true;
	}
	next = mend_find_event(l->event + 1, l->event_n - 1);
	if (next != SIZE_MAX)
		move_to(l, l->event_at + 1 + next);
	return !r->full && find_next_event(l, l->event_at);
}

/* ---- the list ---- */

/* Is an event next, behind a comma where one is due? NULL: it is not. */
static const char *event_ahead(const struct parse *p, const char **stopped)
{
	const char *at = scan_blanks(p->buf + p->at);

	if (p->expect == EXPECT_MORE && *at == ',')
		at = scan_blanks(at + 1);
	else if (p->expect != EXPECT_VALUE && p->expect != EXPECT_FIRST_VALUE)
		return *stopped = at, NULL;
	*stopped = at;
	return *at == '{' ? at : NULL;
}

/* Scans events as long as they are what the scanner reads, and bytes come. */
static void scan_events(struct list *l)
{
	struct reader *r = l->r;
	struct parse *p = r->p;

	do {
		const char *at, *behind, *end = p->buf + p->end;

		l->scan.end = end;
		while ((at = event_ahead(p, &l->scan.stopped))) {
			behind = scan_event(&l->scan, at, end);
			if (!behind)
				break;
			parse_bytes_pass(p, (size_t)(behind - (p->buf + p->at)));
			read_event_give(r);
			if (r->full)
				return;
		}
	} while (!r->full && scan_was_cut(&l->scan) && parse_bytes_read_on(p));
}

/* An odd word makes an event repaired, but never lost; a broken one is mended, or
 * passed, where damage is allowed. */
static bool read_object(struct list *l)
{
	struct reader *r = l->r;
	uint64_t odd = r->p->odd;

	copy_event(l);
	if (read_event_take(r)) {
		r->damage.repaired += r->p->odd != odd;
		read_event_give(r);
		return !r->full;
	}
	return !r->full && r->v->damage && mend_or_pass(l);
}

/* Goes on where no event could begin. A comma before the list's end is nothing. */
static bool read_no_value(struct list *l, uint64_t from)
{
	struct parse *p = l->r->p;
	size_t n;
	const char *ahead = parse_bytes_ahead(p, &n);

	if (!l->r->v->damage)
		return false;
	if (n && *ahead == ']' && p->depth == l->depth) {
		parse_bytes_resume(p, 0, l->depth, EXPECT_MORE);
		l->r->damage.repaired++;
		return true;
	}
	return find_next_event(l, from);
}

void events_read(struct reader *r)
{
	struct list list, *l = &list; /* its texts are set before they are read */
	enum token token;
	uint64_t from;
	bool good = true;

	l->r = r;
	l->depth = r->p->depth;
	r->list = true;
	scan_start(&l->scan, r, r->v->find);
	while (good && !r->full) {
		if (!r->v->strict)
			scan_events(l);
		if (r->full)
			break;
		token = parse_next(r->p);
		from = r->p->before + r->p->start;
		if (token == TOKEN_ARRAY_END)
			break;
		if (token == TOKEN_OBJECT)
			good = read_object(l);
		else if (token == TOKEN_ERROR || parse_skip(r->p, token) == TOKEN_ERROR)
			good = read_no_value(l, from);
	}
	scan_free(&l->scan);
}
