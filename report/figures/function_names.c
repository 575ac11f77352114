/* SPDX-License-Identifier: Apache-2.0 */
/* Names lose what differs from call to call; then the frames that were open at the
 * beginning are looked up among the functions that were called later. */
#include "report/figures/function_names.h"
#include "base/frame_text.h"
#include "base/order.h"
#include "base/search.h"
#include "base/text.h"

#include <stdio.h>

/* A longer name is a hostile one, and stays as it is. */
#define NAME_MOST 8192

/* So many lambdas and the like are passed over above a line: a hostile file has more. */
#define NEAR_MOST 64

enum seen { SEEN_OPEN = 1, SEEN_CALLED = 2 };

struct known { /* a function whose first line is known */
	const char *file, *function;
	size_t file_len;
	uint64_t line;
	uint32_t text;
};

struct naming {
	struct model *m;
	uint32_t *of; /* by text */
	bool *chain; /* by slice: no call on its thread was over before */
	uint8_t *seen; /* by text: enum seen */
	struct known *known; /* by file and line */
	size_t known_n, known_room;
};

/* ---- what differs from call to call ---- */

/* The " at 0x7f12>" at the end of a built-in's name; NULL: it has none. */
static const char *object_address(const char *name, size_t len)
{
	static const char begin[] = " at 0x";
	const char *at = name + len - 1;

	if (*name != '<' || *at != '>')
		return NULL;
	while (at > name && strchr("0123456789abcdef", at[-1]))
		at--;
	at -= sizeof(begin) - 1;
	return at > name && !memcmp(at, begin, sizeof(begin) - 1) ? at : NULL;
}

/* A text without what differs. TEXT_NONE: no memory. */
static uint32_t plain_name(struct model *m, uint32_t text)
{
	const char *name = texts_get(&m->texts, text), *at;
	size_t len = strlen(name);
	char made[NAME_MOST + 32];
	int n;

	if (!len || len > NAME_MOST)
		return text;
	at = frame_place(name, len);
	if (at && !strcmp(strchr(at, ' ') + 1, "<module>"))
		n = snprintf(made, sizeof(made), "%.*s(1): <module>", (int)(at - name),
			     name);
	else if (!at && (at = object_address(name, len)))
		n = snprintf(made, sizeof(made), "%.*s>", (int)(at - name), name);
	else
		return text;
	return texts_add(&m->texts, made, (size_t)n);
}

/* Many slices have the same name: each text is looked at once. */
static bool make_plain(struct naming *n, size_t texts)
{
	for (size_t i = 0; i < texts; i++)
		n->of[i] = TEXT_NONE;
	for (size_t i = 0; i < n->m->slices_n; i++) {
		const struct slice *s = &n->m->slices[i];
		uint32_t *of = &n->of[s->name];

		if (s->kind != SLICE_PYTHON || *of != TEXT_NONE)
			continue;
		*of = plain_name(n->m, s->name);
		if (*of == TEXT_NONE)
			return false;
	}
	for (uint32_t i = 0; i < texts; i++)
		if (n->of[i] == TEXT_NONE)
			n->of[i] = i;
	return true;
}

/* ---- frames that were open ---- */

/* Finds the calls that lie in each other from their thread's first one on: with frames
 * that were open these begin. Returns when the first other call of any thread began: what
 * was open is there by then, as a thread that starts later was started by some call. */
static int64_t find_chains(struct naming *n)
{
	const struct slice *last = NULL;
	int64_t first = INT64_MAX;
	bool on = false;

	for (size_t i = 0; i < n->m->slices_n; i++) {
		const struct slice *s = &n->m->slices[i];

		if (s->kind != SLICE_PYTHON)
			continue;
		on = !last || last->thread != s->thread || (on && s->begin < last->end);
		if (!on && s->begin < first)
			first = s->begin;
		n->chain[i] = on;
		last = s;
	}
	return first;
}

