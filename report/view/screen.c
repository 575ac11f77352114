/* SPDX-License-Identifier: Apache-2.0 */
/* The environment is asked for the character set, and not the C library: a container has
 * often no locale but "C", and the terminal outside of it shows UTF-8 all the same. */
#include "report/view/screen.h"
#include "base/text.h"
#include "base/utf8.h"
#include "report/out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* ---- what it can show ---- */

static bool says_utf8(const char *locale)
{
	size_t n = 0;

	for (; *locale; locale++) {
		char c = text_lower(*locale);

		if (c == '-')
			continue;
		n = c == "utf8"[n] ? n + 1 : c == 'u';
		if (n == 4)
			return true;
	}
	return false;
}

static bool is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return says_utf8(value);
	}
	return false;
}

static unsigned find_width(int terminal)
{
	const char *columns = getenv("COLUMNS");
	uint64_t n = columns ? text_number(columns) : 0;
	struct winsize size;

	if (!n && terminal >= 0 && !ioctl(terminal, TIOCGWINSZ, &size))
		n = size.ws_col;
	if (n < SCREEN_LEAST)
		return SCREEN_LEAST;
	return n > SCREEN_MOST ? SCREEN_MOST : (unsigned)n;
}

static bool has_colour(int terminal)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return terminal >= 0 && !(no && *no) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

void screen_begin(struct screen *s, FILE *out, int terminal)
{
	*s = (struct screen){ .out = out,
			      .width = find_width(terminal),
			      .colour = has_colour(terminal),
			      .utf8 = is_utf8() };
}

void screen_look(const struct screen *s, enum screen_look look)
{
	static const char *const codes[] = { [SCREEN_PLAIN] = "\033[m",
					     [SCREEN_BOLD] = "\033[1m",
					     [SCREEN_DIM] = "\033[2m",
					     [SCREEN_WARN] = "\033[1;33m" };

	if (s->colour)
		fputs(codes[look], s->out);
}

/* ---- texts ---- */

static size_t character_length(const char *p)
{
	size_t n = utf8_length((const unsigned char *)p, 4);

	return n ? n : 1;
}

/* Signs of our own texts that ASCII has something like. */
static const char *ascii_of(const char *character)
{
	static const char *const like[][2] = { { "µ", "u" },  { "→", "->" },
					       { "≤", "<=" }, { "±", "+-" },
					       { "≥", ">=" }, { "…", "..." },
					       { "–", "-" },  { "×", "x" } };

	for (size_t i = 0; i < sizeof(like) / sizeof(*like); i++)
		if (!strcmp(character, like[i][0]))
			return like[i][1];
	return "?";
}

/* Copies a character of n bytes, with a NUL behind it. */
static void copy_character(char to[5], const char *p, size_t n)
{
	memcpy(to, p, n);
	to[n] = '\0';
}

static size_t columns_of(const struct screen *s, const char *p, size_t n)
{
	char one[5];

	if (n == 1 || s->utf8)
		return 1;
	copy_character(one, p, n);
	return strlen(ascii_of(one));
}

/* The columns of a text's first bytes. */
static size_t count_columns(const struct screen *s, const char *text, size_t bytes)
{
	size_t columns = 0, n;

	for (const char *p = text; p < text + bytes; p += n) {
		n = character_length(p);
		columns += columns_of(s, p, n);
	}
	return columns;
}

size_t screen_columns(const struct screen *s, const char *text)
{
	return count_columns(s, text, strlen(text));
}

static void put_character(const struct screen *s, const char *p, size_t n)
{
	char one[5];

	copy_character(one, p, n);
	if (n > 1 && !s->utf8)
		fputs(ascii_of(one), s->out);
	else
		out_text(s->out, one, 1);
}

