/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata and stages: options whose keys no table has. Their rows lie in one text, so
 * that nothing is allocated for them and a spool keeps them as they are. */
#include "config/keyed.h"
#include "base/fmt.h"
#include "config/config.h"

#include <string.h>

/* Where the line of this key begins, or the end of the lines. */
static char *find_line(char *lines, const char *key, size_t len)
{
	char *p = lines;

	while (*p && (strncmp(p, key, len) || strncmp(p + len, " = ", 3)))
		p += strcspn(p, "\n") + 1;
	return p;
}

static size_t line_length(const char *line)
{
	return strcspn(line, "\n") + (*line != '\0');
}

/* A key has no blank: the first one ends it. */
bool keyed_next(const char **at, struct keyed_row *row)
{
	const char *line = *at;

	if (!*line)
		return false;
	row->key = line;
	row->key_len = strcspn(line, " ");
	row->value = line + row->key_len + strlen(" = ");
	row->value_len = strcspn(row->value, "\n");
	*at = line + line_length(line);
	return true;
}

bool keyed_find(const char *lines, const char *key, struct keyed_row *row)
{
	size_t len = strlen(key);

	while (keyed_next(&lines, row))
		if (row->key_len == len && !memcmp(row->key, key, len))
			return true;
	return false;
}

const char *keyed_set(char *lines, const char *key, const char *v, size_t len)
{
	size_t key_len = strlen(key), used = strlen(lines), old;
	char *line;

	if (memchr(v, '\n', len) || memchr(v, '\r', len))
		return "the value must be one line";
	line = find_line(lines, key, key_len);
	old = line_length(line);
	if (used - old + key_len + 3 + len + 1 >= CONFIG_METADATA)
		return "there is no room for more such lines (4 KiB at most)";
	memmove(line, line + old, strlen(line + old) + 1);
	used -= old;
	fmt(lines + used, CONFIG_METADATA - used, "%s = %.*s\n", key, (int)len, v);
	return NULL;
}

void keyed_drop(char *lines, const char *key)
{
	char *line = find_line(lines, key, strlen(key)), *rest = line + line_length(line);

	memmove(line, rest, strlen(rest) + 1);
}
