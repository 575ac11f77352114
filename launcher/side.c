/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and reads the files of a side. */
#include "launcher/side.h"
#include "launcher/result.h"
#include "launcher/say.h"
#include "report/memory/processes.h"

static bool read_files(struct side *s)
{
	const struct choice *c = &s->choice;
	char why[PATH_MAX + 1024];

	for (size_t i = 0; i < c->windows_n; i++) {
		if (processes_is(c->windows[i])) {
			say_warn("%s: its rows are whole processes: there are no steps "
				 "to compare",
				 c->windows[i]);
			return false;
		}
		if (!profile_add(&s->profile, c->windows[i], why, sizeof(why))) {
			say_warn("%s", why);
			return false;
		}
	}
	return true;
}

bool side_read(struct side *s, const char *place, int64_t rank, const char *stage)
{
	char why[3 * PATH_MAX];

	*s = (struct side){ .place = place };
	s->choice.rank = rank;
	s->choice.stage = stage;
	s->choice.window = CHOICE_ANY;
	s->choice.all = true;
	profile_start(&s->profile);
	if (!choice_make(&s->choice, place, why, sizeof(why))) {
		say_warn("%s", why);
		return false;
	}
	if (*s->choice.line)
		say_note(
			"%s: %zu window%s of one process%s%s of the newest run below it, "
			"the last %s",
			place, s->choice.windows_n, s->choice.windows_n == 1 ? "" : "s",
			*s->choice.chosen ? ", in stage " : "", s->choice.chosen,
			s->choice.path);
	return read_files(s);
}

void side_free(struct side *s)
{
	choice_free(&s->choice);
	profile_free(&s->profile);
}

struct difference_side side_named(const struct side *s)
{
	return (struct difference_side){ s->place, &s->profile };
}

/* A directory's windows are of one recording: the last one's do for all. */
mode_t side_most(const struct side *a, const struct side *b)
{
	return result_most((char *[]){ (char *)a->choice.path, (char *)b->choice.path },
			   2);
}
