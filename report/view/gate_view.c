/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict's sentence and its reasons, in the words of each reader. */
#include "report/view/gate_view.h"
#include "report/out.h"
#include "report/units.h"

#include <math.h>
#include <string.h>

#define REASONS 3u

const char *const gate_formats[GATE_FORMATS] = { [GATE_TEXT] = "text",
						 [GATE_JSON] = "json",
						 [GATE_JUNIT] = "junit",
						 [GATE_GITHUB] = "github",
						 [GATE_MARKDOWN] = "md" };

static const char *const verdicts[] = { [GATE_FINE] = "fine",
					[GATE_REGRESSION] = "regression",
					[GATE_UNSURE] = "cannot tell" };

/* ---- words ---- */

static bool is_bytes(const struct gate_view *v)
{
	return !strcmp(v->metric, "peak-memory");
}

static const char *value_words(const struct gate_view *v, double value)
{
	int64_t n = units_whole(value);

	return is_bytes(v) ? out_bytes(n) : units_time(n);
}

/* "a step", "GPU work of a step", "the most memory of a step", "aten::mm in a step". */
static void name_metric(const struct gate_view *v, char *to, size_t size)
{
	if (!strcmp(v->metric, "step"))
		snprintf(to, size, "a step");
	else if (!strcmp(v->metric, "gpu"))
		snprintf(to, size, "GPU work of a step");
	else if (is_bytes(v))
		snprintf(to, size, "the most memory in a step");
	else
		snprintf(to, size, "%.100s in a step", v->metric + strlen("ops/"));
	out_plain(to);
}

void gate_view_sentence(const struct gate_view *v, char *to, size_t size)
{
	const struct gate *g = v->gate;
	const char *verdict = verdicts[g->verdict];
	char metric[128], by[32], interval[80], limit[32], steps[96] = "";

	name_metric(v, metric, sizeof(metric));
	difference_percent(g->by, by, sizeof(by));
	difference_interval(&g->shift, interval, sizeof(interval));
	snprintf(limit, sizeof(limit), "%g %%", 100 * v->limit);
	if (g->steps)
		snprintf(steps, sizeof(steps),
			 "; %zu steps or more on each side would tell", g->steps);
	if (g->verdict == GATE_UNSURE && !g->shift.interval)
		snprintf(to, size, "%s: %s%s", verdict, g->why, steps);
	else if (g->verdict == GATE_UNSURE)
		snprintf(to, size, "%s: %s (%s: %s, %s at 95 %%; %s is allowed)%s",
			 verdict, g->why, metric, by, interval, limit, steps);
	else
		snprintf(to, size,
			 "%s: %s is %s, then %s: %s (%s at 95 %%; %s is allowed%s)",
			 verdict, metric, value_words(v, g->shift.a),
			 value_words(v, g->shift.b), by, interval, limit,
			 v->strict ? ", and must be sure" : "");
}

/* ---- reasons ---- */

/* The largest rises, sure ones first: operators and GPU work. Returns how many. */
static unsigned find_reasons(const struct gate_view *v,
			     const struct compare_row *found[REASONS])
{
	const struct compare *c = &v->difference->rows;
	unsigned n = 0;

	for (int sure = 1; sure >= 0; sure--)
		for (size_t i = 0; i < c->n && n < REASONS; i++) {
			const struct compare_row *r = &c->row[i];
			bool work = r->kind == PROFILE_HOST || r->kind == PROFILE_GPU;

			if (work && r->sure == sure && r->shift.by > 0)
				found[n++] = r;
		}
	return n;
}

static void put_reasons(const struct gate_view *v, const char *before, bool code,
			FILE *out)
{
	const struct compare_row *found[REASONS];
	unsigned n = v->gate->verdict == GATE_REGRESSION ? find_reasons(v, found) : 0;

	for (unsigned i = 0; i < n; i++) {
		fprintf(out, "%s%s", before, code ? "`" : "");
		out_text(out, found[i]->name, 120);
		fprintf(out, "%s: %s more a step%s\n", code ? "`" : "",
			units_time(units_whole(found[i]->shift.by)),
			found[i]->sure ? "" : " (may be noise)");
	}
}

/* ---- formats ---- */

static void print_text(const struct gate_view *v, FILE *out)
{
	const struct difference *d = v->difference;
	char text[1024];

	gate_view_sentence(v, text, sizeof(text));
	fprintf(out, "%s\n", text);
	put_reasons(v, "  ", false, out);
	for (unsigned i = 0; i < d->doubts; i++)
		fprintf(out, "note: %s\n", d->doubt[i]);
}

static void print_markdown(const struct gate_view *v, FILE *out)
{
	const struct difference *d = v->difference;
	char text[1024];

	gate_view_sentence(v, text, sizeof(text));
	fprintf(out, "**proflaunch gate**: %s\n\n", text);
	put_reasons(v, "- ", true, out);
	for (unsigned i = 0; i < d->doubts; i++)
		fprintf(out, "- note: %s\n", d->doubt[i]);
}

