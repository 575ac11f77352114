/* SPDX-License-Identifier: Apache-2.0 */
/* By the table of well-formed sequences in the Unicode standard (3-7): no overlong
 * forms, no surrogates, nothing above U+10FFFF. A name that breaks them would make a
 * whole trace file unreadable for a strict JSON reader. */
#include "base/utf8.h"

#include <stdint.h>

size_t utf8_length(const unsigned char *s, size_t len)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0xc2   ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;
	uint32_t code;

	if (s[0] < 0x80)
		return 1;
	if (!n || n > len)
		return 0;
	code = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3fu);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

/* `c` is at most 0x10ffff; a surrogate, which a file may name by \u, is written as it
 * is. */
size_t utf8_put(char *to, unsigned c)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 63));
	to[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xf0) | c);
	return n;
}
