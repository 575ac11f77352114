/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `proflaunch ranks`; report/ranks compares, report/view prints. */
#include "launcher/ranks.h"
#include "base/order.h"
#include "launcher/result.h"
#include "launcher/say.h"
#include "launcher/shown.h"
#include "launcher/verb_options.h"
#include "report/choice.h"
#include "report/view/ranks_view.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct request {
	enum view_format format;
	const char *output;
	bool help;
	unsigned places_n;
	char **places;
	struct choice choice;
};

/* The exit status says whether there was a comparison, never how the ranks differ. */
static void print_help(const struct verb_options *o)
{
	printf("usage: proflaunch ranks [options] DIRECTORY|TRACE ...\n"
	       "\n"
	       "Which rank of a distributed program computes longer than the others, and how long they\n"
	       "wait for it: of a directory the newest run's files, one for each rank; or those that are\n"
	       "named. Clocks of different hosts are aligned by the ends of collectives.\n"
	       "\n");
	verb_options_print(o);
	printf("\nExit status: 0, whatever they differ in; 2 when the options are wrong, a file is no\n"
	       "trace, or there is nothing to compare.\n");
}

/* Takes an option; says what is wrong. */
static const char *take_option(void *arg, const char *name, const char *value)
{
	struct request *r = arg;

	if (!strcmp(name, "format")) {
		int i = verb_options_word(view_formats, VIEW_FORMATS, value);

		if (i < 0)
			return "none of table, csv, json, md";
		r->format = (enum view_format)i;
	} else if (!strcmp(name, "window")) {
		if (!verb_options_number(value, 0, INT64_MAX, &r->choice.window))
			return "not a number from 0 on";
	}
	if (!strcmp(name, "stage"))
		r->choice.stage = value;
	if (!strcmp(name, "output"))
		r->output = value;
	if (!strcmp(name, "help"))
		r->help = true;
	return NULL;
}

/* ---- the files ---- */

/* Finds the files of a directory's ranks. */
static bool find_ranks(struct request *r)
{
	char why[3 * PATH_MAX];

	r->choice.ranks = true;
	if (!choice_make(&r->choice, r->places[0], why, sizeof(why))) {
		say_warn("%s", why);
		return false;
	}
	if (*r->choice.line)
		say_note("%s: %zu file%s%s%s of the newest run below it, the first %s",
			 r->places[0], r->choice.windows_n,
			 r->choice.windows_n == 1 ? "" : "s, one for each rank",
			 *r->choice.chosen ? ", in stage " : "", r->choice.chosen,
			 r->choice.windows[0]);
	return true;
}

static int by_file(const void *left, const void *right)
{
	const struct stat *a = left, *b = right;

	return order_of(a->st_dev, b->st_dev) ?: order_of(a->st_ino, b->st_ino);
}

/* One file is no two ranks, whatever links lead to it. A job may have a thousand. */
static bool is_twice(char *const *paths, size_t n)
{
	struct stat *file = calloc(n + 1, sizeof(*file));
	size_t known = 0;
	bool twice = false;

	for (size_t i = 0; file && i < n; i++)
		known += !stat(paths[i], &file[known]);
	if (known)
		qsort(file, known, sizeof(*file), by_file);
	for (size_t i = 1; i < known; i++)
		twice |= !by_file(&file[i - 1], &file[i]);
	free(file);
	if (twice)
		say_warn("one file is there twice: name a file of each rank");
	return twice;
}

/* ---- output ---- */

struct printing {
	enum view_format format;
	const struct ranks *all;
};

/* What is printed is made whole in memory first: shown_print. */
static bool print_ranks(const void *what, const struct screen *to)
{
	const struct printing *p = what;

	return ranks_view_print(p->all, p->format, to);
}

/* Reads all files one after the other: of each only what is compared stays in memory. */
static int compare_files(const struct request *r, char *const *paths, size_t n)
{
	char why[PATH_MAX + 1024];
	struct ranks all;
	int status;

	if (!result_may_go_to(r->output, paths, n) || is_twice(paths, n))
		return 2;
	if (!ranks_read(&all, paths, n, why, sizeof(why))) {
		say_warn("%s", why);
		return 2;
	}
	status = shown_print(r->output, result_most(paths, n), r->format == VIEW_TABLE,
			     print_ranks, &(struct printing){ r->format, &all });
	ranks_free(&all);
	return status;
}

static const struct verb_option ranks_options[] = {
#define OPTION(name, value, text) { name, value, text },
#include "launcher/ranks.def"
#undef OPTION
	{ NULL, NULL, NULL },
};

int ranks_main(char **argv)
{
	struct request r = { .format = VIEW_TABLE,
			     .choice = { .rank = CHOICE_ANY, .window = CHOICE_ANY },
			     .places = argv };
	const struct verb_options o = { "ranks", ranks_options, take_option, &r };
	int status = 2;

	if (!verb_options_read(&o, argv, &r.places_n))
		return 2;
	if (r.help)
		print_help(&o);
	if (r.help)
		return verb_options_printed();
	if (r.places_n > 1 && (r.choice.window != CHOICE_ANY || r.choice.stage))
		say_warn("--%s: chooses below one directory",
			 r.choice.stage ? "stage" : "window");
	else if (r.places_n > 1)
		return compare_files(&r, r.places, r.places_n);
	else if (!r.places_n)
		say_warn("no run: proflaunch ranks DIRECTORY, or a trace of each rank");
	else if (find_ranks(&r))
		status = compare_files(&r, r.choice.windows, r.choice.windows_n);
	choice_free(&r.choice);
	return status;
}
