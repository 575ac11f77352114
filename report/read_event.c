/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an event token by token. Unknown members are passed by: writers add members with
 * each version. */
#include "report/read_event.h"

#include <string.h>

static uint32_t keep_text(struct reader *r)
{
	uint32_t id = texts_add(r->v->texts, r->p->text, r->p->len);

	r->full |= id == TEXT_NONE;
	return id;
}

/* ---- shapes: how large is the first input? ---- */

/* A dtype is in C++'s spelling; old files have others. */
unsigned read_event_element(const char *text, size_t len)
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
		if (len == strlen(types[i].type) && !memcmp(text, types[i].type, len))
			return types[i].size;
	return 0;
}

/* Reads the types of the inputs, ["float", ...]: the first one's counts. */
static void input_types(struct reader *r)
{
	enum token token;
	bool is_first = true;

	if (!parse_value(r->p, TOKEN_ARRAY))
		return;
	for (; parse_element(r->p, &token); is_first = false) {
		if (is_first && token == TOKEN_STRING)
			r->element = read_event_element(r->p->text, r->p->len);
		parse_skip(r->p, token);
	}
}

/* Reads a list of lists, such as shapes; its text is kept where a view wants it. */
static void list_value(struct reader *r, uint32_t *id)
{
	dims_read(&r->dims, r->p);
	if (!r->v->details || !r->dims.len)
		return;
	*id = texts_add(r->v->texts, r->dims.text, r->dims.len);
	r->full |= *id == TEXT_NONE;
}

static void input_dims(struct reader *r)
{
	list_value(r, &r->e.shapes);
	r->elements = r->dims.first;
}

/* ---- arguments ---- */

static void text_value(struct reader *r, uint32_t *id)
{
	if (parse_value(r->p, TOKEN_STRING))
		*id = keep_text(r);
}

/* Reads a number. Addresses have 64 bits and no sign. */
static void read_number_arg(struct reader *r, enum event_arg arg)
{
	if (!parse_value(r->p, TOKEN_NUMBER))
		return;
	r->e.arg[arg] = arg == ARG_ADDR ? (int64_t)number_u64(r->p) : number_i64(r->p);
	r->e.has |= 1u << arg;
}

/* Reads a share of a kernel, a number with a fraction; no number is none. */
static void read_share(struct reader *r, double *share)
{
	if (parse_value(r->p, TOKEN_NUMBER))
		*share = number_double(r->p);
}

static void read_series_value(struct reader *r)
{
	uint32_t key = keep_text(r);
	struct event *e = &r->e;

	if (!parse_value(r->p, TOKEN_NUMBER) || e->series == EVENT_SERIES)
		return;
	e->value[e->series].key = key;
	e->value[e->series++].value = number_i64(r->p);
}

static void one_arg(struct reader *r)
{
	static const char *const names[] = {
#define ARG(json, c) json,
		EVENT_ARGS(ARG)
#undef ARG
	};
	unsigned arg = 0;

	while (arg < ARGS && !parse_is(r->p, names[arg]))
		arg++;
	if (r->e.ph == 'C')
		read_series_value(r);
	else if (parse_is(r->p, "Input Dims"))
		input_dims(r);
	else if (parse_is(r->p, "Input type"))
		input_types(r);
	else if (parse_is(r->p, "Call stack"))
		text_value(r, &r->e.stack);
	else if (parse_is(r->p, "Call stack of"))
		r->e.of_forward = parse_value(r->p, TOKEN_STRING);
	else if (parse_is(r->p, "Call"))
		r->e.continued = parse_value(r->p, TOKEN_STRING);
	else if (parse_is(r->p, "flops_source"))
		r->e.flops_ours = parse_value(r->p, TOKEN_STRING);
	else if (parse_is(r->p, "Module path"))
		text_value(r, &r->e.path);
	else if (arg < ARGS)
		read_number_arg(r, arg);
	else if (parse_is(r->p, "grid"))
		list_value(r, &r->e.grid);
	else if (parse_is(r->p, "block"))
		list_value(r, &r->e.block);
	else if (parse_is(r->p, "Process Group Name"))
		text_value(r, &r->e.group);
	else if (parse_is(r->p, "Process Group Ranks"))
		text_value(r, &r->e.members);
	else if (parse_is(r->p, "blocks per SM"))
		read_share(r, &r->e.blocks_per_sm);
	else if (parse_is(r->p, "est. achieved occupancy %"))
		read_share(r, &r->e.occupancy);
	else if (r->e.ph == 'M' && parse_is(r->p, "name"))
		text_value(r, &r->e.label);
	else
		parse_skip(r->p, TOKEN_KEY);
}

