/* SPDX-License-Identifier: Apache-2.0 */
/* The members in the order of the screen. */
#include "report/view/document.h"
#include "report/out.h"
#include "report/units.h"
#include "report/view/overview.h"
#include "report/view/trust.h"
#include "report/whose.h"

static void put_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, ", \"%s\": ", key);
	out_json_or_null(out, text);
}

static void put_known(FILE *out, const char *key, bool known, int64_t n)
{
	if (known)
		fprintf(out, ", \"%s\": %lld", key, (long long)n);
	else
		fprintf(out, ", \"%s\": null", key);
}

static const char *text_of(const struct model *m, uint32_t id)
{
	return id == TEXT_NONE ? NULL : texts_get(&m->texts, id);
}

/* ---- whose trace it is, and how far it can be trusted ---- */

static void put_whose(FILE *out, const struct model *m)
{
	const struct whose *w = &m->whose;

	fputs(",\n\"process\": {\"written_by_proflaunch\": ", out);
	fputs(m->ours ? "true" : "false", out);
	put_text(out, "name", text_of(m, w->name));
	put_text(out, "script", text_of(m, w->script));
	put_known(out, "pid", w->name != TEXT_NONE, w->pid);
	put_known(out, "rank", w->rank >= 0, w->rank);
	put_text(out, "stage", whose_stage(m));
	put_known(out, "window", m->ours, w->window);
	put_text(out, "torch", text_of(m, w->torch_version));
	fputs("}", out);
}

static void put_recording(FILE *out, const struct subject *s)
{
	const struct model *m = &s->model;
	struct trust t;

	trust_make(&t, s);
	fprintf(out, ",\n\"recording\": {\"events\": %llu, \"unread\": %llu",
		(unsigned long long)m->events, (unsigned long long)m->unread);
	fputs(", ", out);
	damage_json(&m->damage, out);
	put_known(out, "lost", m->ours, (int64_t)m->dropped);
	put_known(out, "missing", m->ours, (int64_t)model_missing(m, m->dropped));
	fprintf(out, ", \"complete\": %s, \"steps_left_out\": %zu, \"window\": %s",
		m->whose.broken_off || damage_is(&m->damage) ? "false" : "true",
		s->steps.left_out,
		model_window(m) > 0 ? units_us(units_whole(model_window(m))) : "null");
	fprintf(out, ", \"overhead\": %s, \"doubts\": [",
		m->whose.overhead >= 0 ? units_us(m->whose.overhead) : "null");
	for (unsigned i = 0; i < t.doubts; i++) {
		fputs(i ? ", " : "", out);
		out_json(out, t.doubt[i]);
	}
	fputs("], \"not_recorded\": [", out);
	for (unsigned i = 0; i < t.absents; i++) {
		fputs(i ? ", {\"what\": " : "{\"what\": ", out);
		out_json(out, t.absent[i].what);
		put_text(out, "record", t.absent[i].record);
		putc('}', out);
	}
	fputs("]}", out);
}

/* ---- steps ---- */

static void put_steps(FILE *out, const struct subject *s)
{
	const struct steps *steps = &s->steps;

	fprintf(out,
		",\n\"steps_marked\": %s, \"step_median\": %s, \"step_mean\": %s, "
		"\"step_deviation\": %s,\n\"steps\": [",
		steps->marked ? "true" : "false", units_us(steps_median(steps)),
		units_us(units_whole(steps_mean(steps))), units_us(subject_deviation(s)));
	for (size_t i = 0; i < steps->n; i++) {
		const struct step_figures *step = &steps->row[i];

		fprintf(out, "%s\n{\"name\": ", i ? "," : "");
		if (steps->marked)
			fprintf(out, "\"ProfilerStep#%lld\", \"number\": %lld",
				(long long)step->number, (long long)step->number);
		else
			fputs("null, \"number\": null", out);
		fprintf(out, ", \"duration\": %s, \"categories\": {",
			units_us(step->end - step->begin));
		for (unsigned k = 0; k < SHARES; k++)
			fprintf(out, "%s\"%s\": %s", k ? ", " : "", share_names[k],
				units_us(step->share[k]));
		fputs("}}", out);
	}
	fputs("]", out);
}

/* ---- advice ---- */

static void put_advices(FILE *out, const struct subject *s)
{
	const struct advices *all = &s->advices;

	fputs(",\n\"advice\": [", out);
	for (unsigned i = 0; i < all->n; i++) {
		const struct advice *a = &all->row[i];

		fprintf(out, "%s\n{\"rule\": ", i ? "," : "");
		out_json(out, a->rule);
		put_text(out, "title", a->title);
		fprintf(out, ", \"gain\": %s", a->gain > 0 ? units_us(a->gain) : "null");
		if (a->gain > 0 && s->evidence.step > 0)
			fprintf(out, ", \"gain_share\": %.6f",
				(double)a->gain / (double)s->evidence.step);
		else
			fputs(", \"gain_share\": null", out);
		put_text(out, "sure", a->exact ? "exact" : "at most");
		fprintf(out, ", \"consequence\": %s", a->consequence ? "true" : "false");
		put_text(out, "seen", a->seen);
		put_text(out, "why", a->why);
		put_text(out, "do", a->act);
		put_text(out, "where", a->where);
		putc('}', out);
	}
	fputs("],\n\"silent\": [", out);
	for (unsigned i = 0; i < all->silent_n; i++) {
		fputs(i ? ", {\"rule\": " : "{\"rule\": ", out);
		out_json(out, all->silent[i].rule);
		put_text(out, "record", all->silent[i].record);
		putc('}', out);
	}
	fputs("]", out);
}

/* ---- tables ---- */

static bool put_table(FILE *out, struct subject *s, const char *key,
		      bool (*rows)(struct table *t, struct subject *s), const char *sort,
		      size_t limit)
{
	struct table t;
	bool fine = rows(&t, s);
	int column = fine && sort ? table_column(&t, sort) : -1;

	if (column >= 0)
		fine = table_sort(&t, (unsigned)column);
	if (fine) {
		fprintf(out, ",\n\"%s\": ", key);
		table_json(&t, out, limit);
	}
	table_free(&t);
	return fine;
}

bool document_print(struct subject *s, const struct document_order *order, FILE *out)
{
	char sentence[256];
	bool fine;

	overview_sentence(s, sentence, sizeof(sentence));
	fputs("{\"schema\": 1", out);
	put_text(out, "file", s->path);
	put_text(out, "sentence", sentence);
	put_whose(out, &s->model);
	put_recording(out, s);
	put_steps(out, s);
	put_advices(out, s);
	fine = put_table(out, s, "devices", rows_devices, NULL, TABLE_ALL) &&
	       put_table(out, s, "operators", rows_operators, order->sort,
			 order->limit) &&
	       put_table(out, s, "kernels", rows_kernels, NULL, order->limit) &&
	       put_table(out, s, "modules", rows_modules, NULL, TABLE_ALL) &&
	       put_table(out, s, "python", rows_python, NULL, order->limit) &&
	       put_table(out, s, "workers", rows_workers, NULL, TABLE_ALL) &&
	       put_table(out, s, "distributed", rows_distributed, NULL, TABLE_ALL) &&
	       put_table(out, s, "collectives", rows_collectives, NULL, TABLE_ALL) &&
	       put_table(out, s, "threads", rows_threads, NULL, TABLE_ALL) &&
	       put_table(out, s, "memory", rows_memory, NULL, TABLE_ALL);
	fputs("}\n", out);
	return fine;
}
