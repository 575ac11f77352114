/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and names for people: sizes with a unit, and no byte that a terminal would
 * obey. */
#include "report/out.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <string.h>

char *out_buffer(void)
{
	static char ring[8][OUT_BUFFER];
	static unsigned at;

	return ring[at++ % 8];
}

const char *out_bytes(int64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	char *out = out_buffer();
	double n = (double)bytes;
	int unit = -1;

	/* 1023.96 would be printed as 1024.0. */
	while ((n >= 1023.95 || n <= -1023.95) && unit < 5) {
		n /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(out, OUT_BUFFER, "%lld B", (long long)bytes);
	else
		snprintf(out, OUT_BUFFER, "%.1f %s", n, units[unit]);
	return out;
}

const char *out_count(int64_t n)
{
	char digits[24], *out = out_buffer(), *p = out;
	int len = snprintf(digits, sizeof(digits), "%lld", (long long)n);

	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0 && digits[i - 1] != '-')
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return out;
}

const char *out_ms(int64_t ns)
{
	char *out = out_buffer();

	snprintf(out, OUT_BUFFER, "%.3f ms", (double)ns / 1e6);
	return out;
}

/* The length of the UTF-8 character at p; 0 = there is none. The NUL at the text's end
 * belongs to no longer character. */
static size_t character_length(const unsigned char *p)
{
	return utf8_length(p, 4);
}

/* Is the character harmless? Not control characters, those of C1, and characters that
 * turn the direction of a line. */
static bool is_harmless(const unsigned char *p, size_t n)
{
	return n && *p >= 0x20 && *p != 0x7f && !(*p == 0xc2 && p[1] < 0xa0) &&
	       !(*p == 0xe2 && p[1] == 0x80 && p[2] >= 0xaa && p[2] <= 0xae) &&
	       !(*p == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
}

void out_plain(char *text)
{
	unsigned char *p = (unsigned char *)text;

	for (size_t n; *p; p += n) {
		n = character_length(p);
		if (*p != '\n' && !is_harmless(p, n))
			memset(p, '?', n ? n : 1);
		n = n ? n : 1;
	}
}

void out_text(FILE *out, const char *text, size_t most)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t columns = 0, n;

	for (const unsigned char *q = p; *q; q += (n = character_length(q)) ? n : 1)
		columns++;
	for (size_t i = 0; *p; i++) {
		if (columns > most && i + 3 >= most) {
			fputs("...", out);
			return;
		}
		n = character_length(p);
		if (is_harmless(p, n))
			fwrite(p, 1, n, out);
		else
			putc('?', out);
		p += n ? n : 1;
	}
}

/* ---- call sites ---- */

/* Skips from an opening bracket to behind the one that closes it, or to the end.
 * "operator<" opens nothing. */
static const char *skip_bracketed(const char *p)
{
	char open = *p, close = open == '(' ? ')' : '>';
	unsigned deep = 0;

	for (; *p; p++) {
		deep += *p == open;
		if (*p == close && p[-1] != '-' && !--deep)
			return p + 1;
	}
	return p;
}

/* Does the text between two pointers, which no NUL ends, end with `word`? */
static bool ends_with(const char *begin, const char *end, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(end - begin) >= len && !memcmp(end - len, word, len);
}

/* Writes a C++ name without its parameters and its templates' arguments. */
static size_t shorten_cxx_name(char *to, const char *p, const char *end)
{
	static const char nameless[] = "(anonymous namespace)";
	char *begin = to;

	while (p < end) {
		bool opens = (*p == '(' || *p == '<') &&
			     !ends_with(begin, to, "operator") &&
			     !ends_with(begin, to, "operator<");

		if (!opens) {
			*to++ = *p++;
		} else if (!strncmp(p, nameless, sizeof(nameless) - 1)) {
			memcpy(to, p, sizeof(nameless) - 1);
			to += sizeof(nameless) - 1;
			p += sizeof(nameless) - 1;
		} else if (*p == '<') {
			p = skip_bracketed(p);
			memcpy(to, "<>", 2);
			to += 2;
		} else {
			p = skip_bracketed(p);
		}
	}
	return (size_t)(to - begin);
}

/* Writes a frame. One that is too long loses the part that says least first: the place in
 * the source stays. */
static void put_frame(FILE *out, const char *text, size_t len, size_t most)
{
	char part[1100], name[1100];
	const char *place;
	size_t n;

	snprintf(part, sizeof(part), "%.*s", (int)(len < 1000 ? len : 1000), text);
	place = strrchr(part, ' ');
	if (strlen(part) > most && place && place[1] == '(') {
		n = shorten_cxx_name(name, part, place);
		name[n] = '\0';
		n = strlen(place);
		out_text(out, name, n + 20 < most ? most - n : 20);
		out_text(out, place, n);
	} else {
		out_text(out, part, most);
	}
}

void out_site(FILE *out, const char *text, int indent, size_t most)
{
	for (const char *next, *at = text; at; at = next) {
		next = strstr(at, " < ");
		if (at != text)
			fprintf(out, "%*s< ", indent + 2, "");
		put_frame(out, at, next ? (size_t)(next - at) : strlen(at), most);
		putc('\n', out);
		next = next ? next + 3 : NULL;
	}
}

/* The number of a character of two or three bytes. */
static unsigned number_of(const unsigned char *p, size_t n)
{
	return n == 2 ? (*p & 0x1fu) << 6 | (p[1] & 0x3fu)
		      : (*p & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
}

size_t out_json_character(char *to, const void *character, size_t n)
{
	const unsigned char *p = character;

	if (!n)
		return (size_t)sprintf(to, "\\ufffd");
	if (*p == '"' || *p == '\\')
		return (size_t)sprintf(to, "\\%c", *p);
	if (*p < 0x20 || *p == 0x7f)
		return (size_t)sprintf(to, "\\u%04x", *p);
	if (!is_harmless(p, n))
		return (size_t)sprintf(to, "\\u%04x", number_of(p, n));
	memcpy(to, p, n);
	return n;
}

void out_json_or_null(FILE *out, const char *text)
{
	if (text && *text)
		out_json(out, text);
	else
		fputs("null", out);
}

void out_json(FILE *out, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	char escaped[OUT_JSON_MOST];

	putc('"', out);
	while (*p) {
		size_t n = character_length(p);

		fwrite(escaped, 1, out_json_character(escaped, p, n), out);
		p += n ? n : 1;
	}
	putc('"', out);
}