static void read_args(struct reader *r)
{
	if (parse_value(r->p, TOKEN_OBJECT))
		while (parse_next(r->p) == TOKEN_KEY)
			one_arg(r);
}

/* ---- events ---- */

/* Reads "pid" or "tid". Kineto's own rows have texts there: these become numbers below
 * zero. */
static void id_value(struct reader *r, int64_t *id)
{
	enum token token = parse_next(r->p);

	if (token == TOKEN_NUMBER)
		*id = number_i64(r->p);
	else if (token == TOKEN_STRING)
		*id = -1 - (int64_t)keep_text(r);
	parse_skip(r->p, token);
}

static void time_value(struct reader *r, int64_t *ns, bool *has)
{
	enum token token = parse_next(r->p);

	/* Some writers put times in quotes. */
	if (token == TOKEN_NUMBER || token == TOKEN_STRING) {
		*ns = number_us(r->p);
		*has = true;
	}
	parse_skip(r->p, token);
}

static void read_phase(struct reader *r)
{
	if (parse_value(r->p, TOKEN_STRING) && r->p->len == 1)
		r->e.ph = *r->p->text;
}

static void read_member(struct reader *r)
{
	struct event *e = &r->e;

	if (parse_is(r->p, "ph"))
		read_phase(r);
	else if (parse_is(r->p, "cat"))
		text_value(r, &e->cat);
	else if (parse_is(r->p, "name"))
		text_value(r, &e->name);
	else if (parse_is(r->p, "pid"))
		id_value(r, &e->pid);
	else if (parse_is(r->p, "tid"))
		id_value(r, &e->tid);
	else if (parse_is(r->p, "ts"))
		time_value(r, &e->ts, &e->has_ts);
	else if (parse_is(r->p, "dur"))
		time_value(r, &e->dur, &e->has_dur);
	else if (parse_is(r->p, "args"))
		read_args(r);
	else
		parse_skip(r->p, TOKEN_KEY);
}

void read_event_begin(struct reader *r)
{
	struct event *e = &r->e;

	/* The arguments need no clearing: `has` and `series` say which count. */
	e->ph = 0;
	e->name = e->cat = e->label = e->stack = e->path = TEXT_NONE;
	e->shapes = e->grid = e->block = TEXT_NONE;
	e->group = e->members = TEXT_NONE;
	e->blocks_per_sm = e->occupancy = -1;
	e->pid = e->tid = e->ts = e->dur = 0;
	e->has_ts = e->has_dur = false;
	e->of_forward = e->flops_ours = e->continued = false;
	e->has = e->series = 0;
	r->elements = -1;
	r->element = 0;
}

void read_event_give(struct reader *r)
{
	struct event *e = &r->e;

	if (r->elements < 0 || !r->element ||
	    __builtin_mul_overflow(r->elements, (int64_t)r->element, &e->input_bytes))
		e->input_bytes = -1;
	r->events++;
	r->full |= !r->v->event(r->v->arg, e);
}

bool read_event_take(struct reader *r)
{
	enum token token;

	read_event_begin(r);
	while ((token = parse_next(r->p)) == TOKEN_KEY && !r->full)
		read_member(r);
	return token == TOKEN_OBJECT_END && !r->full;
}
