/* SPDX-License-Identifier: Apache-2.0 */
/* A number that is wrong is worse than none: what was lost is said before what is left is
 * judged. */
#include "report/view/trust.h"
#include "report/figures/functions.h"
#include "report/out.h"
#include "report/units.h"
#include "report/whose.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define OVERHEAD_MOST 0.1 /* of the window */

__attribute__((format(printf, 2, 3))) static void add_doubt(struct trust *t,
							    const char *format, ...)
{
	va_list args;

	if (t->doubts == sizeof(t->doubt) / sizeof(*t->doubt))
		return;
	va_start(args, format);
	vsnprintf(t->doubt[t->doubts++], sizeof(*t->doubt), format, args);
	va_end(args);
}

/* The lines with which other reports begin, too. */
static void add_missing(struct trust *t, const struct model *m)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return;
	whose_print_missing(m, out);
	if (!fclose(out))
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			add_doubt(t, "%s", line);
	free(text);
}

double trust_overhead(const struct model *m)
{
	double window = model_window(m);

	if (m->whose.overhead < 0 || !(window > 0))
		return -1;
	return (double)m->whose.overhead / window;
}

bool trust_says(const struct subject *s, const struct advice *a)
{
	return !strcmp(a->rule, "overhead") && trust_overhead(&s->model) > OVERHEAD_MOST;
}

/* The rule knows which options cost it. */
static const char *less_overhead(const struct subject *s)
{
	for (unsigned i = 0; i < s->advices.n; i++)
		if (trust_says(s, &s->advices.row[i]))
			return s->advices.row[i].act;
	return "record fewer details";
}

static void add_absent(struct trust *t, bool absent, const char *what, const char *record)
{
	if (!absent || t->absents == sizeof(t->absent) / sizeof(*t->absent))
		return;
	t->absent[t->absents].what = what;
	t->absent[t->absents++].record = record;
}

/* Options of proflaunch, or torch.profiler's where torch wrote the file. */
static void find_absent(struct trust *t, const struct subject *s)
{
	const struct model *m = &s->model;
	bool ours = m->ours;

	add_absent(t, !s->steps.marked, "steps",
		   ours ? "--marker" : "torch.profiler's schedule, and its step()");
	add_absent(t, !s->operators.shapes, "input shapes",
		   ours ? "--record-shapes" : "record_shapes=True");
	add_absent(t, !m->memory_n, "tensor memory",
		   ours ? "--profile-memory on" : "profile_memory=True");
	add_absent(t, !functions_have_lines(m), "lines of Python",
		   m->whose.no_room ? "there was no room: a larger --buffer-mb"
		   : ours           ? "--with-stack"
				    : "with_stack=True");
}

void trust_make(struct trust *t, const struct subject *s)
{
	const struct model *m = &s->model;
	double overhead = trust_overhead(m);

	*t = (struct trust){ 0 };
	add_missing(t, m);
	if (m->unread)
		add_doubt(t,
			  "%s event%s could not be used: no time or length that makes "
			  "sense, or a begin and an end apart",
			  out_count((int64_t)m->unread), m->unread == 1 ? "" : "s");
	if (m->whose.broken_off)
		add_doubt(t, "INCOMPLETE: the process ended inside this window: what it "
			     "was doing then may be cut short, and later steps are not "
			     "there");
	if (s->steps.left_out)
		add_doubt(t, "%s step%s at the end %s not whole and left out",
			  out_count((int64_t)s->steps.left_out),
			  s->steps.left_out == 1 ? "" : "s",
			  s->steps.left_out == 1 ? "is" : "are");
	if (overhead > OVERHEAD_MOST)
		add_doubt(
			t,
			"OVERHEAD: recording took an estimated %s of this window: short "
			"operators look longer than they are; %s",
			units_percent(overhead), less_overhead(s));
	find_absent(t, s);
}

void trust_print(const struct trust *t, const struct screen *to)
{
	for (unsigned i = 0; i < t->doubts; i++) {
		screen_wrap(to, SCREEN_WARN, t->doubt[i], 0, 2);
	}
	if (t->doubts)
		putc('\n', to->out);
}
