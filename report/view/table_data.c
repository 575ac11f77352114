/* SPDX-License-Identifier: Apache-2.0 */
/* A table for programs: numbers have no unit and no thousands' commas, and are the same
 * in every locale. */
#include "report/out.h"
#include "report/units.h"
#include "report/view/table.h"

#include <math.h>
#include <string.h>

static const struct table_cell *cell_at(const struct table *t, size_t row,
					unsigned column)
{
	return &t->cells[row * t->columns_n + column];
}

/* Is the value there? */
static bool is_known(const struct table_cell *c, enum table_unit unit)
{
	if (unit == TABLE_TEXT)
		return c->text != NULL;
	if (unit == TABLE_SHARE || unit == TABLE_NUMBER)
		return isfinite(c->x);
	return c->n != TABLE_NONE;
}

static void put_number(FILE *out, const struct table_cell *c, enum table_unit unit)
{
	if (unit == TABLE_TIME)
		fputs(units_us(c->n), out);
	else if (unit == TABLE_SHARE || unit == TABLE_NUMBER)
		fprintf(out, "%.6f", c->x);
	else if (unit == TABLE_FLAG)
		fputs(c->n ? "true" : "false", out);
	else
		fprintf(out, "%lld", (long long)c->n);
}

/* Quotes what would not be read as one text without. */
static void put_quoted(FILE *out, const char *text)
{
	bool quotes = strpbrk(text, ",\"\r\n") || *text == ' ' ||
		      (*text && text[strlen(text) - 1] == ' ');

	if (!quotes) {
		out_text(out, text, SIZE_MAX);
		return;
	}
	putc('"', out);
	while (*text) {
		char part[256];
		size_t n = strnlen(text, sizeof(part));
		const char *quote = memchr(text, '"', n);

		/* A part ends at a quote, or before the first byte of a character. */
		n = quote ? (size_t)(quote - text) : n;
		if (n > sizeof(part) - 1) {
			n = sizeof(part) - 1;
			while (n > sizeof(part) - 5 && (text[n] & 0xc0) == 0x80)
				n--;
		}
		memcpy(part, text, n);
		part[n] = '\0';
		out_text(out, part, SIZE_MAX);
		text += n;
		if (*text == '"') {
			fputs("\"\"", out);
			text++;
		}
	}
	putc('"', out);
}

void table_csv(const struct table *t, FILE *out, size_t limit)
{
	for (unsigned i = 0; i < t->columns_n; i++)
		fprintf(out, "%s%s", i ? "," : "", t->columns[i].key);
	putc('\n', out);
	for (size_t row = 0; row < t->n && row < limit; row++) {
		for (unsigned i = 0; i < t->columns_n; i++) {
			const struct table_cell *c = cell_at(t, row, i);
			enum table_unit unit = t->columns[i].unit;

			if (i)
				putc(',', out);
			if (!is_known(c, unit))
				continue;
			if (unit == TABLE_TEXT)
				put_quoted(out, c->text);
			else
				put_number(out, c, unit);
		}
		putc('\n', out);
	}
}

/* As JSON has it. */
static void put_value(FILE *out, const struct table_cell *c, enum table_unit unit)
{
	if (!is_known(c, unit))
		fputs("null", out);
	else if (unit == TABLE_TEXT)
		out_json(out, c->text);
	else
		put_number(out, c, unit);
}

void table_json(const struct table *t, FILE *out, size_t limit)
{
	putc('[', out);
	for (size_t row = 0; row < t->n && row < limit; row++) {
		fputs(row ? ",\n{" : "\n{", out);
		for (unsigned i = 0; i < t->columns_n; i++) {
			const struct table_cell *c = cell_at(t, row, i);
			enum table_unit unit = t->columns[i].unit;

			fprintf(out, "%s\"%s\": ", i ? ", " : "", t->columns[i].key);
			put_value(out, c, unit);
		}
		putc('}', out);
	}
	putc(']', out);
}

void table_arrays(const struct table *t, FILE *out, size_t limit)
{
	static const char *const units[] = {
		[TABLE_TEXT] = "text",     [TABLE_COUNT] = "count",
		[TABLE_ID] = "id",         [TABLE_TIME] = "time",
		[TABLE_BYTES] = "bytes",   [TABLE_SHARE] = "share",
		[TABLE_NUMBER] = "number", [TABLE_FLAG] = "flag",
	};

	fputs("\"columns\": [", out);
	for (unsigned i = 0; i < t->columns_n; i++)
		fprintf(out, "%s[\"%s\", \"%s\", \"%s\", %u]", i ? ", " : "",
			t->columns[i].key, t->columns[i].title, units[t->columns[i].unit],
			t->columns[i].drop);
	fputs("], \"rows\": [", out);
	for (size_t row = 0; row < t->n && row < limit; row++) {
		fputs(row ? ",\n[" : "\n[", out);
		for (unsigned i = 0; i < t->columns_n; i++) {
			fputs(i ? ", " : "", out);
			put_value(out, cell_at(t, row, i), t->columns[i].unit);
		}
		putc(']', out);
	}
	putc(']', out);
}
