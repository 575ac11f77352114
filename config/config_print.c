/* SPDX-License-Identifier: Apache-2.0 */
/* Options as text: what config.c reads back. */
#include "base/fmt.h"
#include "config/config_quote.h"
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

/* Metadata is last: where there is no room for all, it is the least to be missed. */
size_t config_print(const struct config *c, char *buf, size_t size)
{
	char value[CONFIG_TEXT + 2];
	size_t n = 0;

#define REST (n < size ? buf + n : NULL), (n < size ? size - n : 0)
	for (const struct config_option *o = config_options; *o->name; o++) {
		config_value(c, o, value, sizeof(value));
		n += fmt(REST, "%s = %s\n", o->name, value);
	}
	n += keyed_print(c->stages, STAGES_PREFIX, REST);
	n += keyed_print(c->metadata, METADATA, REST);
#undef REST
	return n;
}
