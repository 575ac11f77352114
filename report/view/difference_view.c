/* SPDX-License-Identifier: Apache-2.0 */
/* A table for each kind of row; programs get all rows in one. */
#include "report/view/difference_view.h"
#include "report/out.h"
#include "report/units.h"
#include "report/view/table.h"

#include <stdlib.h>

#define ROWS 12u /* of each kind, for people */

static const struct {
	const char *key, *title;
} kinds[PROFILE_KINDS] = {
	[PROFILE_STEP] = { "step", "Steps" },
	[PROFILE_SHARE] = { "share", "Where a step goes" },
	[PROFILE_HOST] = { "operator", "Operators and calls, own time on the host" },
	[PROFILE_GPU] = { "gpu", "Kernels, copies and sets" },
	[PROFILE_PEAK] = { "peak", "Most memory of tensors in a step" },
};

enum { NAME, A, B, BY, INTERVAL, SURE, COLUMNS };

static const struct table_column times[COLUMNS] = {
	{ "name", "", TABLE_TEXT, 0 },
	{ "a", "A", TABLE_TIME, 0 },
	{ "b", "B", TABLE_TIME, 0 },
	{ "difference", "B - A", TABLE_TIME, 0 },
	{ "interval", "of A, at 95 %", TABLE_TEXT, 1 },
	{ "sure", "sure", TABLE_FLAG, 0 },
};

static const struct table_column sizes[COLUMNS] = {
	{ "name", "", TABLE_TEXT, 0 },
	{ "a", "A", TABLE_BYTES, 0 },
	{ "b", "B", TABLE_BYTES, 0 },
	{ "difference", "B - A", TABLE_BYTES, 0 },
	{ "interval", "of A, at 95 %", TABLE_TEXT, 1 },
	{ "sure", "sure", TABLE_FLAG, 0 },
};

/* ---- for people ---- */

static bool add_row(struct table *t, const struct compare_row *r, char *interval,
		    size_t size)
{
	struct table_cell *c = table_add(t);

	if (!c)
		return false;
	difference_interval(&r->shift, interval, size);
	c[NAME].text = r->name;
	c[A].n = units_whole(r->shift.a);
	c[B].n = units_whole(r->shift.b);
	c[BY].n = units_whole(r->shift.by);
	c[INTERVAL].text = !r->in_a ? "new" : !r->in_b ? "gone" : interval;
	c[SURE].n = r->sure;
	return true;
}

/* Prints the rows of a kind; a kind without rows has no table. */
static bool print_kind(const struct difference *d, enum profile_kind kind, size_t limit,
		       bool markdown, const struct screen *to)
{
	char(*interval)[80] = malloc((d->rows.n + 1) * sizeof(*interval));
	struct table t;
	bool fine = interval;

	table_begin(&t, kind == PROFILE_PEAK ? sizes : times, COLUMNS);
	for (size_t i = 0; fine && i < d->rows.n; i++)
		if (d->rows.row[i].kind == kind)
			fine = add_row(&t, &d->rows.row[i], interval[i],
				       sizeof(interval[i]));
	if (fine && t.n) {
		fprintf(to->out, markdown ? "\n### %s\n\n" : "\n%s\n", kinds[kind].title);
		(markdown ? table_markdown : table_text)(&t, to, limit);
	}
	if (fine && t.n && d->rows.small[kind])
		fprintf(to->out, "%s  %s more below 0.5 %% of a step\n",
			markdown ? "\n" : "", out_count((int64_t)d->rows.small[kind]));
	table_free(&t);
	free(interval);
	return fine;
}

/* Prints "A: 20 steps of 2 files of stage train, runs/1". */
static void print_side(char letter, const struct difference_side *side,
		       const struct screen *to)
{
	const struct profile *p = side->profile;
	char text[512];

	snprintf(text, sizeof(text), "%c: %zu steps of %zu file%s%s%s, %.300s", letter,
		 p->steps_n, p->windows_n, p->windows_n == 1 ? "" : "s",
		 *p->stage ? " of stage " : "", p->stage, side->name);
	screen_wrap(to, SCREEN_PLAIN, text, 0, 2);
}

static void print_head(const struct difference *d, bool markdown, const struct screen *to)
{
	char text[512];

	for (unsigned i = 0; i < d->doubts; i++)
		screen_wrap(to, SCREEN_WARN, d->doubt[i], 0, 2);
	if (d->doubts)
		putc('\n', to->out);
	difference_sentence(d, text, sizeof(text));
	if (markdown)
		fputs("## ", to->out);
	screen_wrap(to, SCREEN_BOLD, text, 0, 0);
	if (markdown)
		putc('\n', to->out);
	print_side('A', &d->a, to);
	if (markdown)
		putc('\n', to->out);
	print_side('B', &d->b, to);
}

