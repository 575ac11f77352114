/* SPDX-License-Identifier: Apache-2.0 */
/* The first screen. Its order is that of a reader in a hurry: can it be trusted, what is
 * the matter, where does the time go, what would help, which operators. */
#include "report/view/overview.h"
#include "report/out.h"
#include "report/units.h"
#include "report/view/trust.h"
#include "report/whose.h"

#include <stdlib.h>
#include <string.h>

#define SMALL     0.02 /* of a step: shares below have no line of their own */
#define MOST      8u /* GPUs with a line of their own */
#define ADVICES   3u
#define OPERATORS 8u
#define WIDE      110u /* columns */

/* ---- the head ---- */

/* A path of a script may be longer than a line. */
static void print_whose(const struct subject *s, const struct screen *to)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	whose_print(&s->model, out);
	if (!fclose(out) && len) {
		text[len - 1] = '\0'; /* the end of its line */
		screen_wrap(to, SCREEN_PLAIN, text, 0, 2);
	}
	free(text);
}

static void print_head(const struct subject *s, const struct screen *to)
{
	char text[512];
	size_t n = s->devices.n < MOST ? s->devices.n : MOST;

	overview_sentence(s, text, sizeof(text));
	screen_wrap(to, SCREEN_BOLD, text, 0, 0);
	overview_steps(s, text, sizeof(text));
	if (n == 1) {
		size_t len = strlen(text);

		snprintf(text + len, sizeof(text) - len, ", ");
		overview_gpu(s, &s->devices.row[0], text + len + 2,
			     sizeof(text) - len - 2);
	}
	screen_wrap(to, SCREEN_PLAIN, text, 0, 2);
	for (size_t i = 0; n > 1 && i < n; i++) {
		overview_gpu(s, &s->devices.row[i], text, sizeof(text));
		screen_wrap(to, SCREEN_PLAIN, text, 0, 2);
	}
	if (s->devices.n > n)
		fprintf(to->out, "and %zu more GPUs: --format json has them\n",
			s->devices.n - n);
	print_whose(s, to);
	putc('\n', to->out);
}

/* ---- where a step goes ---- */

static void print_share(const struct screen *to, const char *name, double time,
			double share)
{
	fputs("  ", to->out);
	screen_left(to, name, 13);
	screen_right(to, units_time(units_whole(time)), 9);
	screen_right(to, units_percent(share), 7);
	fputs("  ", to->out);
	screen_bar(to, share, to->width / 2);
	putc('\n', to->out);
}

/* What the names of TensorBoard's plugin mean, of those that are shown. */
static void print_meanings(const struct screen *to, unsigned shown)
{
	static const char *const meanings[SHARES] = {
		[SHARE_RUNTIME] = "Runtime: in calls of CUDA. ",
		[SHARE_CPU] = "CPU Exec: in operators. ",
		[SHARE_OTHER] =
			"Other: outside of operators, as in Python, files and waits.",
	};
	char text[160] = "";
	size_t n = 0;

	for (unsigned k = 0; k < SHARES; k++)
		if (shown >> k & 1 && meanings[k])
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s",
					      meanings[k]);
	if (!n)
		return;
	fputs("  ", to->out);
	screen_wrap(to, SCREEN_DIM, text, 2, 2);
}

static void print_shares(const struct subject *s, const struct screen *to)
{
	double mean = steps_mean(&s->steps);
	char small[256] = "";
	unsigned shown = 0;
	size_t n = 0;

	for (unsigned k = 0; mean > 0 && k < SHARES; k++) {
		double time = steps_mean_share(&s->steps, (enum share)k);

		shown |= (unsigned)(time >= SMALL * mean) << k;
		if (time >= SMALL * mean)
			print_share(to, share_names[k], time, time / mean);
		else if (time > 0 && n < sizeof(small))
			n += (size_t)snprintf(small + n, sizeof(small) - n, "%s%s %s",
					      n ? ", " : "", share_names[k],
					      units_time(units_whole(time)));
	}
	if (*small) {
		fputs("  ", to->out);
		screen_wrap(to, SCREEN_DIM, small, 2, 2);
	}
	print_meanings(to, shown);
}

/* ---- what to fix ---- */

static void print_line(const struct screen *to, enum screen_look look, const char *mark,
		       const char *text)
{
	if (!*text)
		return;
	fprintf(to->out, "     %s", mark);
	screen_wrap(to, look, text, 5 + screen_columns(to, mark),
		    5 + screen_columns(to, mark));
}

static void print_advice(const struct subject *s, const struct screen *to,
			 const struct advice *a, unsigned number)
{
	size_t width = to->width - 26;
	char gain[32], where[sizeof(a->where) + 8] = "";

	overview_gain(s, a, gain, sizeof(gain));
	fprintf(to->out, "%2u ", number);
	screen_look(to, SCREEN_BOLD);
	if (*gain)
		screen_left(to, a->title, width);
	else
		screen_text(to, a->title, width);
	screen_look(to, SCREEN_PLAIN);
	if (*gain) {
		screen_right(to, gain, 10);
		screen_right(to, units_time(a->gain), 12);
	}
	putc('\n', to->out);
	print_line(to, SCREEN_PLAIN, "", a->seen);
	print_line(to, SCREEN_DIM, "", a->why);
	print_line(to, SCREEN_PLAIN, to->utf8 ? "→ " : "-> ", a->act);
	if (*a->where)
		snprintf(where, sizeof(where), "in %s", a->where);
	print_line(to, SCREEN_PLAIN, "", where);
}

