/* SPDX-License-Identifier: Apache-2.0 */
/* An event is copied into memory, and written when it is known whether it stays: its
 * members come in any order. */
#include "report/export/rewrite.h"
#include "report/export/rewrite_value.h"
#include "report/input.h"
#include "report/kept.h"

#include <string.h>
#include <sys/stat.h>

struct passing {
	struct rewrite *w;
	const struct rewrite_order *o;
	struct parse p;
	struct rewrite_event e;
	struct rewrite_moves moves;
	bool events; /* the trace has a list of events */
	bool whole; /* one of them was read to its end */
};

void rewrite_begin(struct rewrite *w, FILE *out)
{
	*w = (struct rewrite){ .out = out };
}

/* A look at the events writes nothing. */
static void put_out(struct rewrite *w, const char *bytes, size_t n)
{
	if (w->out && n)
		fwrite(bytes, 1, n, w->out);
}

/* ---- members ---- */

/* Writes what stands before a member. */
static void put_begin(struct rewrite *w, const struct rewrite_order *o)
{
	if (w->begun) {
		put_out(w, ",\n", 2);
		return;
	}
	w->begun = true;
	put_out(w, "{\n", 2);
	if (!o->member)
		return;
	put_out(w, o->member, strlen(o->member));
	put_out(w, ",\n", 2);
}

/* The list is opened once, by the first event or by a trace without any. */
static void open_list(struct rewrite *w, const struct rewrite_order *o)
{
	if (w->listed)
		return;
	put_begin(w, o);
	put_out(w, "\"traceEvents\": [", 16);
	w->listed = true;
}

/* Members behind the events wait until all events are there. */
static void copy_behind(struct passing *c)
{
	struct json_piece *t = &c->w->tail;
	size_t before = t->n;

	t->wide = true;
	json_piece_literal(t, ",\n");
	rewrite_key(t, &c->p, true);
	rewrite_value(t, &c->p, parse_next(&c->p));
	if (c->p.why && !t->full)
		t->n = before;
}

/* A member is written when it is whole. */
static void copy_before(struct passing *c)
{
	struct rewrite *w = c->w;
	struct json_piece *t = &w->text;

	t->n = 0;
	t->wide = true;
	rewrite_key(t, &c->p, true);
	rewrite_value(t, &c->p, parse_next(&c->p));
	if (c->p.why || t->full)
		return;
	put_begin(w, c->o);
	put_out(w, t->bytes, t->n);
}

/* ---- events ---- */

/* An event that breaks off is dropped: the list is valid without it. */
static void copy_events(struct passing *c)
{
	struct rewrite *w = c->w;
	enum token token;

	c->events = true;
	w->text.wide = false;
	while (!w->text.full && parse_element(&c->p, &token)) {
		if (token != TOKEN_OBJECT) {
			parse_skip(&c->p, token);
			continue;
		}
		w->text.n = 0;
		rewrite_event_copy(&w->text, &c->p, &c->e, &c->moves);
		c->whole |= !c->p.why;
		if (c->p.why || w->text.full ||
		    (c->o->keep && !c->o->keep(c->o->arg, &c->e)))
			continue;
		open_list(w, c->o);
		put_out(w, w->some ? ",\n" : "\n", w->some ? 2 : 1);
		put_out(w, w->text.bytes, w->text.n);
		w->some = true;
	}
	if (!c->p.why && !w->text.full)
		open_list(w, c->o);
}

/* Members come before the events, behind them, or are of a trace beside others. */
static void copy_member(struct passing *c)
{
	if (parse_is(&c->p, "traceEvents")) {
		if (parse_value(&c->p, TOKEN_ARRAY))
			copy_events(c);
	} else if ((c->o->member || c->o->label) && parse_is(&c->p, KEPT_MEMBER)) {
		parse_skip(&c->p, TOKEN_KEY); /* it is written anew */
	} else if (c->moves.part) {
		parse_skip(&c->p, TOKEN_KEY);
	} else if (c->w->listed) {
		copy_behind(c);
	} else {
		copy_before(c);
	}
}

/* ---- a trace ---- */

/* Some writers leave the object out: their file is the list of events alone. */
static enum token copy_file(struct passing *c)
{
	enum token token = parse_next(&c->p);

