/* SPDX-License-Identifier: Apache-2.0 */
/* Can the trace be trusted? What it is, what recording cost and lost, what was not
 * recorded and the option that records it. */
#include "report/out.h"
#include "report/units.h"
#include "report/view/rows.h"
#include "report/view/trust.h"
#include "report/whose.h"

#include <stdarg.h>

static const struct table_column columns[] = {
	{ "what", "What", TABLE_TEXT, 0 },
	{ "value", "Value", TABLE_TEXT, 0 },
};

/* Adds a row; texts are kept with the model. False: no memory. */
__attribute__((format(printf, 4, 5))) static bool add_row(struct table *t,
							  struct subject *s,
							  const char *what,
							  const char *format, ...)
{
	struct table_cell *c = table_add(t);
	char text[1024];
	va_list args;
	uint32_t id;

	if (!c)
		return false;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	id = texts_add(&s->model.texts, text, strlen(text));
	c[0].text = what;
	c[1].text = texts_get(&s->model.texts, id);
	return id != TEXT_NONE;
}

static bool add_whose(struct table *t, struct subject *s)
{
	const struct model *m = &s->model;
	const struct whose *w = &m->whose;
	bool fine = add_row(t, s, "file", "%s", s->path);

	if (w->name != TEXT_NONE)
		fine &= add_row(
			t, s, "program", "%s%s%s (pid %lld)",
			texts_get(&m->texts, w->name), w->script == TEXT_NONE ? "" : " ",
			w->script == TEXT_NONE ? "" : texts_get(&m->texts, w->script),
			(long long)w->pid);
	if (w->rank >= 0)
		fine &= add_row(t, s, "rank", "%lld", (long long)w->rank);
	fine &= add_row(t, s, "written by", "%s",
			m->ours ? "proflaunch" : "torch.profiler, or another");
	if (*whose_stage(m))
		fine &= add_row(t, s, "stage", "%s", whose_stage(m));
	if (m->ours)
		fine &= add_row(t, s, "window", "%lld%s", (long long)w->window,
				w->broken_off ? ", the process ended inside it" : "");
	if (w->torch_version != TEXT_NONE)
		fine &= add_row(t, s, "PyTorch", "%s",
				texts_get(&m->texts, w->torch_version));
	return fine;
}

static bool add_sizes(struct table *t, struct subject *s)
{
	const struct model *m = &s->model;
	double overhead = trust_overhead(m);
	bool fine = add_row(t, s, "events", "%s", out_count((int64_t)m->counted));

	fine &= add_row(t, s, "steps", "%s%s", out_count((int64_t)s->steps.n),
			s->steps.marked ? "" : ", as none is marked");
	if (model_window(m) > 0)
		fine &= add_row(t, s, "first to last event", "%s",
				units_time(units_whole(model_window(m))));
	if (overhead >= 0)
		fine &= add_row(t, s, "cost of recording",
				"about %s in the program's threads, %s of that",
				units_time(m->whose.overhead), units_percent(overhead));
	else
		fine &= add_row(t, s, "cost of recording", "the file does not say");
	return fine && add_row(t, s, "records lost", "%s",
			       m->ours ? out_count((int64_t)m->dropped)
				       : "the file does not say");
}

bool rows_trace(struct table *t, struct subject *s)
{
	struct trust trust;
	bool fine;

	trust_make(&trust, s);
	table_begin(t, columns, 2);
	fine = add_whose(t, s) && add_sizes(t, s);
	for (unsigned i = 0; fine && i < trust.doubts; i++)
		fine = add_row(t, s, "doubt", "%s", trust.doubt[i]);
	for (unsigned i = 0; fine && i < trust.absents; i++)
		fine = add_row(t, s, "not recorded", "%s: %s", trust.absent[i].what,
			       trust.absent[i].record);
	for (unsigned i = 0; fine && i < s->advices.silent_n; i++)
		fine = add_row(t, s, "rule not judged", "%s: needs %s",
			       s->advices.silent[i].rule, s->advices.silent[i].record);
	return fine;
}
