/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of the spool's header, "key = json", as members of the file. */
#include "writer/trace.h"

/* A line of "key = value\n" text; `at` moves behind it. */
struct line {
	const char *key, *value;
	size_t key_len, value_len;
};

static bool next_line(const char **at, const char *end, struct line *l)
{
	while (*at < end && **at) {
		const char *from = *at;
		const char *stop = memchr(from, '\n', (size_t)(end - from));
		const char *nul = memchr(from, '\0', (size_t)(end - from));
		const char *equals;

		if (!stop || (nul && nul < stop))
			stop = nul ? nul : end;
		*at = stop < end && *stop == '\n' ? stop + 1 : stop;
		for (equals = from; equals + 3 <= stop; equals++)
			if (!memcmp(equals, " = ", 3))
				break;
		if (equals == from || equals + 3 > stop)
			continue;
		*l = (struct line){ from, equals + 3, (size_t)(equals - from),
				    (size_t)(stop - equals - 3) };
		return true;
	}
	return false;
}

static bool same_key(const struct line *a, const struct line *b)
{
	return a->key_len == b->key_len && !memcmp(a->key, b->key, a->key_len);
}

/* The end of the lines written so far: a live program may add a line while this is read,
 * which must count everywhere or nowhere. The agent writes a line's first byte last;
 * nothing of a line is read before it. */
static const char *end_of(const char *lines, size_t size)
{
	const char *at = lines, *end = lines + size;

	while (at < end && __atomic_load_n(at, __ATOMIC_ACQUIRE))
		while (at < end && *at && *at++ != '\n')
			;
	return at;
}

/* A later line of the same key replaces an earlier one, which was not settled yet. */
static bool said_again(const struct line *l, const char *at, const char *end)
{
	struct line later;

	while (next_line(&at, end, &later))
		if (same_key(l, &later))
			return true;
	return false;
}

const char *facts_get(const struct spool_header *h, const char *key, size_t *len)
{
	const char *at = h->facts, *end = end_of(at, sizeof(h->facts)), *value = NULL;
	struct line want = { .key = key, .key_len = strlen(key) }, l;

	while (next_line(&at, end, &l)) {
		if (!same_key(&l, &want))
			continue;
		value = l.value;
		*len = l.value_len;
	}
	return value;
}

void facts_lines(struct json *j, const char *lines, size_t size, bool as_json)
{
	const char *at = lines, *end = end_of(at, size);
	bool first = true;
	struct line l;

	json_lit(j, "{");
	while (next_line(&at, end, &l)) {
		if (said_again(&l, at, end))
			continue;
		if (!first)
			json_lit(j, ", ");
		first = false;
		json_string(j, l.key, l.key_len);
		json_lit(j, ": ");
		if (as_json && json_valid(l.value, l.value_len))
			json_raw(j, l.value, l.value_len);
		else
			json_string(j, l.value, l.value_len);
	}
	json_lit(j, "}");
}

/* Keys that the file itself uses. Of two members with one name a reader takes the last:
 * the file's, or the user's, would be hidden. */
static bool is_reserved_key(const struct line *l)
{
	static const char *const keys[] = {
		"schemaVersion",
		"deviceProperties",
		"cupti_version",
		"cuda_runtime_version",
		"cuda_driver_version",
		"record_shapes",
		"profile_memory",
		"with_stack",
		"with_modules",
		"with_flops",
		"trace_id",
		"host_name",
		"stage",
		"distributedInfo",
		"proflaunch",
		"displayTimeUnit",
		"traceEvents",
		"baseTimeNanoseconds",
		"traceName",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strlen(keys[i]) == l->key_len && !memcmp(keys[i], l->key, l->key_len))
			return true;
	return false;
}

void facts_metadata(struct json *j, const char *lines, size_t size)
{
	const char *at = lines, *end = end_of(at, size);
	struct line l;

	while (next_line(&at, end, &l)) {
		if (said_again(&l, at, end))
			continue;
		json_lit(j, "\"");
		if (is_reserved_key(&l))
			json_lit(j, "metadata.");
		json_escaped(j, l.key, l.key_len);
		json_lit(j, "\": ");
		json_string(j, l.value, l.value_len);
		json_lit(j, ",\n");
	}
}
