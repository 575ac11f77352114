/* SPDX-License-Identifier: Apache-2.0 */
/* Options as text: what config.c reads back. */
#include "base/fmt.h"
#include "config/several.h"

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

size_t config_print(const struct config *c, char *buf, size_t size)
{
	char value[CONFIG_TEXT + 2];
	const char *p = c->metadata;
	size_t n = 0;

#define REST (n < size ? buf + n : NULL), (n < size ? size - n : 0)
	for (const struct config_option *o = config_options; *o->name; o++) {
		config_value(c, o, value, sizeof(value));
		n += fmt(REST, "%s = %s\n", o->name, value);
	}
	for (size_t len; *p; p += len) {
		size_t key = (size_t)(strstr(p, " = ") + 3 - p);

		len = strcspn(p, "\n") + 1;
		n += fmt(REST, METADATA "%.*s", (int)key, p);
		n += config_quote(p + key, len - key - 1, REST);
		n += fmt(REST, "\n");
	}
#undef REST
	return n;
}
