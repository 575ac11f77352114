/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sites.h"

#include <stdlib.h>
#include <string.h>

struct pull {
	struct parse *p;
	struct texts *texts;
	struct sites *s;
	bool full;
};

/* Sums of ROWS_MOST of them do not overflow. */
#define ROWS_MOST 8000

static int64_t bounded(int64_t n)
{
	int64_t most = INT64_C(1) << 48;

	return n > most ? most : n < -most ? -most : n;
}

static enum token get_i64(struct pull *u, int64_t *to)
{
	enum token token = parse_next(u->p);

	if (token == TOKEN_NUMBER)
		*to = bounded(parse_i64(u->p));
	return parse_skip(u->p, token);
}

static enum token get_text(struct pull *u, uint32_t *to)
{
	enum token token = parse_next(u->p);

	if (token == TOKEN_STRING) {
		*to = texts_add(u->texts, u->p->text, u->p->len);
		u->full |= *to == TEXT_NONE;
	}
	return parse_skip(u->p, token);
}

static enum token get_bool(struct pull *u, bool *to)
{
	enum token token = parse_next(u->p);

	*to = token == TOKEN_TRUE;
	return parse_skip(u->p, token);
}

/* A list of numbers, behind its key. */
static enum token get_numbers(struct pull *u, int64_t **list, size_t *room, size_t *n)
{
	enum token token = parse_next(u->p);

	if (token != TOKEN_ARRAY)
		return parse_skip(u->p, token);
	while ((token = parse_next(u->p)) != TOKEN_ARRAY_END && token != TOKEN_ERROR) {
		if (!grow_array((void **)list, room, *n, sizeof(**list))) {
			u->full = true;
			return TOKEN_ERROR;
		}
		(*list)[(*n)++] = token == TOKEN_NUMBER ? bounded(parse_i64(u->p)) : 0;
		token = parse_skip(u->p, token);
	}
	return token;
}

struct field {
	const char *key;
	int64_t *to;
};

/* An object of numbers, behind its key. */
static enum token get_fields(struct pull *u, const struct field *fields)
{
	enum token token = parse_next(u->p);

	if (token != TOKEN_OBJECT)
		return parse_skip(u->p, token);
	while ((token = parse_next(u->p)) == TOKEN_KEY) {
		const struct field *f = fields;

		while (f->key && !parse_is(u->p, f->key))
			f++;
		if ((f->key ? get_i64(u, f->to) : parse_skip(u->p, TOKEN_KEY)) ==
		    TOKEN_ERROR)
			return TOKEN_ERROR;
	}
	return token;
}

/* ---- frames and stacks ---- */

static enum token get_frames(struct pull *u)
{
	struct sites *s = u->s;
	enum token token = parse_next(u->p);

	if (token != TOKEN_ARRAY)
		return parse_skip(u->p, token);
	while ((token = parse_next(u->p)) != TOKEN_ARRAY_END && token != TOKEN_ERROR) {
		uint32_t id = token == TOKEN_STRING
				      ? texts_add(u->texts, u->p->text, u->p->len)
				      : texts_add(u->texts, "?", 1);

		if (id == TEXT_NONE || !GROW(s->frames, s->frames_room, s->frames_n)) {
			u->full = true;
			return TOKEN_ERROR;
		}
		s->frames[s->frames_n++] = id;
		token = parse_skip(u->p, token);
	}
	return token;
}

static enum token one_stack(struct pull *u)
{
	struct sites *s = u->s;
	enum token token;

	while ((token = parse_next(u->p)) != TOKEN_ARRAY_END && token != TOKEN_ERROR) {
		uint64_t frame = token == TOKEN_NUMBER ? parse_u64(u->p) : SITE_NONE;

		if (!GROW(s->stack_pool, s->stack_pool_room, s->stack_pool_n)) {
			u->full = true;
			return TOKEN_ERROR;
		}
		s->stack_pool[s->stack_pool_n++] =
			frame < SITE_NONE ? (uint32_t)frame : SITE_NONE;
		token = parse_skip(u->p, token);
	}
	return token;
}

static enum token get_stacks(struct pull *u)
{
	struct sites *s = u->s;
	enum token token = parse_next(u->p);

	if (token != TOKEN_ARRAY)
		return parse_skip(u->p, token);
	while ((token = parse_next(u->p)) != TOKEN_ARRAY_END && token != TOKEN_ERROR) {
		if (!GROW(s->stack_at, s->stack_at_room, s->stacks_n + 1) ||
		    s->stack_pool_n >= SITE_NONE) {
			u->full = true;
			return TOKEN_ERROR;
		}
		s->stack_at[s->stacks_n++] = (uint32_t)s->stack_pool_n;
		token = token == TOKEN_ARRAY ? one_stack(u) : parse_skip(u->p, token);
		s->stack_at[s->stacks_n] = (uint32_t)s->stack_pool_n;
	}
	return token;
}

/* ---- sites ---- */

