/* SPDX-License-Identifier: Apache-2.0 */
/* Blanks around a value belong to the line, unless quotes stand around them. */
#include "config/config_quote.h"
#include "base/fmt.h"
#include "base/text.h"

static bool is_quoted(const char *s, size_t n)
{
	return n >= 2 && (*s == '"' || *s == '\'') && s[n - 1] == *s &&
	       !memchr(s + 1, *s, n - 2);
}

/* Cuts blanks, then one pair of quotes of either kind, if no other of that kind lies
 * between. */
const char *config_unquote(const char *s, size_t *len)
{
	*len = strlen(s);
	s = text_trim(s, len);
	if (is_quoted(s, *len)) {
		s++;
		*len -= 2;
	}
	return s;
}

/* A value that needs quotes does not hold both kinds: it was itself read from one
 * kind. */
size_t config_quote(const char *value, size_t len, char *buf, size_t size)
{
	char quote = memchr(value, '"', len) ? '\'' : '"';

	if (len && (text_is_blank(value[0]) || text_is_blank(value[len - 1]) ||
		    is_quoted(value, len)))
		return fmt(buf, size, "%c%.*s%c", quote, (int)len, value, quote);
	return fmt(buf, size, "%.*s", (int)len, value);
}
