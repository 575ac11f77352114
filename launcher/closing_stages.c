/* SPDX-License-Identifier: Apache-2.0 */
/* What the closing lines say of the user's stages: whose steps ended, or that none did.
 */
#include "config/stages.h"
#include "launcher/closing_words.h"
#include "launcher/say.h"

#include <stdio.h>
#include <string.h>

struct stage_list {
	char text[1024];
	size_t n;
};

static void add_words(struct stage_list *l, const char *join, const char *words)
{
	if (l->n < sizeof(l->text))
		l->n += (size_t)snprintf(l->text + l->n, sizeof(l->text) - l->n, "%s%s",
					 l->n ? join : "", words);
}

bool closing_has_stages(const struct closing *c)
{
	return *c->config->stages || c->config->preset;
}

/* "train 20 steps, validation 12 steps"; the names of those without one. */
static void list_stages(const struct closing *c, struct stage_list *with,
			struct stage_list *without)
{
	struct stages_row row[STAGES_MOST];
	size_t n = stages_of(c->config, row);

	for (size_t i = 0; i < n; i++) {
		uint64_t steps = c->totals->stage[i].steps;

		add_words(steps ? with : without, ", ", row[i].name);
		if (steps)
			add_words(with, " ", say_count(steps, "step"));
	}
}

void closing_stages(const struct closing *c)
{
	struct stage_list with = { 0 }, without = { 0 };

	list_stages(c, &with, &without);
	if (with.n)
		say_note("steps ended of stages: %s%s%s", with.text,
			 without.n ? "; none of " : "", without.text);
}

static bool was_entered(const struct totals *t)
{
	uint64_t visits = 0;

	for (unsigned i = 0; i < STAGES_MOST; i++)
		visits += t->stage[i].visits;
	return visits;
}

void closing_no_stage(const struct closing *c)
{
	struct stage_list with = { 0 }, without = { 0 };

	list_stages(c, &with, &without);
	if (with.n)
		say_warn(
			"nothing was recorded: %s, too few for the schedule of each; a longer run is recorded, or this one with --schedule active=1",
			with.text);
	else if (was_entered(c->totals))
		say_warn(
			"nothing was recorded: stages were entered, but no step of one ended (%s): their markers were not called meanwhile",
			without.text);
	else
		say_warn(
			"nothing was recorded: no stage was entered (%s): no call was seen of the functions that begin them",
			without.text);
}