size_t screen_text(const struct screen *s, const char *text, size_t most)
{
	size_t all = screen_columns(s, text), dots = s->utf8 ? 1 : 3, head = all,
	       tail = all;
	size_t at = 0, n;

	if (all > most) {
		head = most > dots ? (most - dots + 1) / 2 : most;
		tail = most > dots ? all - (most - dots - head) : all;
	}
	for (bool cut = false; *text; text += n) {
		n = character_length(text);
		if (at < head || at >= tail) {
			put_character(s, text, n);
		} else if (!cut && most > dots) {
			fputs(s->utf8 ? "…" : "...", s->out);
			cut = true;
		}
		at += columns_of(s, text, n);
	}
	return all < most ? all : most;
}

static void put_blanks(const struct screen *s, size_t n)
{
	fprintf(s->out, "%*s", (int)n, "");
}

void screen_left(const struct screen *s, const char *text, size_t width)
{
	put_blanks(s, width - screen_text(s, text, width));
}

void screen_right(const struct screen *s, const char *text, size_t width)
{
	size_t n = screen_columns(s, text);

	put_blanks(s, n < width ? width - n : 0);
	screen_text(s, text, width);
}

static void begin_look(const struct screen *s, enum screen_look look)
{
	if (look != SCREEN_PLAIN)
		screen_look(s, look);
}

static void end_look(const struct screen *s, enum screen_look look)
{
	if (look != SCREEN_PLAIN)
		screen_look(s, SCREEN_PLAIN);
}

/* Does a unit begin here? It stays with its number. */
static bool is_unit(const char *text)
{
	static const char *const units[] = { "%", "ns", "us", "ms", "s", NULL };
	char word[4];

	snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, " \n,.;:)"), text);
	return text_is_in(word, units);
}

/* Bytes of the first word: up to a blank, a line's end or the text's. */
static size_t word_length(const char *text)
{
	size_t n = strcspn(text, " \n");

	if (n && text[n] == ' ' && text[n - 1] >= '0' && text[n - 1] <= '9' &&
	    is_unit(text + n + 1))
		n += 1 + strcspn(text + n + 1, " \n");
	return n;
}

static size_t next_line(const struct screen *s, enum screen_look look, size_t indent)
{
	end_look(s, look);
	fprintf(s->out, "\n%*s", (int)indent, "");
	begin_look(s, look);
	return indent;
}

/* Prints a word from a column on, and tells the column behind it. Names of a trace may be
 * longer than a line: such a word goes on in the next one. */
static size_t put_word(const struct screen *s, enum screen_look look, const char *word,
		       size_t len, size_t at, size_t indent)
{
	for (const char *end = word + len; word < end;) {
		size_t n = character_length(word), columns = count_columns(s, word, n);

		if (at + columns > s->width && at > indent)
			at = next_line(s, look, indent);
		put_character(s, word, n);
		at += columns;
		word += n;
	}
	return at;
}

void screen_wrap(const struct screen *s, enum screen_look look, const char *text,
		 size_t at, size_t indent)
{
	bool begun = false;

	begin_look(s, look);
	for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
		size_t len = word_length(text), columns = count_columns(s, text, len);

		if (begun && at + 1 + columns > s->width)
			at = next_line(s, look, indent);
		else if (begun)
			at += putc(' ', s->out) != EOF;
		begun = true;
		at = put_word(s, look, text, len, at, indent);
		text += len;
	}
	end_look(s, look);
	putc('\n', s->out);
}

void screen_say(const struct screen *s, size_t indent, const char *format, ...)
{
	char text[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	screen_wrap(s, SCREEN_PLAIN, text, indent, indent);
}

void screen_bar(const struct screen *s, double share, size_t width)
{
	size_t halves;

	if (!(share > 0))
		return;
	halves = (size_t)((share < 1 ? share : 1) * 2 * (double)width + 0.5);
	for (size_t i = 0; i + 1 < halves; i += 2)
		fputs(s->utf8 ? "█" : "#", s->out);
	if (halves % 2 || !halves)
		fputs(s->utf8 ? "▌" : halves ? "#" : "", s->out);
}
