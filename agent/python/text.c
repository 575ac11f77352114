/* SPDX-License-Identifier: Apache-2.0 */
/* A str keeps its characters in one, two or four bytes each, as the widest needs. */
#include "agent/python/text.h"

#include <string.h>

#define IS_COMPACT 0x20u /* of the state's low byte; PEP 393 */
#define IS_ASCII   0x40u

static uint32_t char_at(const uint8_t *text, unsigned width, size_t i)
{
	uint16_t two;
	uint32_t four;

	if (width == 1)
		return text[i];
	if (width == 2) {
		memcpy(&two, text + 2 * i, sizeof(two));
		return two;
	}
	memcpy(&four, text + 4 * i, sizeof(four));
	return four;
}

/* Returns how many bytes the character takes. */
static size_t put_char(char to[4], uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c - 0xd800 < 0x800 || c > 0x10ffff) {
		to[0] = '?';
		return 1;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

size_t python_text(const struct python_layout *l, const void *str, char *to, size_t size)
{
	unsigned state = ((const uint8_t *)str)[PYTHON_STATE], width = state >> 2 & 7;
	size_t len = (size_t)layout_at(str, PYTHON_LENGTH), at = 0;
	const uint8_t *text = (const uint8_t *)str + l->wide;

	if (!(state & IS_COMPACT) || (width != 1 && width != 2 && width != 4))
		return 0;
	if (state & IS_ASCII) {
		len = len < size ? len : size;
		memcpy(to, (const uint8_t *)str + l->ascii, len);
		return len;
	}
	for (size_t i = 0; i < len; i++) {
		char bytes[4];
		size_t n = put_char(bytes, char_at(text, width, i));

		if (at + n > size)
			break;
		memcpy(to + at, bytes, n);
		at += n;
	}
	return at;
}
