/* SPDX-License-Identifier: Apache-2.0 */
/* Did recording itself take so long that times are not the program's? */
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/figures/functions.h"

#include <stdlib.h>

#define MS 1e6

/* The options that were on and cost the most, the dearest first. */
static const char *dear_options(const struct model *m)
{
	bool stacks = functions_have_lines(m);
	char *to = phrase_room();

	snprintf(to, PHRASE, "%s%s%s%s%s", m->heap ? "--malloc " : "",
		 m->whose.python.c_call_ns > 0 ? "--c-calls " : "",
		 stacks ? (m->ours ? "--with-stack " : "with_stack ") : "",
		 m->says_shapes ? (m->ours ? "--record-shapes " : "record_shapes ") : "",
		 m->says_memory ? (m->ours ? "--profile-memory " : "profile_memory ")
				: "");
	if (*to)
		to[strlen(to) - 1] = 0;
	return to;
}

/* What to leave out is named only where such options were on. */
static void say_overhead(const struct model *m, struct advice *a)
{
	const char *dear = dear_options(m);

	ADVICE_SAY(
		a->why,
		"All times here are longer than without recording, those of small operators the "
		"most.");
	if (*dear)
		ADVICE_SAY(a->act, "record again without some of: %s", dear);
	else
		ADVICE_SAY(
			a->act,
			"trust shares of large operators; compare step times with those of a run "
			"that is not recorded");
}

/* Events on the thread that has most of them. */
static bool count_events(const struct facts *f, size_t *most)
{
	size_t *of = calloc(f->m->threads_n + 1, sizeof(*of));

	*most = 0;
	for (size_t i = 0; of && i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];

		if (s->kind == SLICE_DEVICE || s->kind == SLICE_DEVICE_NOTE ||
		    s->begin < f->from || s->begin >= f->to)
			continue;
		if (++of[s->thread] > *most)
			*most = of[s->thread];
	}
	if (!of)
		return false;
	free(of);
	return true;
}

bool recorder_look(struct facts *f, struct advice *a)
{
	const struct model *m = f->m;
	double window = model_window(m);
	double rate;
	size_t most;

	if (m->whose.overhead >= 0) {
		if ((double)m->whose.overhead * 100 <= window * OVERHEAD_PERCENT ||
		    window <= 0)
			return true;
		ADVICE_SAY(a->title, "Recording itself takes long");
		ADVICE_SAY(
			a->seen,
			"about %s in the program's threads, %u %% of the window (an estimate)",
			phrase_time(m->whose.overhead),
			phrase_percent((double)m->whose.overhead, window));
		say_overhead(m, a);
		return true;
	}
	if (m->ours)
		return true;
	if (!count_events(f, &most))
		return false;
	rate = f->to > f->from ? (double)most / ((double)(f->to - f->from) / MS) : 0;
	if (rate <= EVENTS_PER_MS)
		return true;
	ADVICE_SAY(a->title, "Recording itself may take long");
	ADVICE_SAY(a->seen, "%.0f events a ms on one thread", rate);
	say_overhead(m, a);
	return true;
}
