/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the object "heap" of a trace, member by member. A value of another kind than
 * expected is passed by. */
#include "report/memory/sites.h"

#include <stdlib.h>

struct pull {
	struct parse *p;
	struct texts *texts;
	struct sites *s;
	bool full;
};

/* So many bounded numbers do not overflow when they are summed up. */
#define ROWS_MOST 8000

static int64_t bound_number(int64_t n)
{
	int64_t most = INT64_C(1) << 48;

	return n > most ? most : n < -most ? -most : n;
}

static void get_i64(struct pull *u, int64_t *to)
{
	if (parse_value(u->p, TOKEN_NUMBER))
		*to = bound_number(number_i64(u->p));
}

static void get_text(struct pull *u, uint32_t *to)
{
	if (!parse_value(u->p, TOKEN_STRING))
		return;
	*to = texts_add(u->texts, u->p->text, u->p->len);
	u->full |= *to == TEXT_NONE;
}

/* Takes a list, behind its key: `one` takes each element whole. */
static void get_list(struct pull *u, void (*one)(struct pull *u, enum token token))
{
	enum token token;

	if (parse_value(u->p, TOKEN_ARRAY))
		while (!u->full && parse_element(u->p, &token))
			one(u, token);
}

/* Takes a list of numbers, behind its key. */
static void get_numbers(struct pull *u, int64_t **list, size_t *room, size_t *n)
{
	enum token token;

	if (!parse_value(u->p, TOKEN_ARRAY))
		return;
	while (!u->full && parse_element(u->p, &token)) {
		u->full = !grow_array(list, room, *n, sizeof(**list));
		if (!u->full)
			(*list)[(*n)++] = token == TOKEN_NUMBER
						  ? bound_number(number_i64(u->p))
						  : 0;
		parse_skip(u->p, token);
	}
}

struct field {
	const char *key;
	int64_t *to;
};

/* Takes the number behind a key, if the key is one of the fields'. */
static void take_field(struct pull *u, const struct field *f)
{
	while (f->key && !parse_is(u->p, f->key))
		f++;
	if (f->key)
		get_i64(u, f->to);
	else
		parse_skip(u->p, TOKEN_KEY);
}

/* Takes an object of numbers, behind its key. */
static void get_fields(struct pull *u, const struct field *fields)
{
	if (parse_value(u->p, TOKEN_OBJECT))
		while (parse_next(u->p) == TOKEN_KEY)
			take_field(u, fields);
}

/* ---- frames and stacks ---- */

/* Takes a frame. One that is no text keeps its number: stacks count frames by place. */
static void take_frame(struct pull *u, enum token token)
{
	struct sites *s = u->s;
	uint32_t id = token == TOKEN_STRING ? texts_add(u->texts, u->p->text, u->p->len)
					    : texts_add(u->texts, "?", 1);

	u->full = id == TEXT_NONE || !GROW(s->frames, s->frames_room, s->frames_n);
	if (!u->full)
		s->frames[s->frames_n++] = id;
	parse_skip(u->p, token);
}

/* Takes a stack. stack_at has one place more than there are stacks: the end of the
 * last. */
static void take_stack(struct pull *u, enum token token)
{
	struct sites *s = u->s;
	enum token number;

	u->full = !GROW(s->stack_at, s->stack_at_room, s->stacks_n + 1) ||
		  s->stack_pool_n >= SITE_NONE;
	if (u->full)
		return;
	s->stack_at[s->stacks_n++] = (uint32_t)s->stack_pool_n;
	if (token != TOKEN_ARRAY)
		parse_skip(u->p, token);
	while (token == TOKEN_ARRAY && !u->full && parse_element(u->p, &number)) {
		uint64_t frame = number == TOKEN_NUMBER ? number_u64(u->p) : SITE_NONE;

		u->full = !GROW(s->stack_pool, s->stack_pool_room, s->stack_pool_n);
		if (!u->full)
			s->stack_pool[s->stack_pool_n++] =
				frame < SITE_NONE ? (uint32_t)frame : SITE_NONE;
		parse_skip(u->p, number);
	}
	s->stack_at[s->stacks_n] = (uint32_t)s->stack_pool_n;
}

/* ---- sites ---- */

static void site_member(struct pull *u, struct site *site, int64_t *sites)
{
	const struct field fields[] = {
		{ "allocs", &site->allocs }, { "bytes", &site->bytes },
		{ "frees", &site->frees },   { "freed", &site->freed },
		{ "live", &site->live },     { "blocks", &site->blocks },
		{ "peak", &site->peak },     { "max", &site->max },
		{ "sites", sites },          { NULL, NULL },
	};
	struct parse *p = u->p;
	int64_t stack = -1;

	if (parse_is(p, "op")) {
		get_text(u, &site->op);
	} else if (parse_is(p, "call")) {
		get_text(u, &site->call);
	} else if (parse_is(p, "Call stack")) {
		get_text(u, &site->python);
	} else if (parse_is(p, "steps")) {
		site->steps = u->s->pool_n;
		get_numbers(u, &u->s->steps_pool, &u->s->pool_room, &u->s->pool_n);
	} else if (parse_is(p, "stack")) {
		get_i64(u, &stack);
		site->stack =
			stack >= 0 && stack < SITE_NONE ? (uint32_t)stack : SITE_NONE;
	} else {
		take_field(u, fields);
	}
}

/* Takes a site whose opening brace was read. Its list of steps must have a number for
 * each. */