/* A name that some call has is no line of an open frame, whatever else has it. */
static void find_seen(struct naming *n)
{
	int64_t first = find_chains(n);

	for (size_t i = 0; i < n->m->slices_n; i++) {
		const struct slice *s = &n->m->slices[i];

		if (s->kind == SLICE_PYTHON)
			n->seen[n->of[s->name]] |= n->chain[i] && s->begin <= first
							   ? SEEN_OPEN
							   : SEEN_CALLED;
	}
}

/* Takes a name apart. False: it has no line. */
static bool read_name(const struct naming *n, uint32_t text, struct known *k)
{
	const char *name = texts_get(&n->m->texts, text);
	const char *place = frame_place(name, strlen(name));

	if (!place)
		return false;
	*k = (struct known){ .file = name,
			     .function = strchr(place, ' ') + 1,
			     .file_len = (size_t)(place - name),
			     .line = text_number(place + 1),
			     .text = text };
	return true;
}

static int by_file(const struct known *a, const struct known *b)
{
	size_t less = a->file_len < b->file_len ? a->file_len : b->file_len;

	return memcmp(a->file, b->file, less)
		       ?: order_of((int64_t)a->file_len, (int64_t)b->file_len);
}

/* Lines of a file lie together, so that the nearest one above is next to a line. */
static int by_line(const void *left, const void *right)
{
	const struct known *a = left, *b = right;

	return by_file(a, b) ?: order_of((int64_t)a->line, (int64_t)b->line) ?:
	       order_of(a->text, b->text);
}

/* False: no memory. */
static bool list_known(struct naming *n, size_t texts)
{
	for (uint32_t i = 0; i < texts; i++) {
		if (!(n->seen[i] & SEEN_CALLED))
			continue;
		if (!GROW(n->known, n->known_room, n->known_n))
			return false;
		n->known_n += read_name(n, i, &n->known[n->known_n]);
	}
	if (n->known_n)
		qsort(n->known, n->known_n, sizeof(*n->known), by_line);
	return true;
}

/* The function that an open frame is of. Lambdas and the like lie within functions: they
 * are passed over. Another function between says that the frame may be of a third. */
static uint32_t function_above(const struct naming *n, uint32_t text)
{
	struct known open;
	size_t at;

	if (!read_name(n, text, &open))
		return text;
	at = SEARCH_FIRST(
		i, 0, n->known_n,
		(by_file(&n->known[i], &open)
			 ?: order_of((int64_t)n->known[i].line, (int64_t)open.line)) > 0);
	for (unsigned left = NEAR_MOST; at-- > 0 && left--;) {
		const struct known *k = &n->known[at];

		if (by_file(k, &open))
			break;
		if (!strcmp(k->function, open.function))
			return k->text;
		if (*k->function != '<')
			break;
	}
	return text;
}

/* Only names that no call has are looked up. */
static void name_open(struct naming *n, size_t texts)
{
	for (size_t i = 0; i < texts; i++)
		if (n->seen[n->of[i]] == SEEN_OPEN)
			n->of[i] = function_above(n, n->of[i]);
}

/* ---- the whole ---- */

uint32_t *function_names_make(struct model *m)
{
	size_t before = m->texts.n;
	struct naming n = { .m = m };
	bool fine;

	n.of = malloc((before + 1) * sizeof(*n.of));
	n.chain = calloc(m->slices_n + 1, sizeof(*n.chain));
	fine = n.of && n.chain && make_plain(&n, before);
	if (fine)
		n.seen = calloc(m->texts.n + 1, sizeof(*n.seen));
	fine = fine && n.seen;
	if (fine) {
		find_seen(&n);
		fine = list_known(&n, m->texts.n);
	}
	if (fine)
		name_open(&n, before);
	else
		free(n.of);
	free(n.chain);
	free(n.seen);
	free(n.known);
	return fine ? n.of : NULL;
}
