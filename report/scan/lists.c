/* SPDX-License-Identifier: Apache-2.0 */
/* A list is parsed once, and then known by its bytes. */
#include "report/scan/lists.h"
#include "base/hash.h"

#include <string.h>

struct written {
	const char *at;
	size_t n;
};

/* A short read is no error, and 0 says that the list is over. */
static ssize_t from_written(void *arg, void *bytes, size_t size, const char **why)
{
	struct written *w = arg;
	size_t n = w->n < size ? w->n : size;

	(void)why;
	memcpy(bytes, w->at, n);
	w->at += n;
	w->n -= n;
	return (ssize_t)n;
}

/* The real parser reads the list, so that both ways agree on what it means. */
static bool read_list(struct lists *l, struct texts *texts, struct list_seen *to,
		      const char *written, size_t len)
{
	struct written from = { written, len };

	if (l->started)
		parse_again(&l->side, from_written, &from);
	else if (!(l->started = parse_start(&l->side, from_written, &from)))
		return false;
	dims_read(&l->dims, &l->side);
	if (parse_next(&l->side) != TOKEN_END || l->side.odd)
		return false;
	to->first = l->dims.first;
	to->text = TEXT_NONE;
	if (!texts || !l->dims.len)
		return true;
	to->text = texts_add(texts, l->dims.text, l->dims.len);
	return to->text != TEXT_NONE;
}

const struct list_seen *lists_get(struct lists *l, struct texts *texts,
				  const char *written, size_t len)
{
	struct list_seen *seen = &l->odd;

	if (len <= LISTS_LONGEST) {
		seen = &l->seen[hash_bytes(written, len) % LISTS_SLOTS];
		if (seen->len == len && !memcmp(seen->written, written, len))
			return seen;
	}
	seen->len = 0;
	if (!read_list(l, texts, seen, written, len))
		return NULL;
	if (len <= LISTS_LONGEST) {
		seen->len = (uint32_t)len;
		memcpy(seen->written, written, len);
	}
	return seen;
}

void lists_free(struct lists *l)
{
	if (l->started)
		parse_stop(&l->side);
	l->started = false;
}
