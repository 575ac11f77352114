/* SPDX-License-Identifier: Apache-2.0 */
/* The option may stand alone: "on" is the module that most programs have. The interpreter
 * does not tell of calls of its ufuncs, so that "all" looks for them there. */
#include "config/c_modules.h"

#include <string.h>

#define USUAL "numpy"
#define ALL   "all"

const char *c_modules_of(const struct config *c)
{
	static const char *const rows[][2] = {
		{ "on", USUAL }, { "true", USUAL }, { "yes", USUAL },       { "off", "" },
		{ "false", "" }, { "no", "" },      { ALL, ALL "," USUAL },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(c->c_calls, rows[i][0]))
			return rows[i][1];
	return c->c_calls;
}

bool c_modules_have_all(const struct config *c)
{
	const char *at = c_modules_of(c);

	while (*at &&
	       (strcspn(at, ",") != strlen(ALL) || memcmp(at, ALL, strlen(ALL)) != 0))
		at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',');
	return *at;
}

/* A letter of a module's name: of a word of Python's, and not a digit at its begin. */
static bool is_letter(unsigned char c, bool first)
{
	return c == '_' || c >= 0x80 || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || (!first && c >= '0' && c <= '9');
}

const char *c_modules_check(const char *value)
{
	bool first = true;

	for (const char *at = value; *at; at++) {
		bool ends = *at == '.' || *at == ',';

		if (ends ? first : !is_letter((unsigned char)*at, first))
			return "modules of Python with commas between them, as in numpy,scipy.special";
		first = ends;
	}
	return first && *value ? "a module's name is missing at its end" : NULL;
}