static void print_advice_head(const struct screen *to, bool worth)
{
	putc('\n', to->out);
	screen_look(to, SCREEN_BOLD);
	if (worth)
		screen_left(to, "Fix this first", to->width - 13);
	else
		fputs("Also seen", to->out);
	screen_look(to, SCREEN_PLAIN);
	if (worth)
		screen_right(to, "of a step", 12);
	putc('\n', to->out);
}

static void print_advices(const struct subject *s, const struct screen *to, size_t limit)
{
	const struct advice *a, *before = NULL;
	unsigned i = 0, left = 0;
	bool limits = false;
	char text[128];

	for (; (a = overview_advice(s, i)) && i < limit; i++) {
		if (!before || (before->gain > 0) != (a->gain > 0))
			print_advice_head(to, a->gain > 0);
		print_advice(s, to, a, i + 1);
		limits |= a->gain > 0 && !a->exact;
		before = a;
	}
	while (overview_advice(s, i + left))
		left++;
	if (left)
		fprintf(to->out, "   ... and %u more: --limit %u\n", left, i + left);
	snprintf(text, sizeof(text), "%s%s",
		 limits ? "≤: at most; two of them may count the same time. " : "",
		 i && s->evidence.first ? "Advice leaves the first step out." : "");
	if (*text)
		screen_wrap(to, SCREEN_DIM, text, 0, 0);
}

/* ---- the largest operators ---- */

/* "53"; of what is not in each step "0.3". */
static const char *count_words(double n)
{
	char *out;

	if (n >= 9.95 || n == (double)(int64_t)n)
		return out_count((int64_t)(n + 0.5));
	out = out_buffer();
	snprintf(out, OUT_BUFFER, n < 0.1 ? "<0.1" : "%.1f", n);
	return out;
}

/* Numbers stay beside their name on a wide screen. */
static size_t name_width(const struct screen *to)
{
	return (to->width < WIDE ? to->width : WIDE) - 37;
}

static void print_operator(const struct subject *s, const struct screen *to,
			   const struct operator_figures *f)
{
	fputs("  ", to->out);
	screen_left(to, texts_get(&s->model.texts, f->name), name_width(to));
	screen_right(to, count_words((double)f->count / (double)s->steps.n), 10);
	if (s->operators.device)
		screen_right(to, units_time(subject_per_step(s, f->self_device)), 12);
	screen_right(to, units_time(subject_per_step(s, f->self_cpu)), 12);
	putc('\n', to->out);
}

static void print_operators(const struct subject *s, const struct screen *to)
{
	const struct operators *o = &s->operators;
	unsigned shown = 0;

	for (size_t i = 0; i < o->n && shown < OPERATORS; i++) {
		if (!overview_is_large(s, &o->row[i]))
			continue;
		if (!shown++) {
			putc('\n', to->out);
			screen_look(to, SCREEN_BOLD);
			screen_left(to,
				    o->device
					    ? "Operators, GPU time of their own, per step"
					    : "Operators, time of their own, per step",
				    name_width(to) + 2);
			screen_look(to, SCREEN_PLAIN);
			screen_right(to, "calls", 10);
			if (o->device)
				screen_right(to, "GPU", 12);
			screen_right(to, "host", 12);
			putc('\n', to->out);
		}
		print_operator(s, to, &o->row[i]);
	}
}

static void print_more(const struct subject *s, const struct screen *to)
{
	char text[1024], absent[512];

	overview_absent(s, absent, sizeof(absent));
	putc('\n', to->out);
	if (*absent) {
		snprintf(text, sizeof(text), "not recorded: %s", absent);
		screen_wrap(to, SCREEN_DIM, text, 0, 2);
	}
	if (s->advices.silent_n) {
		snprintf(
			text, sizeof(text),
			"%u rule%s had nothing to look at: --view trace says what to record",
			s->advices.silent_n, s->advices.silent_n == 1 ? "" : "s");
		screen_wrap(to, SCREEN_DIM, text, 0, 2);
	}
	screen_wrap(
		to, SCREEN_DIM,
		"more: --view ops|kernels|steps|memory|trace, --html FILE, --explain RULE",
		0, 2);
}

void overview_print(const struct subject *s, const struct screen *screen, size_t limit)
{
	struct trust trust;

	trust_make(&trust, s);
	trust_print(&trust, screen);
	print_head(s, screen);
	print_shares(s, screen);
	print_advices(s, screen, limit ? limit : ADVICES);
	print_operators(s, screen);
	print_more(s, screen);
}
