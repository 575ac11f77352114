/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_image - what a trace's object "heap" says, for the tests of the writer's heap
 * part.
 *
 * Threads  one.
 * Memory   the image's.
 * Errors   a failed Check assertion.
 * Units    bytes.
 */
#ifndef TESTS_HEAP_IMAGE_H
#define TESTS_HEAP_IMAGE_H

#include "tests/unit/spool_image.h"

static inline struct spool_image *heap_image(uint64_t begin, uint64_t end)
{
	struct spool_image *m = image_new(begin, end);

	m->config.malloc = MALLOC_ALL;
	image_thread(m, 4242, 1, "python3");
	return m;
}

/* strstr, which the sanitizers make measure all that follows. */
static inline const char *heap_find(const char *from, const char *key, size_t len)
{
	for (; *from; from++)
		if (*from == *key && !strncmp(from, key, len))
			return from;
	return NULL;
}

/* Behind the n-th `key` after `from`; NULL: there is none. */
static inline const char *heap_after(const char *from, const char *key, unsigned n)
{
	size_t len = strlen(key);

	do {
		from = from ? heap_find(from, key, len) : NULL;
		from = from ? from + len : NULL;
	} while (n--);
	return from;
}

static inline const char *heap_object(const struct spool_image *m)
{
	const char *at = heap_after(m->text, "\n\"heap\": {", 0);

	ck_assert_msg(at != NULL, "no object \"heap\"");
	return at;
}

static inline int64_t heap_number(const char *from, const char *key)
{
	const char *at = heap_after(from, key, 0);
	long n = 0;

	ck_assert_msg(at != NULL, "no %s", key);
	n = strtol(at, NULL, 10);
	return n;
}

struct site {
	int64_t stack; /* -1 = null */
	char op[64]; /* empty = null */
	char call[32];
	int64_t allocs, bytes, frees, freed, live, blocks, peak, max;
	int64_t steps[600];
	size_t step_n;
};

static inline struct site heap_numbers(const char *line)
{
	struct site s = { 0 };
	const char *at;

	s.allocs = heap_number(line, "\"allocs\": ");
	s.bytes = heap_number(line, "\"bytes\": ");
	s.frees = heap_number(line, "\"frees\": ");
	s.freed = heap_number(line, "\"freed\": ");
	s.live = heap_number(line, "\"live\": ");
	s.blocks = heap_number(line, "\"blocks\": ");
	s.peak = heap_number(line, "\"peak\": ");
	at = heap_after(line, "\"steps\": [", 0);
	for (; *at != ']'; at += strspn(at, ", ")) {
		s.steps[s.step_n++] = strtol(at, (char **)&at, 10);
		ck_assert(*at == ',' || *at == ']');
	}
	return s;
}

/* The site after *at, which moves behind its begin; false: there is no more. */
static inline bool heap_next_site(const char **at, struct site *s)
{
	static const char key[] = "{\"stack\": ";
	const char *op;

	*at += strspn(*at, ",\n");
	if (strncmp(*at, key, sizeof(key) - 1))
		return false;
	*s = heap_numbers(*at);
	*at += sizeof(key) - 1;
	s->stack = **at == 'n' ? -1 : strtol(*at, NULL, 10);
	op = heap_after(*at, "\"op\": ", 0);
	if (*op == '"')
		memcpy(s->op, op + 1, strcspn(op + 1, "\""));
	s->max = heap_number(*at, "\"max\": ");
	op = heap_after(*at, "\"call\": \"", 0);
	memcpy(s->call, op, strcspn(op, "\""));
	*at = heap_after(*at, "]}", 0);
	return true;
}

static inline const char *heap_sites(const struct spool_image *m)
{
	return heap_after(heap_object(m), "\"sites\": [", 0);
}

static inline size_t heap_site_count(const struct spool_image *m)
{
	const char *at = heap_sites(m);
	struct site s;
	size_t n = 0;

	while (heap_next_site(&at, &s))
		n++;
	return n;
}

static inline struct site heap_site_at(const struct spool_image *m, unsigned n)
{
	const char *at = heap_sites(m);
	struct site s;

	do
		ck_assert_msg(heap_next_site(&at, &s), "no site %u", n);
	while (n--);
	return s;
}

static inline struct site heap_other(const struct spool_image *m)
{
	return heap_numbers(heap_after(heap_object(m), "\"other\": {", 0));
}

/* The only site with that operator; "" = none. */
static inline struct site heap_site_of(const struct spool_image *m, const char *op)
{
	const char *at = heap_sites(m);
	struct site s, found = { 0 };
	unsigned n = 0;

	while (heap_next_site(&at, &s))
		if (!strcmp(s.op, op)) {
			found = s;
			n++;
		}
	ck_assert_msg(n == 1, "%u sites of '%s'", n, op);
	return found;
}

struct total {
	int64_t allocs, bytes, frees, freed, foreign, peak, end, blocks;
};

static inline struct total heap_total(const struct spool_image *m)
{
	const char *at = heap_object(m), *total = heap_after(at, "\"total\": {", 0);

	return (struct total){
		.allocs = heap_number(total, "\"allocs\": "),
		.bytes = heap_number(total, "\"bytes\": "),
		.frees = heap_number(total, "\"frees\": "),
		.freed = heap_number(total, "\"freed\": "),
		.foreign = heap_number(total, "\"foreign_frees\": "),
		.peak = heap_number(heap_after(at, "\"peak\": {", 0), "\"bytes\": "),
		.end = heap_number(heap_after(at, "\"end\": {", 0), "\"bytes\": "),
		.blocks = heap_number(heap_after(at, "\"end\": {", 0), "\"blocks\": "),
	};
}

/* The sites and the others are the whole. */
static inline void heap_adds_up(const struct spool_image *m)
{
	struct site sum = heap_other(m);
	struct total all = heap_total(m);
	const char *at = heap_sites(m);
	struct site s;

	while (heap_next_site(&at, &s)) {
		ck_assert_int_eq(s.live, s.bytes - s.freed);
		ck_assert_uint_eq(s.step_n, sum.step_n);
		sum.bytes += s.bytes;
		sum.freed += s.freed;
		sum.live += s.live;
		sum.peak += s.peak;
		sum.allocs += s.allocs;
		sum.frees += s.frees;
		sum.blocks += s.blocks;
	}
	ck_assert_int_eq(sum.bytes, all.bytes);
	ck_assert_int_eq(sum.freed, all.freed);
	ck_assert_int_eq(sum.live, all.end);
	ck_assert_int_eq(sum.peak, all.peak);
	if (m->config.malloc == MALLOC_SAMPLE) /* each is rounded */
		return;
	ck_assert_int_eq(sum.allocs, all.allocs);
	ck_assert_int_eq(sum.frees, all.frees);
	ck_assert_int_eq(sum.blocks, all.blocks);
}

/* Points of a counter track; the largest and the last value of its first series. */
static inline unsigned heap_track(const struct spool_image *m, const char *name,
				  int64_t *most, int64_t *last)
{
	const char *line, *at;
	char want[128];
	unsigned n = 0;

	fmt(want, sizeof(want), "{\"ph\":\"C\",\"name\":\"%s\"", name);
	*most = INT64_MIN;
	for (at = m->text; (line = heap_find(at, want, strlen(want))); at = line + 1) {
		const char *args = heap_after(line, "\"args\":{\"", 0);

		*last = strtol(strchr(args, ':') + 1, NULL, 10);
		*most = *last > *most ? *last : *most;
		n++;
	}
	return n;
}

#endif
