/* SPDX-License-Identifier: Apache-2.0 */
/* A name that no option has, and the one that was meant, spelt as it must be where the
 * name was read: --record-shapes, record_shapes, PROF_RECORD_SHAPES. */
#include "config/config_near.h"
#include "base/fmt.h"
#include "base/near.h"
#include "base/text.h"
#include "config/config.h"

#include <string.h>

static const char *const prefixes[] = {
	[CONFIG_LINE] = "", [CONFIG_WORD] = "--", [CONFIG_ROW] = "PROF_"
};

const char *config_nearest(const char *name)
{
	struct near near = near_begin(name);

	for (const struct config_option *o = config_options; *o->name; o++)
		near_try(&near, o->name);
	for (const struct config_alias *a = config_aliases; *a->name; a++)
		near_try(&near, a->name);
	return near.best;
}

/* Dashes are for the command line, but where the user has written underscores; lines of
 * a file have underscores but where the user has written dashes. */
static void spell_as(char *text, const char *typed, enum config_where where)
{
	bool dashes = where == CONFIG_WORD ? !strchr(typed, '_') || strchr(typed, '-')
					   : where == CONFIG_LINE && strchr(typed, '-');

	for (char *p = text + strlen(prefixes[where]); *p && *p != '.'; p++) {
		if (*p == '_' && dashes)
			*p = '-';
		if (where == CONFIG_ROW && *p >= 'a' && *p <= 'z')
			*p = (char)(*p - 32);
	}
}

const char *config_unknown(const char *typed, enum config_where where)
{
	static char why[128];
	const char *near = config_nearest(typed);
	char text[64];

	if (!near && !strncmp(typed, "meta", 4))
		near = "metadata.<key>";
	if (!near && !strncmp(typed, "stage", 5))
		near = "stage.<name>.<key>";
	if (!near)
		return "no such option";
	fmt(text, sizeof(text), "%s%s", prefixes[where], near);
	spell_as(text, typed, where);
	fmt(why, sizeof(why), "no such option (did you mean %s?)", text);
	return why;
}