static enum token site_member(struct pull *u, struct site *site, int64_t *sites)
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
	enum token token;

	if (parse_is(p, "op"))
		return get_text(u, &site->op);
	if (parse_is(p, "call"))
		return get_text(u, &site->call);
	if (parse_is(p, "steps")) {
		site->steps = u->s->pool_n;
		token = get_numbers(u, &u->s->steps_pool, &u->s->pool_room,
				    &u->s->pool_n);
		return token;
	}
	if (parse_is(p, "stack")) {
		token = get_i64(u, &stack);
		site->stack =
			stack >= 0 && stack < SITE_NONE ? (uint32_t)stack : SITE_NONE;
		return token;
	}
	for (const struct field *f = fields; f->key; f++)
		if (parse_is(p, f->key))
			return get_i64(u, f->to);
	return parse_skip(p, TOKEN_KEY);
}

/* An object whose opening brace was read. The list of steps has a place for each. */
static enum token one_site(struct pull *u, struct site *site, int64_t *sites)
{
	struct sites *s = u->s;
	enum token token;

	*site = (struct site){
		.stack = SITE_NONE, .op = TEXT_NONE, .call = TEXT_NONE, .steps = SIZE_MAX
	};
	while ((token = parse_next(u->p)) == TOKEN_KEY)
		if (site_member(u, site, sites) == TOKEN_ERROR || u->full)
			return TOKEN_ERROR;
	if (site->steps != SIZE_MAX && s->pool_n - site->steps < s->steps_n)
		site->steps = SIZE_MAX;
	return token;
}

static enum token get_sites(struct pull *u)
{
	struct sites *s = u->s;
	enum token token = parse_next(u->p);
	int64_t nothing;

	if (token != TOKEN_ARRAY)
		return parse_skip(u->p, token);
	while ((token = parse_next(u->p)) != TOKEN_ARRAY_END && token != TOKEN_ERROR) {
		if (token != TOKEN_OBJECT || s->rows_n == ROWS_MOST) {
			token = parse_skip(u->p, token);
			continue;
		}
		if (!GROW(s->rows, s->rows_room, s->rows_n)) {
			u->full = true;
			return TOKEN_ERROR;
		}
		token = one_site(u, &s->rows[s->rows_n++], &nothing);
		if (token == TOKEN_ERROR)
			return token;
	}
	return token;
}

static enum token get_other(struct pull *u)
{
	enum token token = parse_next(u->p);

	if (token != TOKEN_OBJECT)
		return parse_skip(u->p, token);
	return one_site(u, &u->s->other, &u->s->other_sites);
}

/* ---- the whole ---- */

static enum token get_peak(struct pull *u)
{
	struct sites *s = u->s;
	enum token token = parse_next(u->p);

	if (token != TOKEN_OBJECT)
		return parse_skip(u->p, token);
	while ((token = parse_next(u->p)) == TOKEN_KEY) {
		if (parse_is(u->p, "ts")) {
			token = parse_next(u->p);
			s->peak_ts = token == TOKEN_NUMBER ? parse_us(u->p) : 0;
			token = parse_skip(u->p, token);
		} else if (parse_is(u->p, "bytes")) {
			token = get_i64(u, &s->peak_bytes);
		} else if (parse_is(u->p, "step")) {
			token = get_i64(u, &s->peak_step);
		} else {
			token = parse_skip(u->p, TOKEN_KEY);
		}
		if (token == TOKEN_ERROR)
			return token;
	}
	return token;
}

static enum token heap_member(struct pull *u)
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
		return get_text(u, &s->mode);
	if (parse_is(p, "since"))
		return get_text(u, &s->since);
	if (parse_is(p, "sample_bytes"))
		return get_i64(u, &s->sample_bytes);
	if (parse_is(p, "weighted"))
		return get_bool(u, &s->weighted);
	if (parse_is(p, "symbols"))
		return get_bool(u, &s->symbols);
	if (parse_is(p, "steps"))
		return get_numbers(u, &s->steps, &s->steps_room, &s->steps_n);
	if (parse_is(p, "peak"))
		return get_peak(u);
	if (parse_is(p, "end"))
		return get_fields(u, end);
	if (parse_is(p, "total"))
		return get_fields(u, total);
	if (parse_is(p, "stats"))
		return get_fields(u, stats);
	if (parse_is(p, "frames"))
		return get_frames(u);
	if (parse_is(p, "stacks"))
		return get_stacks(u);
	if (parse_is(p, "sites"))
		return get_sites(u);
	return parse_is(p, "other") ? get_other(u) : parse_skip(p, TOKEN_KEY);
}

struct sites *sites_read(struct parse *p, struct texts *texts, bool *enough)
{
	enum token token = parse_next(p);
	struct sites *s;
	struct pull u = { p, texts, NULL, false };

	if (token != TOKEN_OBJECT) {
		parse_skip(p, token);
		return NULL;
	}
	s = calloc(1, sizeof(*s));
	*enough = s != NULL;
	if (!s)
		return NULL;
	s->mode = s->since = TEXT_NONE;
	s->peak_step = -1;
	s->other.stack = SITE_NONE;
	s->other.steps = SIZE_MAX;
	u.s = s;
	while ((token = parse_next(p)) == TOKEN_KEY)
		if (heap_member(&u) == TOKEN_ERROR || u.full)
			break;
	*enough = !u.full;
	return s;
}

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
