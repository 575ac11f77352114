/* SPDX-License-Identifier: Apache-2.0 */
/* Members are copied as they come; those that join events, and times, are moved on the
 * way where traces lie beside one another. */
#include "report/export/rewrite_event.h"
#include "base/hash.h"
#include "report/export/rewrite_value.h"

#include <stdio.h>
#include <string.h>

#define PIDS_APART INT64_C(1000000000) /* no process has a number above it */

struct copying {
	struct json_piece *t;
	struct parse *p;
	struct rewrite_event *e;
	struct rewrite_moves *moves;
};

/* Notes a row; a process of another trace is another process. */
static void copy_row(struct copying *c, enum token token, struct rewrite_row *row,
		     bool process)
{
	unsigned part = process ? c->moves->part : 0;
	char text[REWRITE_TEXT_MOST + 16];

	if (token == TOKEN_STRING)
		snprintf(row->text, sizeof(row->text), "%s", c->p->text);
	else if (token == TOKEN_NUMBER)
		row->number = number_i64(c->p);
	if (part && token == TOKEN_STRING) {
		snprintf(text, sizeof(text), "%s [%u]", row->text, part + 1);
		json_piece_string(c->t, text, strlen(text));
	} else if (part && token == TOKEN_NUMBER && row->number >= 0 &&
		   row->number < PIDS_APART) {
		json_piece_number(c->t, row->number + part * PIDS_APART);
	} else {
		rewrite_value(c->t, c->p, token);
	}
}

/* A time that is moved has three decimals: nothing is lost, for the reader has no
 * more. */
static void copy_time(struct copying *c, enum token token)
{
	int64_t moved, shift = c->moves->shift;

	c->e->has_ts = token == TOKEN_NUMBER || token == TOKEN_STRING;
	if (c->e->has_ts)
		c->e->ts = number_us(c->p);
	if (c->e->has_ts && shift && !__builtin_add_overflow(c->e->ts, shift, &moved))
		json_piece_us(c->t, moved);
	else
		rewrite_value(c->t, c->p, token);
}

/* Some writers put lengths in quotes, as times. */
static void copy_length(struct copying *c, enum token token)
{
	if (token == TOKEN_NUMBER || token == TOKEN_STRING)
		c->e->dur = number_us(c->p);
	rewrite_value(c->t, c->p, token);
}

/* Copies a number that joins events: each trace has its own. One that is out of range
 * joins nothing. */
static void copy_id(struct copying *c, enum token token, int64_t *id)
{
	struct rewrite_moves *moves = c->moves;
	int64_t n = token == TOKEN_NUMBER ? number_i64(c->p) : 0, moved;

	*id = n;
	if (n > 0 && n <= INT32_MAX && n + moves->ids < UINT32_MAX) {
		moved = n + moves->ids;
		moves->most = moved > moves->most ? moved : moves->most;
		if (moves->part) {
			json_piece_number(c->t, moved);
			return;
		}
	}
	rewrite_value(c->t, c->p, token);
}

/* Viewers show the names of processes: they tell traces apart. */
static void copy_label(struct copying *c, enum token token)
{
	char text[REWRITE_TEXT_MOST];

	if (token != TOKEN_STRING || !c->moves->label ||
	    strcmp(c->e->name, "process_name") != 0) {
		rewrite_value(c->t, c->p, token);
		return;
	}
	snprintf(text, sizeof(text), "%.100s (%.100s)", c->p->text, c->moves->label);
	json_piece_string(c->t, text, strlen(text));
}

/* Two arguments join events; all others are copied as they are. */
static void copy_args(struct copying *c, enum token token)
{
	bool first = true;

	if (token != TOKEN_OBJECT) {
		rewrite_value(c->t, c->p, token);
		return;
	}
	json_piece_literal(c->t, "{");
	for (; parse_next(c->p) == TOKEN_KEY; first = false) {
		bool external = parse_is(c->p, "External id");
		bool correlation = parse_is(c->p, "correlation");
		bool name = parse_is(c->p, "name");

		rewrite_key(c->t, c->p, first);
		token = parse_next(c->p);
		if (external || correlation)
			copy_id(c, token,
				external ? &c->e->external : &c->e->correlation);
		else if (name)
			copy_label(c, token);
		else
			rewrite_value(c->t, c->p, token);
	}
	json_piece_literal(c->t, "}");
}

enum member {
	MEMBER_OTHER,
	PHASE,
	CATEGORY,
	NAME,
	PID,
	TID,
	TIME,
	LENGTH,
	ID,
	ARGUMENTS
};

/* The members that decide something. */
static enum member member_of(const struct parse *p)
{
	static const char *const names[] = {
		[PHASE] = "ph",   [CATEGORY] = "cat", [NAME] = "name",
		[PID] = "pid",    [TID] = "tid",      [TIME] = "ts",
		[LENGTH] = "dur", [ID] = "id",        [ARGUMENTS] = "args"
	};

	for (unsigned i = PHASE; i <= ARGUMENTS; i++)
		if (parse_is(p, names[i]))
			return (enum member)i;
	return MEMBER_OTHER;
}

/* Notes a text, and what of an arrow's two ends is the same. */
static void note_text(struct copying *c, enum member member, enum token token)
{
	struct rewrite_event *e = c->e;

	if (member == CATEGORY || (member == ID && token == TOKEN_STRING))
		e->flow += hash_bytes(c->p->text, c->p->len);
	else if (member == ID)
		e->flow += hash_bytes(c->p->text, c->p->len) * 31;
	else if (member == NAME)
		snprintf(e->name, sizeof(e->name), "%s", c->p->text);
	else if (member == PHASE && c->p->len == 1)
		e->ph = *c->p->text;
}

/* Members that name a row, a moment or another event are noted, and may be moved; all
 * others are only copied. */
static void copy_member(struct copying *c, enum member member)
{
	enum token token = parse_next(c->p);

	if (token == TOKEN_STRING || (token == TOKEN_NUMBER && member == ID))
		note_text(c, member, token);
	if (member == PID || member == TID)
		copy_row(c, token, member == PID ? &c->e->pid : &c->e->tid,
			 member == PID);
	else if (member == TIME)
		copy_time(c, token);
	else if (member == LENGTH)
		copy_length(c, token);
	else if (member == ID)
		copy_id(c, token, &c->e->id);
	else if (member == ARGUMENTS)
		copy_args(c, token);
	else
		rewrite_value(c->t, c->p, token);
}

/* The same event is filled again and again: nothing of the one before may be left. */
void rewrite_event_copy(struct json_piece *t, struct parse *p, struct rewrite_event *e,
			struct rewrite_moves *moves)
{
	struct copying c = { t, p, e, moves };
	bool first = true;

	e->ph = *e->name = *e->pid.text = *e->tid.text = '\0';
	e->has_ts = false;
	e->pid.number = e->tid.number = e->ts = e->dur = 0;
	e->external = e->correlation = e->id = 0;
	e->flow = 0;
	json_piece_literal(t, "{");
	for (; parse_next(p) == TOKEN_KEY && !t->full; first = false) {
		enum member member = member_of(p);

		rewrite_key(t, p, first);
		copy_member(&c, member);
	}
	json_piece_literal(t, "}");
}