static bool print_people(const struct difference *d, bool markdown, size_t limit,
			 const struct screen *to)
{
	bool fine = true;

	print_head(d, markdown, to);
	for (unsigned kind = PROFILE_SHARE; fine && kind < PROFILE_KINDS; kind++)
		fine = print_kind(d, (enum profile_kind)kind, limit ? limit : ROWS,
				  markdown, to);
	return fine;
}

/* ---- for programs ---- */

static const struct table_column all[] = {
	{ "kind", "", TABLE_TEXT, 0 },       { "name", "", TABLE_TEXT, 0 },
	{ "a", "", TABLE_TIME, 0 },          { "b", "", TABLE_TIME, 0 },
	{ "difference", "", TABLE_TIME, 0 }, { "low", "", TABLE_TIME, 0 },
	{ "high", "", TABLE_TIME, 0 },       { "a_bytes", "", TABLE_BYTES, 0 },
	{ "b_bytes", "", TABLE_BYTES, 0 },   { "difference_bytes", "", TABLE_BYTES, 0 },
	{ "low_bytes", "", TABLE_BYTES, 0 }, { "high_bytes", "", TABLE_BYTES, 0 },
	{ "p", "", TABLE_NUMBER, 0 },        { "sure", "", TABLE_FLAG, 0 },
	{ "in_a", "", TABLE_FLAG, 0 },       { "in_b", "", TABLE_FLAG, 0 },
};

static bool add_all(struct table *t, const struct compare_row *r)
{
	struct table_cell *c = table_add(t), *values;

	if (!c)
		return false;
	c[0].text = kinds[r->kind].key;
	c[1].text = r->name;
	values = c + (r->kind == PROFILE_PEAK ? 7 : 2);
	values[0].n = units_whole(r->shift.a);
	values[1].n = units_whole(r->shift.b);
	values[2].n = units_whole(r->shift.by);
	if (r->shift.interval) {
		values[3].n = units_whole(r->shift.low);
		values[4].n = units_whole(r->shift.high);
	}
	c[12].x = r->p;
	c[13].n = r->sure;
	c[14].n = r->in_a;
	c[15].n = r->in_b;
	return true;
}

static void put_side(FILE *out, const char *key, const struct difference_side *side)
{
	fprintf(out, ",\n\"%s\": {\"name\": ", key);
	out_json(out, side->name);
	fputs(", \"stage\": ", out);
	out_json_or_null(out, side->profile->stage);
	fprintf(out, ", \"files\": %zu, \"steps\": %zu, \"missing\": %llu}",
		side->profile->windows_n, side->profile->steps_n,
		(unsigned long long)side->profile->dropped);
}

static void print_json(const struct difference *d, const struct table *t, FILE *out)
{
	char sentence[512];

	difference_sentence(d, sentence, sizeof(sentence));
	fputs("{\"schema\": 1, \"sentence\": ", out);
	out_json(out, sentence);
	put_side(out, "a", &d->a);
	put_side(out, "b", &d->b);
	fputs(",\n\"doubts\": [", out);
	for (unsigned i = 0; i < d->doubts; i++) {
		fputs(i ? ", " : "", out);
		out_json(out, d->doubt[i]);
	}
	fputs("],\n\"rows\": ", out);
	table_json(t, out, TABLE_ALL);
	fputs("}\n", out);
}

static bool print_programs(const struct difference *d, bool json, FILE *out)
{
	struct table t;
	bool fine;

	table_begin(&t, all, sizeof(all) / sizeof(*all));
	fine = !d->rows.step.name || add_all(&t, &d->rows.step);
	for (size_t i = 0; fine && i < d->rows.n; i++)
		fine = add_all(&t, &d->rows.row[i]);
	if (fine && json)
		print_json(d, &t, out);
	else if (fine)
		table_csv(&t, out, TABLE_ALL);
	table_free(&t);
	return fine;
}

bool difference_view_print(const struct difference *d, enum view_format format,
			   size_t limit, const struct screen *to)
{
	if (format == VIEW_CSV || format == VIEW_JSON)
		return print_programs(d, format == VIEW_JSON, to->out);
	return print_people(d, format == VIEW_MARKDOWN, limit, to);
}
