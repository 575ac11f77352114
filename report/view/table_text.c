/* SPDX-License-Identifier: Apache-2.0 */
/* A table for people: on a screen, where columns that do not fit are left out and said,
 * and as Markdown, where none is. */
#include "report/view/table.h"

#include <string.h>

#define GAP      2u
#define NAME_MIN 16u
#define NAME_MD  100u /* of a name in Markdown */

struct layout {
	size_t width[TABLE_COLUMNS];
	bool out[TABLE_COLUMNS]; /* left out: */
	bool empty[TABLE_COLUMNS]; /* as it says nothing */
};

/* How far a text is moved in. */
static size_t indent_of(const struct table *t, size_t row, unsigned column)
{
	int64_t n = t->cells[row * t->columns_n + column].n;

	if (t->columns[column].unit != TABLE_TEXT || n <= 0)
		return 0;
	return 2 * (size_t)(n < TABLE_DEEPEST ? n : TABLE_DEEPEST);
}

static size_t rows_of(const struct table *t, size_t limit)
{
	return t->n < limit ? t->n : limit;
}

static size_t least_width(const struct table *t, const struct layout *l, unsigned column)
{
	size_t width = l->width[column];

	return t->columns[column].unit == TABLE_TEXT && width > NAME_MIN ? NAME_MIN
									 : width;
}

/* The width of all columns, as they are or with names as short as they may be. */
static size_t width_of(const struct table *t, const struct layout *l, bool least)
{
	size_t all = 0;

	for (unsigned i = 0; i < t->columns_n; i++)
		if (!l->out[i])
			all += GAP + (least ? least_width(t, l, i) : l->width[i]);
	return all;
}

/* Leaves out the column that is the first to go. False: all others stay. */
static bool drop_column(const struct table *t, struct layout *l)
{
	unsigned most = 0, at = 0;

	for (unsigned i = 0; i < t->columns_n; i++)
		if (!l->out[i] && t->columns[i].drop > most) {
			most = t->columns[i].drop;
			at = i;
		}
	l->out[at] |= most > 0;
	return most > 0;
}

/* Takes a column from the widest name. False: there is none to be taken. */
static bool shrink_name(const struct table *t, struct layout *l)
{
	unsigned widest = 0;
	size_t most = NAME_MIN;

	for (unsigned i = 0; i < t->columns_n; i++)
		if (!l->out[i] && t->columns[i].unit == TABLE_TEXT &&
		    l->width[i] > most) {
			most = l->width[i];
			widest = i;
		}
	l->width[widest] -= most > NAME_MIN;
	return most > NAME_MIN;
}

static void lay_out(const struct table *t, const struct screen *s, size_t rows,
		    struct layout *l)
{
	*l = (struct layout){ 0 };
	for (unsigned i = 0; i < t->columns_n; i++) {
		l->out[i] = l->empty[i] = table_says_nothing(t, i);
		l->width[i] = screen_columns(s, t->columns[i].title);
		for (size_t row = 0; row < rows; row++) {
			size_t n = screen_columns(s, table_words(t, row, i)) +
				   indent_of(t, row, i);

			l->width[i] = n > l->width[i] ? n : l->width[i];
		}
		/* More than a line is not needed to lay one out. */
		if (l->width[i] > SCREEN_MOST)
			l->width[i] = SCREEN_MOST;
	}
	while (width_of(t, l, true) > s->width && drop_column(t, l))
		;
	while (width_of(t, l, false) > s->width && shrink_name(t, l))
		;
}

/* `row`: of its text; the table's own number of rows is the heads. */
static void print_cell(const struct table *t, const struct screen *s,
		       const struct layout *l, unsigned column, size_t row)
{
	const char *text =
		row < t->n ? table_words(t, row, column) : t->columns[column].title;
	size_t indent = row < t->n ? indent_of(t, row, column) : 0;
	size_t width = l->width[column];
	bool last = true;

	/* A name that has no room keeps half of it. */
	indent = indent < width / 2 ? indent : width / 2;
	width -= indent;

	for (unsigned i = column + 1; i < t->columns_n; i++)
		last &= l->out[i];
	fprintf(s->out, "  %*s", (int)indent, "");
	if (t->columns[column].unit != TABLE_TEXT)
		screen_right(s, text, width);
	else if (last)
		screen_text(s, text, width);
	else
		screen_left(s, text, width);
}

