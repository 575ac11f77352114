/* SPDX-License-Identifier: Apache-2.0 */
/* Functions return the place behind what they took; NULL: the parser takes the event. */
#include "report/scan/scan.h"
#include "report/scan/digits.h"

#include <string.h>

static const char *stop_at(struct scan *s, const char *at)
{
	s->stopped = at;
	return NULL;
}

/* ---- texts ---- */

/* The first quote, backslash or control character. Most texts are shorter than 16 bytes,
 * for which a call would cost more than the search. */
static inline const char *text_end(const struct scan *s, const char *at)
{
#ifdef __SSE2__
	if (s->wide) {
		const __m128i v = _mm_loadu_si128((const __m128i *)at);
		const __m128i low = _mm_min_epu8(v, _mm_set1_epi8(0x1f));
		unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(
			_mm_cmpeq_epi8(low, v),
			_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
				     _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')))));

		if (mask)
			return at + __builtin_ctz(mask);
		at += 16;
	}
#endif
	return s->find->text_end(at);
}

/* Takes a text whose opening quote is at `at`; it has no escape. */
static inline const char *take_text(struct scan *s, const char *at, size_t *len)
{
	const char *end = text_end(s, at + 1);

	if (*end != '"' || end >= s->end)
		return stop_at(s, end);
	*len = (size_t)(end - at - 1);
	return end + 1;
}

/* The quote behind the end stops it, so that it never reads too far. */
static bool is_hex(const char *at)
{
	for (int i = 0; i < 4; i++)
		if (!digits_is(at[i]) && ((at[i] | 32) < 'a' || (at[i] | 32) > 'f'))
			return false;
	return true;
}

/* Skips a text that nobody wants: escapes must be some. */
static const char *skip_text(struct scan *s, const char *at)
{
	for (at = text_end(s, at + 1); *at == '\\'; at = text_end(s, at)) {
		if (at[1] == 'u' && is_hex(at + 2))
			at += 6;
		else if (at[1] && strchr("\"\\/bfnrt", at[1]))
			at += 2;
		else
			return stop_at(s, at + 6 < s->end ? at : s->end);
		if (at >= s->end)
			return stop_at(s, at);
	}
	return *at == '"' && at < s->end ? at + 1 : stop_at(s, at);
}

/* A text with escapes stops the scan, as its bytes are not its value. */
static const char *keep_text(struct scan *s, const char *at, uint32_t *id)
{
	size_t len;
	const char *behind = *at == '"' ? take_text(s, at, &len) : stop_at(s, at);

	if (!behind)
		return NULL;
	*id = texts_add(s->r->v->texts, at + 1, len);
	s->r->full |= *id == TEXT_NONE;
	return behind;
}

/* Takes a category: most often it is that of the event before. */
static const char *keep_category(struct scan *s, const char *at, uint32_t *id)
{
	size_t len = s->category.len;

	if (len && *at == '"' && s->end - at > SCAN_CATEGORY_MOST + 2 &&
	    !memcmp(at + 1, s->category.text, len) && at[len + 1] == '"') {
		*id = s->category.id;
		return at + len + 2;
	}
	s->category.len = 0;
	at = keep_text(s, at, id);
	if (!at || *id == TEXT_NONE)
		return at;
	len = strlen(texts_get(s->r->v->texts, *id));
	if (len <= SCAN_CATEGORY_MOST) {
		memcpy(s->category.text, texts_get(s->r->v->texts, *id), len);
		s->category.len = len;
		s->category.id = *id;
	}
	return at;
}

/* ---- other values ---- */

/* A word that the end may have cut asks for more bytes; others go to the parser. */
static const char *skip_word(struct scan *s, const char *at)
{
	static const char *const words[] = { "true", "false", "null" };

	for (unsigned i = 0; i < 3; i++)
		if (!strncmp(at, words[i], strlen(words[i])))
			return at + strlen(words[i]);
	return stop_at(s, at + 5 < s->end ? at : s->end);
}

static inline const char *check_number(struct scan *s, const char *at, const char *behind)
{
	return behind ? behind : stop_at(s, at + 400 < s->end ? at : s->end);
}

/* More bytes may bring the closing bracket, so that this counts as cut. What is no JSON
 * is the parser's. */
static const char *skip_nest(struct scan *s, const char *at)
{
	const char *behind = s->find->nest_end(at, s->end);

	return behind > at ? behind : stop_at(s, behind ? at : s->end);
}

static const char *skip_value(struct scan *s, const char *at)
{
	if (*at == '"')
		return skip_text(s, at);
	if (*at == '[' || *at == '{')
		return skip_nest(s, at);
	return *at == '-' || digits_is(*at) ? check_number(s, at, digits_skip(at))
					    : skip_word(s, at);
}

/* ---- arguments ---- */

/* Texts of lists are kept only where the caller wants details. */
static const char *take_list(struct scan *s, const char *at, uint32_t *text,
			     int64_t *first)
{
	const char *behind;
	const struct list_seen *list;

	if (*at != '[')
		return stop_at(s, at);
	behind = skip_nest(s, at);
	if (!behind)
		return NULL;
	list = lists_get(&s->lists, s->r->v->details ? s->r->v->texts : NULL, at,
			 (size_t)(behind - at));
	if (!list)
		return stop_at(s, at);
	*text = list->text;
	if (first)
		*first = list->first;
	return behind;
}

/* Takes the types of the inputs: the first one's counts. */
static const char *take_types(struct scan *s, const char *at)
{
	const char *type, *behind;
	size_t len;

	if (*at != '[')
		return stop_at(s, at);
	behind = skip_nest(s, at);
	type = scan_blanks(at + 1);
	if (!behind)
		return NULL;
	if (*type != '"')
		return *type == ']' ? behind : stop_at(s, at);
	if (!take_text(s, type, &len))
		return NULL;
	s->r->element = read_event_element(type + 1, len);
	return behind;
}

/* A value that is no number is passed, as the parser does. */
static const char *take_share(struct scan *s, const char *at, double *share)
{
	if (*at != '-' && !digits_is(*at))
		return skip_value(s, at);
	return check_number(s, at, digits_double(at, share));
}

/* Values beyond the event's room are passed, but their names are kept. */
static const char *take_series(struct scan *s, const char *key, size_t len,
			       const char *at)
{
	struct event *e = &s->r->e;
	uint32_t id = texts_add(s->r->v->texts, key, len);
	int64_t value;

	s->r->full |= id == TEXT_NONE;
	if ((*at != '-' && !digits_is(*at)) || e->series == EVENT_SERIES)
		return skip_value(s, at);
	e->value[e->series].key = id;
	at = check_number(s, at, digits_i64(at, &value));
	e->value[e->series++].value = at ? value : 0;
	return at;
}

/* Addresses need all 64 bits, which a signed number lacks. */
static const char *take_number(struct scan *s, enum event_arg arg, const char *at)
{
	struct event *e = &s->r->e;
	const char *behind;

	if (*at != '-' && !digits_is(*at))
		return skip_value(s, at);
	behind = arg == ARG_ADDR ? digits_u64(at, &e->arg[arg])
				 : digits_i64(at, &e->arg[arg]);
	e->has |= 1u << arg;
	return check_number(s, at, behind);
}

static const char *take_odd(struct scan *s, enum key key, const char *at)
{
	struct event *e = &s->r->e;

	switch (key) {
	case KEY_INPUT_DIMS:
		return take_list(s, at, &e->shapes, &s->r->elements);
	case KEY_INPUT_TYPE:
		return take_types(s, at);
	case KEY_STACK:
		return keep_text(s, at, &e->stack);
	case KEY_PATH:
		return keep_text(s, at, &e->path);
	case KEY_GRID:
		return take_list(s, at, &e->grid, NULL);
	case KEY_BLOCK:
		return take_list(s, at, &e->block, NULL);
	case KEY_GROUP:
		return keep_text(s, at, &e->group);
	case KEY_MEMBERS:
		return keep_text(s, at, &e->members);
	case KEY_BLOCKS_PER_SM:
		return take_share(s, at, &e->blocks_per_sm);
	case KEY_OCCUPANCY:
		return take_share(s, at, &e->occupancy);
	case KEY_LABEL:
		return e->ph == 'M' ? keep_text(s, at, &e->label) : skip_value(s, at);
	case KEY_STACK_OF:
	case KEY_FLOPS_SOURCE:
	case KEY_CALL:
		e->of_forward |= key == KEY_STACK_OF && *at == '"';
		e->flops_ours |= key == KEY_FLOPS_SOURCE && *at == '"';
		e->continued |= key == KEY_CALL && *at == '"'; /* fall through */
	default:
		return skip_value(s, at);
	}
}

/* Counters have keys of their own choice, which no table can know. */
static const char *take_arg(struct scan *s, const char *key, size_t len, const char *at)
{
	enum key k;

	if (s->r->e.ph == 'C')
		return take_series(s, key, len, at);
	k = keys_find(&s->keys, key, len);
	return k < (enum key)ARGS ? take_number(s, (enum event_arg)k, at)
				  : take_odd(s, k, at);
}

/* ---- members ---- */

static const char *take_args(struct scan *s, const char *at);

/* Takes "pid" or "tid". */
static const char *take_id(struct scan *s, const char *at, int64_t *id)
{
	uint32_t text;

	if (*at != '"')
		return check_number(s, at, digits_i64(at, id));
	at = keep_text(s, at, &text);
	*id = -1 - (int64_t)text;
	return at;
}

/* A time that is no number stops the scan, as the parser has to judge it. */
static const char *take_time(struct scan *s, const char *at, int64_t *ns, bool *has)
{
	*has = true;
	return check_number(s, at, digits_us(at, ns));
}

/* The caller has compared the lengths, so that this becomes one comparison. */
static inline bool is_word(const char *key, const char *word, size_t len)
{
	return !memcmp(key, word, len);
}

/* The length is compared first, as it rules out most keys at once. */
static const char *take_member(struct scan *s, const char *key, size_t len,
			       const char *at)
{
	struct event *e = &s->r->e;

	switch (len) {
	case 2:
		if (is_word(key, "ts", 2))
			return take_time(s, at, &e->ts, &e->has_ts);
		if (!is_word(key, "ph", 2))
			break;
		e->ph = at[1];
		return at[0] == '"' && at[2] == '"' && at[1] != '\\' && at[1] != '"' &&
				       (unsigned char)at[1] >= 0x20
			       ? at + 3
			       : stop_at(s, at + 3 < s->end ? at : s->end);
	case 3:
		if (is_word(key, "cat", 3))
			return keep_category(s, at, &e->cat);
		if (is_word(key, "pid", 3))
			return take_id(s, at, &e->pid);
		if (is_word(key, "tid", 3))
			return take_id(s, at, &e->tid);
		if (is_word(key, "dur", 3))
			return take_time(s, at, &e->dur, &e->has_dur);
		break;
	case 4:
		if (is_word(key, "name", 4))
			return keep_text(s, at, &e->name);
		if (is_word(key, "args", 4))
			return *at == '{' ? take_args(s, at) : skip_value(s, at);
		break;
	}
	return skip_value(s, at);
}

/* ---- objects ---- */

typedef const char *take_one(struct scan *s, const char *key, size_t len, const char *at);

/* Takes an object's members. It is inlined, and `one` with it. */
static inline __attribute__((always_inline)) const char *take_object(struct scan *s,
								     const char *at,
								     take_one *one)
{
	size_t len;

	at = scan_blanks(at + 1);
	if (*at == '}')
		return at + 1;
	for (;; at = scan_blanks(at + 1)) {
		const char *key = at;

		if (*at != '"' || !(at = take_text(s, key, &len)))
			return at ? stop_at(s, at) : NULL;
		if (*at != ':' && *(at = scan_blanks(at)) != ':')
			return stop_at(s, at);
		at = one(s, key + 1, len, scan_blanks(at + 1));
		if (!at)
			return NULL;
		if (*at != ',' && *(at = scan_blanks(at)) != ',')
			return *at == '}' ? at + 1 : stop_at(s, at);
	}
}

static const char *take_args(struct scan *s, const char *at)
{
	return take_object(s, at, take_arg);
}

const char *scan_event(struct scan *s, const char *at, const char *end)
{
	s->end = end;
	s->stopped = at;
	read_event_begin(s->r);
	at = take_object(s, at, take_member);
	return at && !s->r->full ? at : NULL;
}

void scan_start(struct scan *s, struct reader *r, const struct find_set *find)
{
	memset(s, 0, sizeof(*s));
	s->r = r;
	s->find = find ? find : find_best();
	s->wide = s->find != find_nth(0);
	keys_make(&s->keys);
}

void scan_free(struct scan *s)
{
	lists_free(&s->lists);
}