/* A workflow command of GitHub: one line, with its own escapes. */
static void print_github(const struct gate_view *v, FILE *out)
{
	static const char *const levels[] = { [GATE_FINE] = "notice",
					      [GATE_REGRESSION] = "error",
					      [GATE_UNSURE] = "warning" };
	char text[1024];

	gate_view_sentence(v, text, sizeof(text));
	fprintf(out, "::%s title=proflaunch gate::", levels[v->gate->verdict]);
	for (const char *p = text; *p; p++) {
		if (*p == '%')
			fputs("%25", out);
		else
			putc(*p, out);
	}
	putc('\n', out);
	put_reasons(v, "  ", false, out);
}

static void put_xml(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", out);
		else if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '>')
			fputs("&gt;", out);
		else if (*text == '"')
			fputs("&quot;", out);
		else
			putc((unsigned char)*text < ' ' ? '?' : *text, out);
	}
}

static void print_junit(const struct gate_view *v, FILE *out)
{
	const struct gate *g = v->gate;
	char text[1024];

	gate_view_sentence(v, text, sizeof(text));
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"proflaunch gate\" tests=\"1\" failures=\"%d\" "
		"errors=\"%d\">\n  <testcase classname=\"proflaunch\" name=\"",
		g->verdict == GATE_REGRESSION, g->verdict == GATE_UNSURE);
	put_xml(out, v->metric);
	fputs("\">\n", out);
	if (g->verdict != GATE_FINE) {
		fprintf(out, "    <%s message=\"",
			g->verdict == GATE_REGRESSION ? "failure" : "error");
		put_xml(out, text);
		fputs("\"/>\n", out);
	} else {
		fputs("    <system-out>", out);
		put_xml(out, text);
		fputs("</system-out>\n", out);
	}
	fputs("  </testcase>\n</testsuite>\n", out);
}

/* A value as a number for programs: microseconds, or bytes. */
static void put_value(const struct gate_view *v, FILE *out, double value)
{
	if (!isfinite(value))
		fputs("null", out);
	else if (is_bytes(v))
		fprintf(out, "%.0f", value);
	else
		fputs(units_us(units_whole(value)), out);
}

static void put_json_side(const struct gate_view *v, FILE *out, const char *key,
			  const struct difference_side *side, double median, size_t n)
{
	fprintf(out, ",\n\"%s\": {\"name\": ", key);
	out_json(out, side->name);
	fputs(", \"stage\": ", out);
	out_json_or_null(out, side->profile->stage);
	fprintf(out, ", \"%s\": ", is_bytes(v) ? "median_bytes" : "median_us");
	put_value(v, out, n ? median : NAN);
	fprintf(out, ", \"n\": %zu}", n);
}

static void put_json_part(FILE *out, double part)
{
	if (isfinite(part))
		fprintf(out, "%.4f", 100 * part);
	else
		fputs("null", out);
}

static void put_json_shift(FILE *out, const struct gate *g)
{
	if (!g->shift.a_n) {
		fputs(",\n\"shift\": null", out);
		return;
	}
	fputs(",\n\"shift\": {\"percent\": [", out);
	put_json_part(out, g->shift.interval ? g->low : NAN);
	fputs(", ", out);
	put_json_part(out, g->by);
	fputs(", ", out);
	put_json_part(out, g->shift.interval ? g->high : NAN);
	fprintf(out, "], \"p\": %.6f}", g->shift.p);
}

static void print_json(const struct gate_view *v, FILE *out)
{
	const struct gate *g = v->gate;
	const struct difference *d = v->difference;
	const struct compare_row *found[REASONS];
	unsigned n = g->verdict == GATE_REGRESSION ? find_reasons(v, found) : 0;

	fprintf(out, "{\"schema\": 1, \"verdict\": \"%s\", \"metric\": ",
		verdicts[g->verdict]);
	out_json(out, v->metric);
	fprintf(out,
		", \"max_regression\": %.4f, \"strict\": %s, \"why\": ", 100 * v->limit,
		v->strict ? "true" : "false");
	out_json_or_null(out, g->why);
	if (g->steps)
		fprintf(out, ", \"steps_that_would_tell\": %zu", g->steps);
	put_json_side(v, out, "baseline", &d->a, g->shift.a, g->shift.a_n);
	put_json_side(v, out, "run", &d->b, g->shift.b, g->shift.b_n);
	put_json_shift(out, g);
	fputs(",\n\"reasons\": [", out);
	for (unsigned i = 0; i < n; i++) {
		fputs(i ? ", {\"op\": " : "{\"op\": ", out);
		out_json(out, found[i]->name);
		fprintf(out, ", \"delta_us\": %s, \"sure\": %s}",
			units_us(units_whole(found[i]->shift.by)),
			found[i]->sure ? "true" : "false");
	}
	fputs("],\n\"doubts\": [", out);
	for (unsigned i = 0; i < d->doubts; i++) {
		fputs(i ? ", " : "", out);
		out_json(out, d->doubt[i]);
	}
	fputs("]}\n", out);
}

void gate_view_print(const struct gate_view *v, enum gate_format format, FILE *out)
{
	static void (*const print[GATE_FORMATS])(const struct gate_view *v, FILE *out) = {
		[GATE_TEXT] = print_text,         [GATE_JSON] = print_json,
		[GATE_JUNIT] = print_junit,       [GATE_GITHUB] = print_github,
		[GATE_MARKDOWN] = print_markdown,
	};

	print[format](v, out);
}
