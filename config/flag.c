/* SPDX-License-Identifier: Apache-2.0 */
/* Letters of either case are the same: On, OFF, True. */
#include "config/flag.h"
#include "base/text.h"

static bool same_word(const char *word, size_t len, const char *text)
{
	for (size_t i = 0; i < len; i++)
		if (text_lower(word[i]) != text_lower(text[i]))
			return false;
	return !text[len];
}

bool flag_read(uint32_t *at, const char *v, size_t len)
{
	static const char *const words[] = { "off", "on",  "0",     "1",
					     "no",  "yes", "false", "true" };

	for (uint32_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (same_word(v, len, words[i])) {
			*at = i % 2;
			return true;
		}
	}
	return false;
}
