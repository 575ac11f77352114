/* SPDX-License-Identifier: Apache-2.0 */
/* One member after the other; each is made and printed where its numbers are known. */
#include "report/page/payload.h"
#include "report/out.h"
#include "report/page/durations.h"
#include "report/page/flames.h"
#include "report/page/spaces.h"
#include "report/units.h"
#include "report/view/document.h"
#include "report/view/overview.h"
#include "report/view/rows.h"
#include "report/view/view.h"

#define LARGEST 6 /* operators of the overview */

/* ---- the timeline ---- */

/* Steps are [number, begin, end, whether the timeline has them]. */
static void put_steps(const struct subject *s, const struct excerpt *excerpt, FILE *out)
{
	int64_t begin = s->model.begin;

	fputs("\"steps\": [", out);
	for (size_t i = 0; i < s->steps.n; i++) {
		const struct step_figures *step = &s->steps.row[i];

		fprintf(out, "%s[%lld,%s,%s,%s]", i ? "," : "", (long long)step->number,
			units_us(step->begin - begin), units_us(step->end - begin),
			!excerpt->step || excerpt->step[i] ? "true" : "false");
	}
	putc(']', out);
}

/* What a thread is called: by the file, or by its number. */
static void put_thread(const struct subject *s, const struct columns_track *t, FILE *out)
{
	const struct thread *thread = &s->model.threads[t->thread];
	char text[256];

	if (t->kind == COLUMNS_DEVICE)
		snprintf(text, sizeof(text), "GPU %lld", (long long)thread->pid);
	else
		snprintf(text, sizeof(text), "process %lld", (long long)thread->pid);
	out_json(out, text);
	putc(',', out);
	if (thread->name == TEXT_NONE) {
		snprintf(text, sizeof(text), "%s %lld",
			 t->kind == COLUMNS_DEVICE ? "stream" : "thread",
			 (long long)thread->tid);
		out_json(out, text);
	} else {
		out_json(out, texts_get(&s->model.texts, thread->name));
	}
}

/* Tracks are [kind, process or GPU, thread or stream, [slices of each lane]]. */
static void put_tracks(const struct subject *s, const struct columns *c, FILE *out)
{
	static const char *const kinds[] = {
		[COLUMNS_DEVICE] = "gpu",
		[COLUMNS_HOST] = "host",
		[COLUMNS_PYTHON] = "python",
	};

	fputs(", \"tracks\": [", out);
	for (size_t i = 0; i < c->tracks_n; i++) {
		const struct columns_track *t = &c->tracks[i];

		fprintf(out, "%s[\"%s\",", i ? ",\n" : "\n", kinds[t->kind]);
		put_thread(s, t, out);
		for (unsigned k = 0; k < t->lanes; k++)
			fprintf(out, "%s%u", k ? "," : ",[", t->lane[k]);
		fputs("]]", out);
	}
	putc(']', out);
}

/* Slices are beside the JSON; here are what tells them apart and what they are called. */
static void put_timeline(const struct subject *s, const struct excerpt *excerpt,
			 const struct columns *c, FILE *out)
{
	fputs(",\n\"timeline\": {", out);
	put_steps(s, excerpt, out);
	put_tracks(s, c, out);
	fputs(",\n\"names\": [", out);
	for (size_t i = 0; i < c->names_n; i++) {
		fputs(i ? ",\n" : "", out);
		out_json(out, texts_get(&s->model.texts, c->names[i]));
	}
	fprintf(out, "],\n\"slices\": %llu, \"all\": %llu, \"steps_kept\": %zu}",
		(unsigned long long)c->slices, (unsigned long long)c->all,
		excerpt->steps);
}

/* ---- tables ---- */

