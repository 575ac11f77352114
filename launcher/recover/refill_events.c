/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation's event names its call site, which changes with the names of its
 * frames. Events are lines, and an allocation's has a fixed beginning: all other lines
 * pass without being parsed. A line that comes in pieces is put together as long as it
 * may be an allocation's. */
#include "launcher/recover/refill_events.h"
#include "base/array.h"
#include "writer/json.h"
#include "writer/symbols/site_text.h"

#include <stdlib.h>
#include <string.h>

#define LOOKED 128 /* frames looked at */
#define HEAD   "{\"ph\":\"i\",\"cat\":\"heap\","

/* ---- the object "heap" ---- */

static struct span *items_of(struct span array, size_t *n)
{
	struct span list, item, *all = NULL;
	size_t room = 0;

	*n = 0;
	if (!span_open(array, '[', &list))
		return NULL;
	while (span_item(&list, &item)) {
		if (!GROW(all, room, *n)) {
			free(all);
			return NULL;
		}
		all[(*n)++] = item;
	}
	return all;
}

bool refill_events_open(struct refill_events *e, struct span heap)
{
	struct span inside;
	struct span_member m;

	if (!span_open(heap, '{', &inside))
		return false;
	while (span_member(&inside, &m) && !m.cut) {
		if (!e->frame && span_is(m.key, "\"frames\""))
			e->frame = items_of(m.value, &e->frames);
		if (!e->stack && span_is(m.key, "\"stacks\""))
			e->stack = items_of(m.value, &e->stacks);
	}
	return e->frame && e->stack;
}

void refill_events_close(struct refill_events *e)
{
	free(e->frame);
	free(e->stack);
}

/* ---- a call site ---- */

struct walk {
	const struct refill_events *e;
	struct span list; /* numbers of the frames still to come */
	unsigned next;
	char *text[LOOKED]; /* kept, as site_text may ask for one again */
};

static const char *frame_text(void *arg, unsigned i)
{
	struct walk *w = arg;
	struct span item;
	uint64_t n;

	if (i >= sizeof(w->text) / sizeof(*w->text))
		return NULL;
	while (w->next <= i) {
		if (!span_item(&w->list, &item) || !span_number(item, &n) ||
		    n >= w->e->frames)
			return NULL;
		w->text[w->next] = span_string(w->e->frame[n]);
		if (!w->text[w->next])
			return NULL;
		w->next++;
	}
	return w->text[i];
}

/* Writes the call site of a stack as a JSON string; returns its length, 0 = it cannot be
 * told. */
static size_t site_of(const struct refill_events *e, uint64_t stack, char *to,
		      size_t room)
{
	struct walk w = { .e = e };
	char text[SITE_ROOM], json[SITE_ROOM * 6 + 2 * JSON_ROOM];
	struct json j;
	size_t len;

	if (stack >= e->stacks || !span_open(e->stack[stack], '[', &w.list))
		return 0;
	len = site_text(frame_text, &w, text);
	while (w.next)
		free(w.text[--w.next]);
	json_init(&j, json, sizeof(json), NULL, NULL);
	json_string(&j, text, len);
	len = len ? (size_t)(j.at - json) : 0;
	if (len > room)
		return 0;
	memcpy(to, json, len);
	return len;
}

/* ---- lines ---- */

static bool find_args(struct span line, struct span *stack, struct span *site)
{
	struct span event, args;
	struct span_member m;

	*stack = *site = (struct span){ 0 };
	if (!span_open(line, '{', &event))
		return false;
	while (span_member(&event, &m) && !m.cut)
		if (span_is(m.key, "\"args\"") && span_open(m.value, '{', &args))
			while (span_member(&args, &m) && !m.cut) {
				if (span_is(m.key, "\"stack\""))
					*stack = m.value;
				if (span_is(m.key, "\"site\""))
					*site = m.value;
			}
	return stack->at && site->at;
}

static void put_line(struct refill_events *e, const char *line, size_t len)
{
	struct span all = { line, line + len }, stack, site;
	char text[REFILL_LINE];
	uint64_t number;
	size_t n = 0;

	if (len > sizeof(HEAD) - 1 && !memcmp(line, HEAD, sizeof(HEAD) - 1) &&
	    find_args(all, &stack, &site) && span_number(stack, &number))
		n = site_of(e, number, text, sizeof(text));
	if (!n) {
		e->put(e->arg, line, len);
		return;
	}
	e->put(e->arg, line, (size_t)(site.at - line));
	e->put(e->arg, text, n);
	e->put(e->arg, site.end, (size_t)(all.end - site.end));
}

/* May the begin of a line, as far as it is there, be an allocation's? */
static bool may_be_one(const char *line, size_t len)
{
	return !memcmp(line, HEAD, len < sizeof(HEAD) - 1 ? len : sizeof(HEAD) - 1);
}

/* Keeps the begin of a line, as far as it is there, if it may be an allocation's. */
static void keep_line(struct refill_events *e, const char *text, size_t len)
{
	if (!e->passing && e->used + len <= sizeof(e->line)) {
		memcpy(e->line + e->used, text, len);
		e->used += len;
		if (may_be_one(e->line, e->used))
			return;
		len = 0;
	}
	e->put(e->arg, e->line, e->used);
	e->put(e->arg, text, len);
	e->used = 0;
	e->passing = true;
}

void refill_events_text(struct refill_events *e, const char *text, size_t len)
{
	const char *end = text + len, *next;

	for (; text < end; text = next) {
		const char *line = memchr(text, '\n', (size_t)(end - text));

		next = line ? line + 1 : end;
		if (!line || e->used || e->passing)
			keep_line(e, text, (size_t)(next - text));
		else
			put_line(e, text, (size_t)(next - text));
		if (line)
			refill_events_last(e);
	}
}

bool refill_events_pass(struct refill_events *e, const char *text, size_t len)
{
	const char *line = memrchr(text, '\n', len);
	size_t rest = line ? (size_t)(text + len - (line + 1)) : len;

	/* The text's last line may be the begin of an allocation's. */
	if (e->used || !len || memmem(text, len, HEAD, sizeof(HEAD) - 1) ||
	    (rest && may_be_one(text + len - rest, rest)))
		return false;
	e->passing = rest > 0;
	return true;
}

void refill_events_last(struct refill_events *e)
{
	if (e->used)
		put_line(e, e->line, e->used);
	e->used = 0;
	e->passing = false;
}