static void one_site(struct pull *u, struct site *site, int64_t *sites)
{
	struct sites *s = u->s;

	*site = (struct site){ .stack = SITE_NONE,
			       .op = TEXT_NONE,
			       .call = TEXT_NONE,
			       .python = TEXT_NONE,
			       .steps = SIZE_MAX };
	while (!u->full && parse_next(u->p) == TOKEN_KEY)
		site_member(u, site, sites);
	if (site->steps != SIZE_MAX && s->pool_n - site->steps < s->steps_n)
		site->steps = SIZE_MAX;
}

/* Sites beyond ROWS_MOST are passed by. */
static void take_site(struct pull *u, enum token token)
{
	struct sites *s = u->s;
	int64_t nothing;

	if (token != TOKEN_OBJECT || s->rows_n == ROWS_MOST)
		parse_skip(u->p, token);
	else if (!GROW(s->rows, s->rows_room, s->rows_n))
		u->full = true;
	else
		one_site(u, &s->rows[s->rows_n++], &nothing);
}

/* ---- the whole ---- */

static void read_peak(struct pull *u)
{
	struct sites *s = u->s;
	const struct field peak[] = { { "bytes", &s->peak_bytes },
				      { "step", &s->peak_step },
				      { NULL, NULL } };

	if (!parse_value(u->p, TOKEN_OBJECT))
		return;
	while (parse_next(u->p) == TOKEN_KEY) {
		if (!parse_is(u->p, "ts"))
			take_field(u, peak);
		else
			s->peak_ts =
				parse_value(u->p, TOKEN_NUMBER) ? number_us(u->p) : 0;
	}
}

static void heap_member(struct pull *u)
{
	struct sites *s = u->s;
	struct parse *p = u->p;
	const struct field end[] = { { "bytes", &s->end_bytes },
				     { "blocks", &s->end_blocks },
				     { NULL, NULL } };
	const struct field total[] = { { "allocs", &s->allocs },
				       { "bytes", &s->bytes },
				       { "frees", &s->frees },
				       { "freed", &s->freed },
				       { "foreign_frees", &s->foreign_frees },
				       { NULL, NULL } };
	const struct field stats[] = { { "stacks", &s->walks },
				       { "checked", &s->checked },
				       { "disagreed", &s->disagreed },
				       { "cut", &s->cut },
				       { "ended", &s->ended },
				       { "unknown", &s->unknown },
				       { NULL, NULL } };

	if (parse_is(p, "mode"))
		get_text(u, &s->mode);
	else if (parse_is(p, "since"))
		get_text(u, &s->since);
	else if (parse_is(p, "sample_bytes"))
		get_i64(u, &s->sample_bytes);
	else if (parse_is(p, "weighted"))
		s->weighted = parse_value(p, TOKEN_TRUE);
	else if (parse_is(p, "symbols"))
		s->symbols = parse_value(p, TOKEN_TRUE);
	else if (parse_is(p, "steps"))
		get_numbers(u, &s->steps, &s->steps_room, &s->steps_n);
	else if (parse_is(p, "peak"))
		read_peak(u);
	else if (parse_is(p, "end"))
		get_fields(u, end);
	else if (parse_is(p, "total"))
		get_fields(u, total);
	else if (parse_is(p, "stats"))
		get_fields(u, stats);
	else if (parse_is(p, "frames"))
		get_list(u, take_frame);
	else if (parse_is(p, "stacks"))
		get_list(u, take_stack);
	else if (parse_is(p, "sites"))
		get_list(u, take_site);
	else if (!parse_is(p, "other"))
		parse_skip(p, TOKEN_KEY);
	else if (parse_value(p, TOKEN_OBJECT))
		one_site(u, &s->other, &s->other_sites);
}

/* *enough false: no memory. The caller then still frees what was read. */
struct sites *sites_read(struct parse *p, struct texts *texts, bool *enough)
{
	struct sites *s;
	struct pull u = { p, texts, NULL, false };

	if (!parse_value(p, TOKEN_OBJECT))
		return NULL;
	s = calloc(1, sizeof(*s));
	*enough = s != NULL;
	if (!s)
		return NULL;
	s->mode = s->since = TEXT_NONE;
	s->peak_step = -1;
	s->other.stack = SITE_NONE;
	s->other.steps = SIZE_MAX;
	u.s = s;
	while (!u.full && parse_next(p) == TOKEN_KEY)
		heap_member(&u);
	*enough = !u.full;
	return s;
}

/* Checks numbers at the end, as members come in any order. */
void sites_check(struct sites *s)
{
	for (size_t i = 0; i < s->stack_pool_n; i++)
		if (s->stack_pool[i] >= s->frames_n)
			s->stack_pool[i] = SITE_NONE;
	for (size_t i = 0; i <= s->rows_n; i++) {
		struct site *site = i < s->rows_n ? &s->rows[i] : &s->other;

		if (site->stack >= s->stacks_n)
			site->stack = SITE_NONE;
		if (site->steps > s->pool_n || s->pool_n - site->steps < s->steps_n)
			site->steps = SIZE_MAX;
	}
}

int64_t sites_at_step(const struct sites *s, const struct site *site, size_t i)
{
	return site->steps == SIZE_MAX || i >= s->steps_n
		       ? 0
		       : s->steps_pool[site->steps + i];
}

void sites_free(struct sites *s)
{
	if (!s)
		return;
	free(s->steps);
	free(s->steps_pool);
	free(s->frames);
	free(s->stack_at);
	free(s->stack_pool);
	free(s->rows);
	free(s);
}
