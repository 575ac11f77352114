/* SPDX-License-Identifier: Apache-2.0 */
/* Options as text: what config.c reads back. */
#include "base/fmt.h"
#include "config/keyed.h"
#include "config/several.h"
#include "config/stages.h"

#include <string.h>

#define METADATA "metadata."

size_t config_value(const struct config *c, const struct config_option *o, char *buf,
		    size_t size)
{
	const char *at = (const char *)c + o->at, *values = o->values;
	uint32_t n = 0;

	if (o->type == CFG_text)
		return config_quote(at, strlen(at), buf, size);
	memcpy(&n, at, sizeof(n));
	if (o->type == CFG_u32)
		return fmt(buf, size, "%u", n);
	if (o->type == CFG_flag)
		return fmt(buf, size, "%s", n ? "on" : "off");
	if (o->type == CFG_set)
		return several_write(o, n, buf, size);
	while (n-- && strchr(values, '|'))
		values = strchr(values, '|') + 1;
	return fmt(buf, size, "%.*s", (int)strcspn(values, "|"), values);
}

static size_t print_keyed(const char *lines, const char *prefix, char *buf, size_t size)
{
	struct keyed_row row;
	size_t n = 0;

#define REST (n < size ? buf + n : NULL), (n < size ? size - n : 0)
	while (keyed_next(&lines, &row)) {
		n += fmt(REST, "%s%.*s = ", prefix, (int)row.key_len, row.key);
		n += config_quote(row.value, row.value_len, REST);
		n += fmt(REST, "\n");
	}
	return n;
}

/* Metadata is last: where there is no room for all, it is the least to be missed. */
size_t config_print(const struct config *c, char *buf, size_t size)
{
	char value[CONFIG_TEXT + 2];
	size_t n = 0;

	for (const struct config_option *o = config_options; *o->name; o++) {
		config_value(c, o, value, sizeof(value));
		n += fmt(REST, "%s = %s\n", o->name, value);
	}
	n += print_keyed(c->stages, STAGES_PREFIX, REST);
	n += print_keyed(c->metadata, METADATA, REST);
#undef REST
	return n;
}
