/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the events of a Kineto-schema file to a visitor, one at a time. */
#include "report/read.h"
#include "report/events.h"
#include "report/input.h"
#include "report/parse_bytes.h"

#include <stdio.h>
#include <string.h>

/* Copies the key, as its text is gone with the next token. A key too long for the copy is
 * none that anybody wants. */
static void top_key(struct reader *r)
{
	char key[64];
	bool taken = false;

	snprintf(key, sizeof(key), "%s", r->p->text);
	if (!strcmp(key, "traceEvents")) {
		if (parse_value(r->p, TOKEN_ARRAY))
			events_read(r);
		return;
	}
	r->full |= !r->v->top(r->v->arg, key, r->p, &taken);
	if (!taken)
		parse_skip(r->p, TOKEN_KEY);
}

/* A bare list of events is a trace as well; the last token says whether more follows. */
static enum token whole_file(struct reader *r)
{
	enum token token = parse_next(r->p);

	if (token == TOKEN_ARRAY)
		events_read(r);
	else if (token == TOKEN_OBJECT)
		while (!r->full && parse_next(r->p) == TOKEN_KEY)
			top_key(r);
	return r->full ? TOKEN_ERROR : parse_next(r->p);
}

/* The parser knows of no inputs: this gives the argument its type. */
static ssize_t from_input(void *arg, void *bytes, size_t size, const char **why)
{
	return input_read(arg, bytes, size, why);
}

/* What lies behind the last event that could be read is said, not judged: without any
 * event the file is refused. */
static bool keep_damage(struct reader *r)
{
	if (!r->v->damage || !r->events)
		return false;
	r->damage.broken_why = r->p->why ? r->p->why : "no JSON";
	r->damage.broken_at = r->p->offset;
	return true;
}

/* Memory that ran out is told apart, as the file may be fine then. */
static int say_broken(const struct reader *r, const char *name, char *why, size_t size)
{
	if (r->full)
		snprintf(why, size, "%s: not enough memory", name);
	else
		snprintf(why, size, "%s: %s at byte %llu: no trace file, or a broken one",
			 name, r->p->why ? r->p->why : "no JSON",
			 (unsigned long long)r->p->offset);
	return -1;
}

int read_stream(parse_source *source, void *arg, const char *name,
		const struct read_visitor *v, char *why, size_t size)
{
	struct parse p;
	struct reader reader = { .v = v, .p = &p }, *r = &reader;
	enum token token;
	int result = 0;

	r->full = !parse_start(&p, source, arg);
	token = r->full ? TOKEN_ERROR : whole_file(r);
	if (r->full || (token != TOKEN_END && !keep_damage(r))) {
		result = say_broken(r, name, why, size);
	} else if (!r->list) {
		snprintf(why, size, "%s: no trace file: \"traceEvents\" is missing",
			 name);
		result = -1;
	}
	if (v->damage)
		*v->damage = r->damage;
	parse_stop(&p);
	return result;
}

int read_trace(const char *path, const struct read_visitor *v, char *why, size_t size)
{
	const char *reason = NULL;
	struct input *in = input_open(path, &reason);
	int result;

	if (!in) {
		snprintf(why, size, "%s: %s", path, reason);
		return -1;
	}
	result = read_stream(from_input, in, path, v, why, size);
	input_close(in);
	return result;
}
