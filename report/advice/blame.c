/* SPDX-License-Identifier: Apache-2.0 */
/* Sums time by place, so that advice names the one that matters. */
#include "report/advice/blame.h"
#include "report/advice/phrase.h"

#include <stdio.h>
#include <stdlib.h>

bool blame_start(struct blame *b, const struct facts *f)
{
	size_t n = f->m->texts.n + 1;

	*b = (struct blame){ .f = f,
			     .time = calloc(n, sizeof(*b->time)),
			     .first = calloc(n, sizeof(*b->first)),
			     .most = TEXT_NONE };
	if (b->time && b->first)
		return true;
	blame_free(b);
	return false;
}

void blame_free(struct blame *b)
{
	free(b->time);
	free(b->first);
	*b = (struct blame){ .most = TEXT_NONE };
}

void blame_add(struct blame *b, uint32_t slice, int64_t time)
{
	uint32_t key = phrase_key(b->f, slice);

	if (key >= b->f->m->texts.n)
		return;
	/* Calls that cost nothing have places, too. */
	time = time > 0 ? time : 1;
	if (!b->time[key])
		b->first[key] = slice;
	facts_add(&b->time[key], time);
	facts_add(&b->all, time);
	if (b->most == TEXT_NONE || b->time[key] > b->time[b->most])
		b->most = key;
}

bool blame_is_most(const struct blame *b)
{
	return b->most != TEXT_NONE && b->time[b->most] > b->all / 2;
}

const char *blame_place(const struct blame *b)
{
	const char *place;
	unsigned share;
	char *to;

	if (b->most == TEXT_NONE)
		return "";
	place = phrase_place(b->f, b->first[b->most]);
	share = phrase_percent((double)b->time[b->most], (double)b->all);
	if (!*place || share >= 100)
		return place;
	to = phrase_room();
	snprintf(to, PHRASE, "%s (%u %% of it)", place, share);
	return to;
}