	if (token == TOKEN_ARRAY)
		copy_events(c);
	else if (token == TOKEN_OBJECT)
		while (!c->w->text.full && !c->w->tail.full &&
		       parse_next(&c->p) == TOKEN_KEY)
			copy_member(c);
	return parse_next(&c->p);
}

/* The parser knows nothing of files: it takes its bytes from here. */
static ssize_t from_input(void *arg, void *bytes, size_t size, const char **why)
{
	return input_read(arg, bytes, size, why);
}

/* Says what is wrong. Where events were read whole, what is before an error is taken. */
static bool judge_file(struct passing *c, enum token token, const char *path, char *why,
		       size_t size)
{
	struct rewrite *w = c->w;
	const char *reason = c->p.why ? c->p.why : "no JSON";

	w->broken = token != TOKEN_END && c->whole ? reason : NULL;
	w->broken_at = c->p.offset;
	if (w->text.full || w->tail.full)
		snprintf(why, size,
			 "%s: not enough memory, or a value of more than %u MiB", path,
			 JSON_PIECE_MOST >> 20);
	else if (token != TOKEN_END && !w->broken)
		snprintf(why, size, "%s: %s at byte %llu: no trace file, or a broken one",
			 path, reason, (unsigned long long)c->p.offset);
	else if (!c->events)
		snprintf(why, size, "%s: no trace file: \"traceEvents\" is missing",
			 path);
	else
		return true;
	w->text.full = w->tail.full = false;
	return false;
}

/* The time of the trace's begin, which some writers put behind the events; 0: none, or a
 * pipe, which can be read once. */
static int64_t find_base(const char *path)
{
	const char *reason = NULL;
	struct stat st;
	struct input *in = !stat(path, &st) && S_ISREG(st.st_mode)
				   ? input_open(path, &reason)
				   : NULL;
	struct parse p;
	int64_t base = 0;

	if (!in)
		return 0;
	if (parse_start(&p, from_input, in)) {
		if (parse_next(&p) == TOKEN_OBJECT)
			while (!base && parse_next(&p) == TOKEN_KEY) {
				bool time = parse_is(&p, "baseTimeNanoseconds");

				if (!time)
					parse_skip(&p, TOKEN_KEY);
				else if (parse_value(&p, TOKEN_NUMBER))
					base = number_i64(&p);
			}
		parse_stop(&p);
	}
	input_close(in);
	return base;
}

/* Traces beside one another lie where their times since 1970 are, if both say them. */
static void align_times(struct passing *c, const char *path)
{
	int64_t base = c->o->label ? find_base(path) : 0, shift;

	c->w->adrift = false;
	if (!c->moves.part)
		c->w->base = base;
	else if (base && c->w->base && !__builtin_sub_overflow(base, c->w->base, &shift))
		c->moves.shift = shift;
	else
		c->w->adrift = true;
}

/* The first trace with events stays as it is; ids of a later one go above the largest
 * so far. */
bool rewrite_trace(struct rewrite *w, const char *path, const struct rewrite_order *o,
		   char *why, size_t size)
{
	const char *reason = NULL;
	struct input *in = input_open(path, &reason);
	struct passing c = { .w = w,
			     .o = o,
			     .moves = { .part = w->listed ? w->traces : 0,
					.ids = w->listed ? w->most : 0,
					.most = w->most,
					.label = o->label } };
	bool fine;

	if (!in) {
		snprintf(why, size, "%s: %s", path, reason);
		return false;
	}
	align_times(&c, path);
	if (parse_start(&c.p, from_input, in)) {
		enum token token = copy_file(&c);

		fine = judge_file(&c, token, path, why, size);
	} else {
		snprintf(why, size, "%s: not enough memory", path);
		fine = false;
	}
	w->traces += c.events;
	w->most = c.moves.most;
	parse_stop(&c.p);
	input_close(in);
	return fine;
}

/* Without a list of events nothing was a trace, and no end is written. */
bool rewrite_end(struct rewrite *w)
{
	bool fine = w->listed;

	put_out(w, "\n]", fine ? 2 : 0);
	put_out(w, w->tail.bytes, fine ? w->tail.n : 0);
	put_out(w, "\n}\n", fine ? 3 : 0);
	json_piece_free(&w->text);
	json_piece_free(&w->tail);
	return fine;
}