static void say_left_out(const struct table *t, const struct screen *s,
			 const struct layout *l, size_t rows)
{
	char text[1024];
	size_t n = 0;

	if (rows < t->n) {
		snprintf(text, sizeof(text), "... and %zu more: --limit %zu", t->n - rows,
			 t->n);
		fputs("  ", s->out);
		screen_wrap(s, SCREEN_DIM, text, 2, 4);
	}
	for (unsigned i = 0; i < t->columns_n && n < sizeof(text); i++) {
		if (!l->out[i] || l->empty[i])
			continue;
		if (!n)
			n = (size_t)snprintf(text, sizeof(text),
					     "no room in %u columns for: %s", s->width,
					     t->columns[i].title);
		else
			n += (size_t)snprintf(text + n, sizeof(text) - n, ", %s",
					      t->columns[i].title);
	}
	if (n) {
		fputs("  ", s->out);
		screen_wrap(s, SCREEN_DIM, text, 2, 4);
	}
}

void table_text(const struct table *t, const struct screen *s, size_t limit)
{
	size_t rows = rows_of(t, limit);
	struct layout l;

	lay_out(t, s, rows, &l);
	screen_look(s, SCREEN_BOLD);
	for (unsigned i = 0; i < t->columns_n; i++)
		if (!l.out[i])
			print_cell(t, s, &l, i, t->n);
	screen_look(s, SCREEN_PLAIN);
	putc('\n', s->out);
	for (size_t row = 0; row < rows; row++) {
		for (unsigned i = 0; i < t->columns_n; i++)
			if (!l.out[i])
				print_cell(t, s, &l, i, row);
		putc('\n', s->out);
	}
	say_left_out(t, s, &l, rows);
}

/* ---- Markdown ---- */

/* Within a code span only its own mark must not occur; a bar would end the cell even
 * there. */
static void put_code(const struct screen *s, const char *text)
{
	char safe[4 * NAME_MD + 8];
	size_t n = 0;

	for (; *text && n < sizeof(safe) - 2; text++)
		safe[n++] = *text == '`' ? '\'' : *text == '|' ? '\x01' : *text;
	safe[n] = '\0';
	putc('`', s->out);
	for (char *part = safe, *bar; part; part = bar) {
		bar = strchr(part, '\x01');
		if (bar)
			*bar++ = '\0';
		screen_text(s, part, NAME_MD);
		if (bar)
			fputs("\\|", s->out);
	}
	putc('`', s->out);
}

static void put_heads(const struct table *t, const struct screen *s, const bool *empty)
{
	for (unsigned i = 0; i < t->columns_n; i++)
		if (!empty[i])
			fprintf(s->out, "| %s ", t->columns[i].title);
	fputs("|\n", s->out);
	for (unsigned i = 0; i < t->columns_n; i++)
		if (!empty[i])
			fputs(t->columns[i].unit == TABLE_TEXT ? "| --- " : "| ---: ",
			      s->out);
	fputs("|\n", s->out);
}

static void put_cell(const struct table *t, const struct screen *s, size_t row,
		     unsigned column)
{
	const char *text = table_words(t, row, column);

	fputs("| ", s->out);
	for (size_t i = 0; i < indent_of(t, row, column); i++)
		fputs("&nbsp;", s->out);
	if (t->columns[column].unit == TABLE_TEXT && strcmp(text, "-") != 0)
		put_code(s, text);
	else
		screen_text(s, text, NAME_MD);
	putc(' ', s->out);
}

void table_markdown(const struct table *t, const struct screen *s, size_t limit)
{
	size_t rows = rows_of(t, limit);
	bool empty[TABLE_COLUMNS];

	for (unsigned i = 0; i < t->columns_n; i++)
		empty[i] = table_says_nothing(t, i);
	put_heads(t, s, empty);
	for (size_t row = 0; row < rows; row++) {
		for (unsigned i = 0; i < t->columns_n; i++)
			if (!empty[i])
				put_cell(t, s, row, i);
		fputs("|\n", s->out);
	}
	if (rows < t->n)
		fprintf(s->out, "\n... and %zu more: `--limit %zu`\n", t->n - rows, t->n);
}
