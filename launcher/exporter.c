/* SPDX-License-Identifier: Apache-2.0 */
/* Each format has its own beginning, trace and end; what goes wrong is said here. */
#include "launcher/exporter.h"
#include "launcher/say.h"
#include "report/export/event_lines.h"

/* Says what a trace lacks, in one line: the values, or else the stacks. */
static void say_missing(const struct exporter *x, const struct export_found *found,
			const char *path)
{
	bool lines = found->seen || x->format == EXPORT_STACKS;

	if (lines && !found->stacks)
		say_warn("%s: it has no stacks of Python%s: record with proflaunch "
			 "--with-stack, or torch.profiler(with_stack=True)",
			 path, found->values ? "; there are operators alone" : "");
	else if (found->values)
		return;
	else if (found->seen)
		say_warn("%s: there is nothing to export: %s", path,
			 x->by == EXPORT_LIVE ? "nothing is live at the window's end"
					      : "all values are 0");
	else if (x->by == EXPORT_CPU)
		say_warn("%s: it has no operators", path);
	else if (x->by == EXPORT_CUDA)
		say_warn(
			"%s: it has no GPU part: record where there is a GPU; proflaunch "
			"doctor says whether it would be recorded",
			path);
	else
		say_warn("%s: it has no memory events: record with proflaunch "
			 "--profile-memory on, or torch.profiler(profile_memory=True); "
			 "the C heap: proflaunch --malloc all",
			 path);
}

/* A database has a path in place of a stream: SQLite opens it itself. */
bool exporter_begin(struct exporter *x, FILE *out, const char *path)
{
	struct subject_options o = { .first = x->cut.first, .last = x->cut.last };
	char why[1024];

	x->out = out;
	if (exporter_is_stacks(x))
		export_begin(&x->stacks, (enum export_format)x->format, x->by, out);
	else if (x->format == EXPORTER_CHROME)
		chrome_begin(&x->chrome, &x->cut, x->several, out);
	else if (x->format == EXPORTER_CSV || x->format == EXPORTER_MD)
		sheet_begin(&x->sheet, x->view, &o);
	x->pstats.options = &x->cut;
	if (x->format != EXPORTER_SQLITE ||
	    database_open(&x->database, path, why, sizeof(why)))
		return true;
	say_warn("%s", why);
	database_close(&x->database);
	return false;
}

/* ---- a trace ---- */

/* What is whole of a broken file is worth having: a line says that it is not all. */
static void say_damage(const struct damage *d, const char *path)
{
	char words[256];

	if (!damage_is(d))
		return;
	damage_words(d, words, sizeof(words));
	say_warn("%s: %s", path, words);
}

/* What is missing is said of each trace by itself: another one may have it. */
static bool add_stacks(struct exporter *x, const char *path, bool *any, char *why,
		       size_t size)
{
	struct export_found found;

	if (!export_add(&x->stacks, path, &found, why, size))
		return false;
	say_damage(&found.damage, path);
	say_missing(x, &found, path);
	*any = found.values;
	return true;
}

/* A file that just ends is no failure: its whole events make a valid one. Behind any
 * other error there may be more events, which are not exported: that is one. */
static bool add_chrome(struct exporter *x, const char *path, bool *any, char *why,
		       size_t size)
{
	const struct rewrite *w = &x->chrome.rewrite;

	*any = chrome_add(&x->chrome, path, why, size);
	if (*any && w->adrift)
		say_warn("%s: it lies at its own times, not where it was beside the "
			 "others: it or the first one is a pipe (save it as a file "
			 "first), or does not say when it began",
			 path);
	if (!*any || !w->broken)
		return *any;
	if (!w->listed) {
		*any = false;
		snprintf(why, size,
			 "%s: %s at byte %llu: nothing that is wanted is before it", path,
			 w->broken, (unsigned long long)w->broken_at);
		return false;
	}
	snprintf(why, size, "%s: %s at byte %llu: what is whole before it is exported",
		 path, w->broken, (unsigned long long)w->broken_at);
	if (!damage_is_cut(w->broken))
		return false;
	say_warn("%s", why);
	return true;
}

