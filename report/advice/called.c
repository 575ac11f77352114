/* SPDX-License-Identifier: Apache-2.0 */
/* Each function has its time, and takes it from the one that called it. */
#include "report/advice/called.h"
#include "base/frame_text.h"
#include "report/advice/phrase.h"
#include "report/lines.h"

#include <stdlib.h>

static bool is_function(const struct facts *f, uint32_t i)
{
	return f->m->slices[i].kind == SLICE_PYTHON &&
	       !text_starts_with(slice_name(f->m, i), "nn.Module: ");
}

/* NO_ROW: no function is around it. */
static uint32_t caller_of(const struct facts *f, uint32_t i)
{
	uint32_t at = f->m->slices[i].parent;

	for (unsigned n = 0; at != NO_ROW && n < FACTS_DEPTH; n++) {
		if (is_function(f, at))
			return at;
		at = f->m->slices[at].parent;
	}
	return NO_ROW;
}

static int64_t length_of(const struct spans *s)
{
	int64_t all = 0;

	for (size_t i = 0; i < s->n; i++)
		facts_add(&all, s->row[i].end - s->row[i].begin);
	return all;
}

static const char *called_from(const struct facts *f, uint32_t i)
{
	const char *name = slice_name(f->m, i);

	for (unsigned n = 0; i != NO_ROW && n < FACTS_DEPTH; n++, i = caller_of(f, i)) {
		name = slice_name(f->m, i);
		if (frame_place(name, strlen(name)) && line_is_own(name))
			break;
	}
	return name;
}

/* The first call of a function on the thread. */
static uint32_t first_of(const struct facts *f, uint32_t name, uint32_t thread)
{
	uint32_t i = 0;

	while (f->m->slices[i].name != name || f->m->slices[i].thread != thread ||
	       !is_function(f, i))
		i++;
	return i;
}

bool called_most(const struct facts *f, const struct spans *s, uint32_t slice,
		 struct called *found)
{
	const struct slice *slices = f->m->slices;
	int64_t *time = calloc(f->m->texts.n + 1, sizeof(*time)), within;
	uint32_t most = TEXT_NONE, caller;

	*found = (struct called){ NULL, 0 };
	for (uint32_t i = 0; time && i < f->m->slices_n; i++) {
		if (slices[i].thread != slices[slice].thread || !is_function(f, i))
			continue;
		within = spans_within(s, slices[i].begin, slices[i].end);
		facts_add(&time[slices[i].name], within);
		caller = caller_of(f, i);
		if (caller != NO_ROW)
			facts_add(&time[slices[caller].name], -within);
	}
	for (uint32_t i = 0; time && i < f->m->texts.n; i++)
		if (time[i] > 0 && (most == TEXT_NONE || time[i] > time[most]))
			most = i;
	if (most != TEXT_NONE) {
		found->name = texts_get(&f->m->texts, most);
		found->from = called_from(f, first_of(f, most, slices[slice].thread));
		found->percent = phrase_percent((double)time[most], (double)length_of(s));
	}
	if (!time)
		return false;
	free(time);
	return true;
}
