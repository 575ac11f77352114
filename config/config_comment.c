/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that we print have no comments: a '#' there belongs to a value. So comments are
 * cut where a user's file is read, and nowhere else. */
#include "config/config_comment.h"

#include <stdbool.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* A quote begins at a word's begin only ("don't" has none), and ends somewhere. */
void config_comment_cut(char *line)
{
	char before = ' ';

	for (char *p = line; *p; before = *p++) {
		if (*p == '#' && is_blank(before)) {
			*p = '\0';
			return;
		}
		if (!is_blank(before) && before != '=')
			continue;
		if ((*p == '"' || *p == '\'') && strchr(p + 1, *p))
			p = strchr(p + 1, *p);
	}
}