/* A trace without rows is no fault among others that have some. */
static bool add_rows(struct exporter *x, const char *path, bool *any, char *why,
		     size_t size)
{
	if (!sheet_add(&x->sheet, path, any, why, size))
		return false;
	say_damage(&x->sheet.damage, path);
	if (!*any)
		say_warn("%s", why);
	return true;
}

/* Adds a trace's slices and memory events, as rows of a database or as lines. */
static bool add_events(struct exporter *x, const char *path, bool *any, char *why,
		       size_t size)
{
	struct joined j;
	bool fine;

	if (!joined_make(&j, path, why, size))
		return false;
	say_damage(&j.model.damage, path);
	*any = j.model.slices_n || j.model.memory_n;
	if (!*any)
		say_warn("%s: there is nothing to export: it has neither slices nor "
			 "memory events",
			 path);
	if (x->format == EXPORTER_SQLITE) {
		fine = database_rows_add(&x->database, &j, why, size);
	} else {
		fine = event_lines_write(&j, x->out);
		if (!fine)
			snprintf(why, size, "%s: not enough memory", path);
	}
	joined_free(&j);
	return fine;
}

/* Adds a trace's functions of Python. Its threads may have none. */
static bool add_functions(struct exporter *x, const char *path, bool *any, char *why,
			  size_t size)
{
	struct pstats_found found;

	if (!pstats_add(&x->pstats, path, &found, why, size))
		return false;
	say_damage(&found.damage, path);
	*any = found.any;
	if (!found.functions)
		say_warn("%s: it has no functions of Python: record with proflaunch "
			 "--with-stack=full, or torch.profiler(with_stack=True)",
			 path);
	else if (!found.any)
		say_warn("%s: there is nothing to export: no function of Python ran on "
			 "these threads",
			 path);
	return true;
}

/* The reason is written by whoever failed, and said once, here. */
bool exporter_add(struct exporter *x, const char *path, bool *any)
{
	char why[2048];
	bool fine;

	*any = false;
	if (exporter_is_stacks(x))
		fine = add_stacks(x, path, any, why, sizeof(why));
	else if (x->format == EXPORTER_CHROME)
		fine = add_chrome(x, path, any, why, sizeof(why));
	else if (x->format == EXPORTER_SQLITE || x->format == EXPORTER_EVENTS)
		fine = add_events(x, path, any, why, sizeof(why));
	else if (x->format == EXPORTER_PSTATS)
		fine = add_functions(x, path, any, why, sizeof(why));
	else
		fine = add_rows(x, path, any, why, sizeof(why));
	if (!fine)
		say_warn("%s", why);
	return fine;
}

/* ---- the end ---- */

/* A file has all rows of the table: it is as long as it needs to be. */
static void end_table(struct exporter *x)
{
	struct screen to;

	screen_begin(&to, x->out, -1);
	if (x->format == EXPORTER_CSV)
		table_csv(&x->sheet.table, x->out, TABLE_ALL);
	else
		table_markdown(&x->sheet.table, &to, TABLE_ALL);
}

/* All is freed, whether a trace was exported or not. */
bool exporter_end(struct exporter *x, bool any)
{
	char why[1024] = "not enough memory";
	bool fine = true;

	if (exporter_is_stacks(x)) {
		fine = export_end(&x->stacks, any);
	} else if (x->format == EXPORTER_CHROME) {
		fine = chrome_end(&x->chrome) || !any;
	} else if (x->format == EXPORTER_SQLITE) {
		fine = !any || database_finish(&x->database, why, sizeof(why));
		database_close(&x->database);
	} else if (x->format == EXPORTER_PSTATS) {
		fine = pstats_end(&x->pstats, x->out);
	} else if (x->format != EXPORTER_EVENTS) {
		if (any)
			end_table(x);
		sheet_free(&x->sheet);
	}
	if (!fine)
		say_warn("%s", why);
	return fine;
}
