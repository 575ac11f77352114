/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_dump - all that a reader gives of a trace, as text: two readers can be compared.
 *
 * Threads  one.
 * Memory   the caller frees the text.
 * Errors   none: a file that is refused says so.
 * Units    as the reader's.
 */
#ifndef TESTS_EVENT_DUMP_H
#define TESTS_EVENT_DUMP_H

#include "report/read.h"
#include "report/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct event_dump_stream {
	const char *text;
	size_t len, at, piece;
};

static inline ssize_t event_dump_pull(void *arg, void *bytes, size_t size,
				      const char **why)
{
	struct event_dump_stream *s = arg;
	size_t n = s->len - s->at;

	(void)why;
	n = n < s->piece ? n : s->piece;
	n = n < size ? n : size;
	memcpy(bytes, s->text + s->at, n);
	s->at += n;
	return (ssize_t)n;
}

/* ---- all of an event as text ---- */

struct event_dump {
	struct texts texts;
	FILE *out;
	unsigned n;
};

static inline void put_named(struct event_dump *d, const char *what, uint32_t id)
{
	if (id != TEXT_NONE)
		fprintf(d->out, " %s=%s", what, texts_get(&d->texts, id));
}

/* Below zero are texts' numbers, which may differ. */
static inline void put_id(struct event_dump *d, const char *what, int64_t id)
{
	if (id >= 0)
		fprintf(d->out, " %s=%lld", what, (long long)id);
	else
		fprintf(d->out, " %s=%s", what,
			texts_get(&d->texts, (uint32_t)(-1 - id)));
}

static inline bool put_event(void *arg, const struct event *e)
{
	struct event_dump *d = arg;

	d->n++;
	fprintf(d->out, "%c ts=%d:%lld dur=%d:%lld bytes=%lld of=%d%d %.17g %.17g",
		e->ph ? e->ph : '-', e->has_ts, (long long)e->ts, e->has_dur,
		(long long)e->dur, (long long)e->input_bytes, e->of_forward,
		e->flops_ours, e->blocks_per_sm, e->occupancy);
	put_named(d, "name", e->name);
	put_named(d, "cat", e->cat);
	put_named(d, "label", e->label);
	put_named(d, "stack", e->stack);
	put_named(d, "shapes", e->shapes);
	put_named(d, "grid", e->grid);
	put_named(d, "block", e->block);
	put_named(d, "group", e->group);
	put_named(d, "members", e->members);
	put_id(d, "pid", e->pid);
	put_id(d, "tid", e->tid);
	for (unsigned i = 0; i < ARGS; i++)
		if (event_has(e, (enum event_arg)i))
			fprintf(d->out, " %u=%lld", i, (long long)e->arg[i]);
	for (unsigned i = 0; i < e->series; i++) {
		put_named(d, "series", e->value[i].key);
		fprintf(d->out, "=%lld", (long long)e->value[i].value);
	}
	putc('\n', d->out);
	return true;
}

static inline bool no_top(void *arg, const char *key, struct parse *p, bool *taken)
{
	(void)arg, (void)key, (void)p, (void)taken;
	return true;
}

/* Reads a text to its end; the caller frees what it says. */
static inline char *event_dump(const char *text, size_t len, size_t piece, bool strict,
			       const struct find_set *find)
{
	struct event_dump d = { .n = 0 };
	struct damage damage;
	struct event_dump_stream s = { text, len, 0, piece };
	struct read_visitor v = { &d.texts, put_event, no_top, &d,
				  true,     &damage,   strict, find };
	char *said = NULL, why[512] = "";
	size_t size;
	int status;

	d.out = open_memstream(&said, &size);
	status = read_stream(event_dump_pull, &s, "x", &v, why, sizeof(why));
	fprintf(d.out, "%d %s %s at %llu, repaired %llu, passed %llu\n", status, why,
		damage.broken_why ? damage.broken_why : "", /* */
		(unsigned long long)damage.broken_at, (unsigned long long)damage.repaired,
		(unsigned long long)damage.passed);
	fclose(d.out);
	texts_free(&d.texts);
	return said;
}

/* Is it a file that the strict parser reads without a guess, up to its end? */
static inline bool event_dump_is_clean(const char *said)
{
	const char *last = strstr(said, "repaired 0, passed 0\n");

	return last &&
	       (strstr(said, "\n0   at 0, rep") || !strncmp(said, "0   at 0, rep", 13) ||
		strstr(said, "\n0  the file ends early at "));
}

#endif
