/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites each text of shapes once. */
#include "report/figures/shapes.h"

#include <stdlib.h>
#include <string.h>

bool shapes_begin(struct shapes *s, struct texts *texts)
{
	*s = (struct shapes){ texts, malloc((texts->n + 1) * sizeof(*s->plain)),
			      texts->n };
	if (s->plain)
		memset(s->plain, 0xff, (s->n + 1) * sizeof(*s->plain));
	return s->plain;
}

/* Where the list that begins at `p` ends: behind its bracket, or where the text ends. */
static const char *list_end(const char *p)
{
	unsigned deep = 0;

	do {
		deep += *p == '[';
		deep -= *p == ']';
	} while (*p++ && deep);
	return p[-1] ? p : p - 1;
}

/* Copies a list of lists; those that consist of lists become empty. */
static size_t copy_plain(char *to, const char *p)
{
	unsigned deep = 0;
	char *begin = to;

	while (*p) {
		if (deep == 1 && p[0] == '[' && p[1] == '[') {
			to = stpcpy(to, "[]");
			p = list_end(p);
			continue;
		}
		deep += *p == '[';
		deep -= *p == ']';
		*to++ = *p++;
	}
	return (size_t)(to - begin);
}

uint32_t shapes_plain(struct shapes *s, uint32_t text)
{
	const char *from = text < s->n ? texts_get(s->texts, text) : "[]";
	uint32_t *known = &s->plain[text < s->n ? text : s->n];
	char *to;

	if (*known != TEXT_NONE)
		return *known;
	to = malloc(strlen(from) + 1);
	if (to)
		*known = texts_add(s->texts, to, copy_plain(to, from));
	free(to);
	return *known;
}

void shapes_free(struct shapes *s)
{
	free(s->plain);
	*s = (struct shapes){ 0 };
}