/* Prints a view's rows under a name: `t` is made by now, if `fine`, and freed here. */
static bool put_rows(const struct subject *s, struct table *t, bool fine,
		     const char *name, enum view view, FILE *out)
{
	if (fine) {
		fputs("{\"name\": ", out);
		out_json(out, name);
		fputs(", \"title\": ", out);
		out_json(out, view_title(s, view));
		fputs(", \"empty\": ", out);
		out_json(out, view_empty(view));
		fputs(", ", out);
		table_arrays(t, out, TABLE_ALL);
		putc('}', out);
	}
	table_free(t);
	return fine;
}

/* Operators by name and by shape are rows of one view: what the user asked for gives way
 * meanwhile. */
static bool put_operators(struct subject *s, enum operators_by by, const char *name,
			  FILE *out)
{
	struct operators asked = s->shown;
	struct table t;
	bool fine;

	s->shown = (struct operators){ 0 };
	fine = by == OPERATORS_BY_NAME ||
	       operators_make(&s->shown, &s->model, by, s->from, s->to);
	if (fine) {
		fine = view_rows(VIEW_OPS, &t, s);
		fine = put_rows(s, &t, fine, name, VIEW_OPS, out);
	}
	operators_free(&s->shown);
	s->shown = asked;
	return fine;
}

static bool put_view(struct subject *s, enum view view, FILE *out)
{
	struct table t;
	bool fine;

	if (view == VIEW_OPS)
		return put_operators(s, OPERATORS_BY_NAME, view_names[view], out);
	fine = view_rows(view, &t, s);
	return put_rows(s, &t, fine, view_names[view], view, out);
}

/* Every view that the report has, in its order: the page shows those that it does not
 * know as tables. */
static bool put_views(struct subject *s, FILE *out)
{
	bool fine = true;

	fputs(",\n\"views\": [", out);
	for (unsigned i = 0; fine && i < VIEWS; i++) {
		fputs(i ? ",\n" : "\n", out);
		fine = put_view(s, (enum view)i, out);
	}
	if (fine && s->operators.shapes) {
		fputs(",\n", out);
		fine = put_operators(s, OPERATORS_BY_SHAPE, "shapes", out);
	}
	putc(']', out);
	return fine;
}

/* ---- the whole ---- */

static void put_head(const struct subject *s, const char *title, FILE *out)
{
	char text[512];

	fputs("{\"schema\": 1, \"version\": \"" VERSION "\", \"title\": ", out);
	out_json(out, title);
	overview_steps(s, text, sizeof(text));
	fputs(", \"steps_words\": ", out);
	out_json(out, text);
	/* The order of the screen: rules whose gain is known come first. */
	fputs(", \"advice_order\": [", out);
	for (unsigned i = 0;; i++) {
		const struct advice *a = overview_advice(s, i);

		if (!a)
			break;
		fprintf(out, "%s%td", i ? "," : "", a - s->advices.row);
	}
	/* Rows of "ops": those that belong among the largest. */
	fputs("], \"large\": [", out);
	for (size_t i = 0, n = 0; i < s->operators.n && n < LARGEST; i++)
		if (overview_is_large(s, &s->operators.row[i]))
			fprintf(out, "%s%zu", n++ ? "," : "", i);
	fprintf(out, "], \"judged_step\": %s, \"begin\": %s", units_us(s->evidence.step),
		units_us(s->model.begin));
}

bool payload_print(struct subject *s, const char *title, const struct excerpt *excerpt,
		   const struct columns *columns, FILE *out)
{
	struct document_order none = { NULL, 0 };

	put_head(s, title, out);
	put_timeline(s, excerpt, columns, out);
	fputs(",\n\"report\": ", out);
	if (!document_print(s, &none, out) || !put_views(s, out))
		return false;
	fputs(",\n\"durations\": ", out);
	if (!durations_print(s, out))
		return false;
	fputs(",\n\"flame\": ", out);
	if (!flames_print(s, out))
		return false;
	fputs(",\n\"memory\": ", out);
	if (!spaces_print(s, out))
		return false;
	fputs("}\n", out);
	return true;
}
