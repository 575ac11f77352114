/* SPDX-License-Identifier: Apache-2.0 */
#include "report/read.h"
#include "report/input.h"

#include <stdio.h>
#include <string.h>

struct reader {
	const struct read_visitor *v;
	struct parse p;
	struct event e;
	int64_t elements; /* of the first input; -1 = not a tensor */
	unsigned element; /* its size; 0 = not known */
	bool full; /* not enough memory */
	bool events; /* there was an array of them */
};

static uint32_t keep(struct reader *r)
{
	uint32_t id = texts_add(r->v->texts, r->p.text, r->p.len);

	r->full |= id == TEXT_NONE;
	return id;
}

/* ---- shapes: how large is the first input? ---- */

static unsigned element_size(const struct parse *p)
{
	static const struct {
		const char *type;
		unsigned size;
	} types[] = {
		{ "float", 4 },
		{ "double", 8 },
		{ "c10::Half", 2 },
		{ "c10::BFloat16", 2 },
		{ "long int", 8 },
		{ "int", 4 },
		{ "short int", 2 },
		{ "short", 2 },
		{ "long", 8 },
		{ "unsigned char", 1 },
		{ "signed char", 1 },
		{ "bool", 1 },
		{ "c10::complex<float>", 8 },
		{ "c10::complex<double>", 16 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (parse_is(p, types[i].type))
			return types[i].size;
	return 0;
}

/* ["float", ...]: the first one. */
static enum token input_types(struct reader *r)
{
	enum token token = parse_next(&r->p);
	bool first = true;

	if (token != TOKEN_ARRAY)
		return parse_skip(&r->p, token);
	while ((token = parse_next(&r->p)) != TOKEN_ARRAY_END && token != TOKEN_ERROR) {
		if (first && token == TOKEN_STRING)
			r->element = element_size(&r->p);
		first = false;
		token = parse_skip(&r->p, token);
	}
	return token;
}

/* [64, 32]: their product; a scalar has none and is one element. */
static enum token product(struct reader *r, int64_t *n)
{
	enum token token;

	*n = 1;
	while ((token = parse_next(&r->p)) != TOKEN_ARRAY_END && token != TOKEN_ERROR) {
		int64_t side = token == TOKEN_NUMBER ? parse_i64(&r->p) : -1;

		if (side < 0 || *n < 0 || __builtin_mul_overflow(*n, side, n))
			*n = -1;
		token = parse_skip(&r->p, token);
	}
	return token;
}

/* [[64, 32], [], ...]: the first one. */
static enum token input_dims(struct reader *r)
{
	enum token token = parse_next(&r->p);
	bool first = true;

	if (token != TOKEN_ARRAY)
		return parse_skip(&r->p, token);
	while ((token = parse_next(&r->p)) != TOKEN_ARRAY_END && token != TOKEN_ERROR) {
		if (first && token == TOKEN_ARRAY)
			token = product(r, &r->elements);
		else
			token = parse_skip(&r->p, token);
		first = false;
	}
	return token;
}

/* ---- arguments ---- */

static enum token number_arg(struct reader *r, enum event_arg arg)
{
	enum token token = parse_next(&r->p);

	if (token != TOKEN_NUMBER)
		return parse_skip(&r->p, token);
	r->e.arg[arg] = arg == ARG_ADDR ? (int64_t)parse_u64(&r->p) : parse_i64(&r->p);
	r->e.has |= 1u << arg;
	return token;
}

static enum token series(struct reader *r)
{
	uint32_t key = keep(r);
	enum token token = parse_next(&r->p);
	struct event *e = &r->e;

	if (token != TOKEN_NUMBER || e->series == EVENT_SERIES)
		return parse_skip(&r->p, token);
	e->value[e->series].key = key;
	e->value[e->series++].value = parse_i64(&r->p);
	return token;
}

static enum token one_arg(struct reader *r)
{
	static const char *const names[] = {
#define ARG(json, c) json,
		EVENT_ARGS(ARG)
#undef ARG
	};
	enum token token;

	if (r->e.ph == 'C')
		return series(r);
	if (parse_is(&r->p, "Input Dims"))
		return input_dims(r);
	if (parse_is(&r->p, "Input type"))
		return input_types(r);
	for (unsigned i = 0; i < ARGS; i++)
		if (parse_is(&r->p, names[i]))
			return number_arg(r, i);
	if (r->e.ph != 'M' || !parse_is(&r->p, "name"))
		return parse_skip(&r->p, TOKEN_KEY);
	token = parse_next(&r->p);
	if (token == TOKEN_STRING)
		r->e.label = keep(r);
	return parse_skip(&r->p, token);
}

static enum token args(struct reader *r)
{
	enum token token = parse_next(&r->p);

	if (token != TOKEN_OBJECT)
		return parse_skip(&r->p, token);
	while ((token = parse_next(&r->p)) == TOKEN_KEY)
		if (one_arg(r) == TOKEN_ERROR)
			return TOKEN_ERROR;
	return token;
}

/* ---- events ---- */

static enum token id_value(struct reader *r, int64_t *id)
{
	enum token token = parse_next(&r->p);

	if (token == TOKEN_NUMBER)
		*id = parse_i64(&r->p);
	else if (token == TOKEN_STRING)
		*id = -1 - (int64_t)keep(r);
	return parse_skip(&r->p, token);
}

static enum token time_value(struct reader *r, int64_t *ns, bool *has)
{
	enum token token = parse_next(&r->p);

	/* Some writers put times in quotes. */
	if (token == TOKEN_NUMBER || token == TOKEN_STRING) {
		*ns = parse_us(&r->p);
		*has = true;
	}
	return parse_skip(&r->p, token);
}

static enum token text_value(struct reader *r, uint32_t *id)
{
	enum token token = parse_next(&r->p);

	if (token == TOKEN_STRING)
		*id = keep(r);
	return parse_skip(&r->p, token);
}

static enum token phase(struct reader *r)
{
	enum token token = parse_next(&r->p);

	if (token == TOKEN_STRING && r->p.len == 1)
		r->e.ph = *r->p.text;
	return parse_skip(&r->p, token);
}

static enum token member(struct reader *r)
{
	struct event *e = &r->e;

	if (parse_is(&r->p, "ph"))
		return phase(r);
	if (parse_is(&r->p, "cat"))
		return text_value(r, &e->cat);
	if (parse_is(&r->p, "name"))
		return text_value(r, &e->name);
	if (parse_is(&r->p, "pid"))
		return id_value(r, &e->pid);
	if (parse_is(&r->p, "tid"))
		return id_value(r, &e->tid);
	if (parse_is(&r->p, "ts"))
		return time_value(r, &e->ts, &e->has_ts);
	if (parse_is(&r->p, "dur"))
		return time_value(r, &e->dur, &e->has_dur);
	if (parse_is(&r->p, "args"))
		return args(r);
	return parse_skip(&r->p, TOKEN_KEY);
}

static enum token one_event(struct reader *r)
{
	struct event *e = &r->e;
	enum token token;

	/* The values need no clearing: `has` and `series` say which count. */
	e->ph = 0;
	e->name = e->cat = e->label = TEXT_NONE;
	e->pid = e->tid = e->ts = e->dur = 0;
	e->has_ts = e->has_dur = false;
	e->has = e->series = 0;
	r->elements = -1;
	r->element = 0;
	while ((token = parse_next(&r->p)) == TOKEN_KEY)
		if (member(r) == TOKEN_ERROR || r->full)
			return TOKEN_ERROR;
	if (token != TOKEN_OBJECT_END)
		return token;
	e->input_bytes = -1;
	if (r->elements < 0 || !r->element ||
	    __builtin_mul_overflow(r->elements, (int64_t)r->element, &e->input_bytes))
		e->input_bytes = -1;
	r->full |= !r->v->event(r->v->arg, e);
	return r->full ? TOKEN_ERROR : token;
}

static enum token all_events(struct reader *r)
{
	enum token token;

	r->events = true;
	while ((token = parse_next(&r->p)) != TOKEN_ARRAY_END && token != TOKEN_ERROR)
		if ((token == TOKEN_OBJECT ? one_event(r) : parse_skip(&r->p, token)) ==
		    TOKEN_ERROR)
			return TOKEN_ERROR;
	return token;
}

static enum token top_key(struct reader *r)
{
	char key[64];
	bool taken = false;
	enum token token;

	snprintf(key, sizeof(key), "%s", r->p.text);
	if (!strcmp(key, "traceEvents")) {
		token = parse_next(&r->p);
		return token == TOKEN_ARRAY ? all_events(r) : parse_skip(&r->p, token);
	}
	if (r->v->top)
		r->full |= !r->v->top(r->v->arg, key, &r->p, &taken);
	if (r->full || r->p.why)
		return TOKEN_ERROR;
	return taken ? TOKEN_NULL : parse_skip(&r->p, TOKEN_KEY);
}

static enum token whole_file(struct reader *r)
{
	enum token token = parse_next(&r->p);

	if (token == TOKEN_ARRAY)
		token = all_events(r);
	else if (token == TOKEN_OBJECT)
		while ((token = parse_next(&r->p)) == TOKEN_KEY)
			if ((token = top_key(r)) == TOKEN_ERROR)
				return token;
	return token == TOKEN_ERROR ? token : parse_next(&r->p);
}

static ssize_t from_input(void *arg, void *bytes, size_t size, const char **why)
{
	return input_read(arg, bytes, size, why);
}

int read_trace(const char *path, const struct read_visitor *v, char *why, size_t size)
{
	const char *reason = NULL;
	struct input *in = input_open(path, &reason);
	struct reader room = { .v = v }, *r = &room;
	enum token token;

	if (!in) {
		snprintf(why, size, "%s: %s", path, reason);
		return -1;
	}
	r->full = !parse_start(&r->p, from_input, in);
	token = r->full ? TOKEN_ERROR : whole_file(r);
	if (r->full)
		snprintf(why, size, "%s: not enough memory", path);
	else if (token != TOKEN_END)
		snprintf(why, size, "%s: %s at byte %llu: no trace file, or a broken one",
			 path, r->p.why ? r->p.why : "no JSON",
			 (unsigned long long)r->p.offset);
	else if (!r->events)
		snprintf(why, size, "%s: no trace file: \"traceEvents\" is missing",
			 path);
	parse_stop(&r->p);
	input_close(in);
	return token == TOKEN_END && r->events ? 0 : -1;
}
