/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/json.h"

#include <stdio.h>

void json_init(struct json *j, char *buf, size_t size,
	       int (*flush)(void *arg, const char *text, size_t len), void *arg)
{
	*j = (struct json){ buf, buf, buf + size - JSON_ROOM, flush, arg, 0 };
}

void json_flush(struct json *j)
{
	size_t len = (size_t)(j->at - j->start);

	j->at = j->start;
	if (len && !j->err)
		j->err = j->flush(j->arg, j->start, len);
}

void json_long(struct json *j, const char *text, size_t len)
{
	while (len) {
		size_t part = len < JSON_ROOM ? len : JSON_ROOM;

		json_need(j);
		memcpy(j->at, text, part);
		j->at += part;
		text += part;
		len -= part;
	}
}

/* ---- numbers ---- */

static const char pairs[] = "00010203040506070809101112131415161718192021222324"
			    "25262728293031323334353637383940414243444546474849"
			    "50515253545556575859606162636465666768697071727374"
			    "75767778798081828384858687888990919293949596979899";

char *json_put_unsigned(char *to, uint64_t n)
{
	char digits[JSON_DIGITS], *at = digits + sizeof(digits);
	size_t len;

	while (n >= 100) {
		at -= 2;
		memcpy(at, pairs + n % 100 * 2, 2);
		n /= 100;
	}
	if (n >= 10) {
		at -= 2;
		memcpy(at, pairs + n * 2, 2);
	} else {
		*--at = (char)('0' + n);
	}
	len = (size_t)(digits + sizeof(digits) - at);
	memcpy(to, at, len);
	return to + len;
}

char *json_put_number(char *to, int64_t n)
{
	if (n < 0)
		*to++ = '-';
	return json_put_unsigned(to, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

char *json_put_us(char *to, uint64_t ns)
{
	unsigned part = (unsigned)(ns % 1000);

	to = json_put_unsigned(to, ns / 1000);
	to[0] = '.';
	to[1] = (char)('0' + part / 100);
	memcpy(to + 2, pairs + part % 100 * 2, 2);
	return to + 4;
}

/* The C library asks the program's locale for the decimal point. */
char *json_put_double(char *to, double d)
{
	char text[40], *end = to;

	snprintf(text, sizeof(text), "%.17g", d);
	for (const char *c = text; *c && end - to < JSON_DIGITS; c++) {
		if ((*c >= '0' && *c <= '9') || *c == '-' || *c == '+' ||
		    (*c >= 'a' && *c <= 'z'))
			*end++ = *c;
		else if (end == to || end[-1] != '.')
			*end++ = '.';
	}
	return end;
}

void json_number(struct json *j, int64_t n)
{
	json_need(j);
	j->at = json_put_number(j->at, n);
}

void json_unsigned(struct json *j, uint64_t n)
{
	json_need(j);
	j->at = json_put_unsigned(j->at, n);
}

/* ---- text ---- */

/* Bytes of the well-formed UTF-8 character at `s` (of `len` > 0 bytes), or 0. */
static size_t utf8_length(const unsigned char *s, size_t len)
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

static char *put_control(char *to, unsigned char c)
{
	to[0] = '\\';
	if (c >= 8 && c <= 13 && c != 11) { /* a vertical tab has no letter */
		to[1] = "btn?fr"[c - 8];
		return to + 2;
	}
	memcpy(to + 1, "u00", 3);
	to[4] = "0123456789abcdef"[c >> 4];
	to[5] = "0123456789abcdef"[c & 15];
	return to + 6;
}

char *json_put_escaped(char *to, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;

	while (s < end) {
		size_t n = 1;

		if (*s == '"' || *s == '\\') {
			*to++ = '\\';
			*to++ = (char)*s;
		} else if (*s < 0x20 || *s == 0x7f) {
			to = put_control(to, *s);
		} else if (*s < 0x80) {
			*to++ = (char)*s;
		} else if ((n = utf8_length(s, (size_t)(end - s)))) {
			memcpy(to, s, n);
			to += n;
		} else {
			memcpy(to, "\xef\xbf\xbd", 3); /* U+FFFD */
			to += 3;
			n = 1;
		}
		s += n;
	}
	return to;
}

void json_escaped(struct json *j, const char *text, size_t len)
{
	while (len) {
		size_t part = len < JSON_ROOM / 6 ? len : JSON_ROOM / 6;

		/* Never cut inside a character: go back to its first byte. */
		for (size_t i = 0; i < 3 && part < len && part > 1 &&
				   ((unsigned char)text[part] & 0xc0) == 0x80;
		     i++)
			part--;
		json_need(j);
		j->at = json_put_escaped(j->at, text, part);
		text += part;
		len -= part;
	}
}

void json_string(struct json *j, const char *text, size_t len)
{
	json_lit(j, "\"");
	json_escaped(j, text, len);
	json_lit(j, "\"");
}
