/* SPDX-License-Identifier: Apache-2.0 */
/* The overview for an issue, and for programs that read text: 60 lines at most. What
 * comes from the trace stands in code spans. */
#include "report/out.h"
#include "report/units.h"
#include "report/view/overview.h"
#include "report/view/table.h"
#include "report/view/trust.h"
#include "report/whose.h"

#include <string.h>

#define ADVICES 3u
#define ROWS    5u /* of operators: 54 lines at most */
#define GPUS    4u

/* Writes a text of ours or an advice's, which may name an operator: what Markdown would
 * obey is escaped. */
static void put_plain(const struct screen *to, const char *text)
{
	char one[2] = "";

	for (; *text; text++) {
		if (strchr("\\`*_<>[]|#", *text))
			putc('\\', to->out);
		if ((unsigned char)*text >= 0x80) {
			size_t n = 1;
			char part[8];

			while (n < 4 && ((unsigned char)text[n] & 0xc0) == 0x80)
				n++;
			snprintf(part, sizeof(part), "%.*s", (int)n, text);
			screen_text(to, part, 8);
			text += n - 1;
			continue;
		}
		one[0] = *text;
		screen_text(to, one, 1);
	}
}

static void put_line(const struct screen *to, const char *before, const char *text)
{
	if (!*text)
		return;
	fputs(before, to->out);
	put_plain(to, text);
	putc('\n', to->out);
}

static void put_head(const struct subject *s, const struct screen *to)
{
	struct trust trust;
	char text[512];

	trust_make(&trust, s);
	overview_sentence(s, text, sizeof(text));
	put_line(to, "## ", text);
	putc('\n', to->out);
	for (unsigned i = 0; i < trust.doubts; i++)
		put_line(to, "- ", trust.doubt[i]);
	overview_steps(s, text, sizeof(text));
	put_line(to, "- ", text);
	for (size_t i = 0; i < s->devices.n && i < GPUS; i++) {
		overview_gpu(s, &s->devices.row[i], text, sizeof(text));
		put_line(to, "- ", text);
	}
	put_line(to, "- stage ", whose_stage(&s->model));
	overview_absent(s, text, sizeof(text));
	put_line(to, "- not recorded: ", text);
	put_line(to, "- file: ", s->path);
}

/* Items of a list of their own: lines of one item would be one paragraph. */
static void put_advice(const struct subject *s, const struct screen *to,
		       const struct advice *a, unsigned number)
{
	char gain[32];

	overview_gain(s, a, gain, sizeof(gain));
	fprintf(to->out, "%u. **", number);
	put_plain(to, a->title);
	fputs("**", to->out);
	if (*gain) {
		fputs(": ", to->out);
		put_plain(to, gain);
		fputs(" of a step, ", to->out);
		put_plain(to, units_time(a->gain));
	}
	putc('\n', to->out);
	put_line(to, "   - ", a->seen);
	put_line(to, "   - ", a->why);
	put_line(to, to->utf8 ? "   - → " : "   - -> ", a->act);
	put_line(to, "   - in ", a->where);
}

static void put_advices(const struct subject *s, const struct screen *to, size_t limit)
{
	const struct advice *a, *before = NULL;
	unsigned i = 0, left = 0;

	for (; (a = overview_advice(s, i)) && i < limit; i++) {
		if (!before || (before->gain > 0) != (a->gain > 0))
			fprintf(to->out, "\n### %s\n\n",
				a->gain > 0 ? "Fix this first" : "Also seen");
		put_advice(s, to, a, i + 1);
		before = a;
	}
	while (overview_advice(s, i + left))
		left++;
	if (left)
		fprintf(to->out, "\n%u more: `--limit %u`\n", left, i + left);
}

static void put_shares(const struct subject *s, const struct screen *to)
{
	double mean = steps_mean(&s->steps);

	fputs("\n| a step | time | of it |\n| --- | ---: | ---: |\n", to->out);
	for (unsigned k = 0; mean > 0 && k < SHARES; k++) {
		double time = steps_mean_share(&s->steps, (enum share)k);

		if (!(time > 0))
			continue;
		fprintf(to->out, "| %s | ", share_names[k]);
		screen_text(to, units_time(units_whole(time)), 20);
		fprintf(to->out, " | %s |\n", units_percent(time / mean));
	}
}

/* ---- the largest operators ---- */

static const struct table_column columns[] = {
	{ "key", "operator, a step", TABLE_TEXT, 0 },
	{ "count", "calls", TABLE_COUNT, 0 },
	{ "self_device", "own GPU time", TABLE_TIME, 0 },
	{ "self_cpu", "own CPU time", TABLE_TIME, 0 },
};

/* Without memory for it the table is left out: it is the last, and the least. */
static void put_operators(const struct subject *s, const struct screen *to)
{
	const struct operators *o = &s->operators;
	struct table t;

	table_begin(&t, columns, 4);
	for (size_t i = 0; i < o->n && t.n < ROWS; i++) {
		struct table_cell *c;

		if (!overview_is_large(s, &o->row[i]) || !(c = table_add(&t)))
			continue;
		c[0].text = texts_get(&s->model.texts, o->row[i].name);
		c[1].n = subject_per_step(s, (int64_t)o->row[i].count);
		if (o->device)
			c[2].n = subject_per_step(s, o->row[i].self_device);
		c[3].n = subject_per_step(s, o->row[i].self_cpu);
	}
	if (t.n) {
		putc('\n', to->out);
		table_markdown(&t, to, TABLE_ALL);
	}
	table_free(&t);
}

void overview_markdown(const struct subject *s, const struct screen *screen, size_t limit)
{
	put_head(s, screen);
	put_advices(s, screen, limit ? limit : ADVICES);
	put_shares(s, screen);
	put_operators(s, screen);
}
