/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `proflaunch diff`; report/compare finds, report/view prints. */
#include "launcher/diff.h"
#include "launcher/new_file.h"
#include "launcher/say.h"
#include "launcher/shown.h"
#include "launcher/side.h"
#include "launcher/verb_options.h"
#include "report/view/difference_view.h"

#include <string.h>

struct request {
	enum view_format format;
	size_t limit;
	int64_t rank;
	char **places;
	unsigned places_n;
	const char *output;
	bool help;
};

static void print_help(const struct verb_options *o)
{
	printf("usage: proflaunch diff [options] A B\n"
	       "\n"
	       "What takes longer in run B than in run A, by step, operator, kernel and memory, and\n"
	       "whether that is more than steps vary by themselves. A and B are trace files, or\n"
	       "directories: the newest run below each, all windows of one process.\n"
	       "\n");
	verb_options_print(o);
	printf("\nExit status: 0, whatever the difference is (proflaunch gate judges it); 2 when the\n"
	       "options are wrong, a file is no trace, or there is nothing to compare.\n");
}

static const struct verb_option diff_options[] = {
#define OPTION(name, value, text) { name, value, text },
#include "launcher/diff.def"
#undef OPTION
	{ NULL, NULL, NULL },
};

static const char *take_option(void *arg, const char *name, const char *value)
{
	struct request *r = arg;
	int64_t n = 0;

	if (!strcmp(name, "format")) {
		int i = verb_options_word(view_formats, VIEW_FORMATS, value);

		r->format = (enum view_format)i;
		return i < 0 ? "none of table, csv, json, md" : NULL;
	}
	if (!strcmp(name, "rank"))
		return verb_options_number(value, 0, INT64_MAX, &r->rank)
			       ? NULL
			       : "not a number from 0 on";
	if (!strcmp(name, "limit")) {
		if (!verb_options_number(value, 1, INT32_MAX, &n))
			return "not a number from 1 on";
		r->limit = (size_t)n;
	} else if (!strcmp(name, "output")) {
		r->output = value;
	} else {
		r->help = true;
	}
	return NULL;
}

struct printing {
	const struct request *r;
	const struct difference *d;
};

static bool print_difference(const void *what, const struct screen *to)
{
	const struct printing *p = what;

	return difference_view_print(p->d, p->r->format, p->r->limit, to);
}

static int compare_sides(const struct request *r, const struct side *a,
			 const struct side *b)
{
	const struct difference_side left = side_named(a), right = side_named(b);
	struct difference d;
	int status;

	if (!a->profile.steps_n || !b->profile.steps_n) {
		say_warn("%s: it has nothing to compare",
			 a->profile.steps_n ? b->place : a->place);
		return 2;
	}
	if (!difference_make(&d, &left, &right)) {
		say_warn("not enough memory");
		return 2;
	}
	status = shown_print(r->output, r->format == VIEW_TABLE, print_difference,
			     &(struct printing){ r, &d });
	difference_free(&d);
	return status;
}

static int diff_sides(const struct request *r)
{
	static struct side a, b;
	int status = 2;

	if (r->output && (new_file_is(r->output, r->places[0]) ||
			  new_file_is(r->output, r->places[1]))) {
		say_warn("%s: is one of the traces: name another file", r->output);
		return 2;
	}
	if (side_read(&a, r->places[0], r->rank) && side_read(&b, r->places[1], r->rank))
		status = compare_sides(r, &a, &b);
	side_free(&a);
	side_free(&b);
	return status;
}

int diff_main(char **argv)
{
	struct request r = { .format = VIEW_TABLE, .rank = CHOICE_ANY, .places = argv };
	const struct verb_options o = { "diff", diff_options, take_option, &r };

	if (!verb_options_read(&o, argv, &r.places_n))
		return 2;
	if (!r.help && r.places_n == 2)
		return diff_sides(&r);
	if (!r.help) {
		say_warn(
			"two runs are compared: proflaunch diff A B, each a trace or a "
			"directory (to record the program diff: proflaunch -- diff ...)");
		return 2;
	}
	print_help(&o);
	return verb_options_printed();
}
