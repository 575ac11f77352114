/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a trace, put together in a block. Whole numbers are made here, two digits at a
 * time: half as many divisions as by single digits, and no locale. */
#include "writer/json.h"
#include "base/utf8.h"

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

void json_text(struct json *j, const char *text)
{
	json_raw(j, text, strlen(text));
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

/* snprintf takes the decimal point from the program's locale: here it becomes ".". */
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

void json_text_number(struct json *j, const char *text, int64_t n)
{
	json_text(j, text);
	json_number(j, n);
}

void json_text_unsigned(struct json *j, const char *text, uint64_t n)
{
	json_text(j, text);
	json_unsigned(j, n);
}

void json_member(struct json *j, const char *key, uint64_t n)
{
	json_lit(j, "\"");
	json_text(j, key);
	json_text_unsigned(j, "\":", n);
	json_lit(j, ",");
}

/* ---- text ---- */

static char *put_hex(char *to, unsigned char c)
{
	memcpy(to, "\\u00", 4);
	to[4] = "0123456789abcdef"[c >> 4];
	to[5] = "0123456789abcdef"[c & 15];
	return to + 6;
}

/* The short escape where JSON has one (\b \t \n \f \r), else \u00XX. DEL needs
 * none by the grammar; a terminal that shows the file obeys it. */
static char *put_control(char *to, unsigned char c)
{
	to[0] = '\\';
	if (c >= 8 && c <= 13 && c != 11) { /* a vertical tab has no letter */
		to[1] = "btn?fr"[c - 8];
		return to + 2;
	}
	return put_hex(to, c);
}

/* Perfetto (v52) takes a quote behind a backslash for an escaped quote, also where the
 * backslash is itself escaped, and then opens no such file: a string's last backslash is
 * \u005c. */
static char *put_escaped(char *to, const char *text, size_t len, bool last)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;

	while (s < end) {
		size_t n = 1;

		if (*s == '\\' && last && s + 1 == end) {
			to = put_hex(to, *s);
		} else if (*s == '"' || *s == '\\') {
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

char *json_put_escaped(char *to, const char *text, size_t len)
{
	return put_escaped(to, text, len, true);
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
		j->at = put_escaped(j->at, text, part, part == len);
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
