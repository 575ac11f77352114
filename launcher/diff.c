/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `proflaunch diff`; report/compare finds, report/view prints. */
#include "launcher/diff.h"
#include "launcher/new_file.h"
#include "launcher/page_file.h"
#include "launcher/result.h"
#include "launcher/say.h"
#include "launcher/shown.h"
#include "launcher/side.h"
#include "launcher/verb_options.h"
#include "report/page/page.h"
#include "report/view/difference_view.h"

#include <string.h>

struct request {
	enum view_format format;
	size_t limit;
	int64_t rank;
	const char *stage; /* NULL = the first one */
	char **places;
	unsigned places_n;
	const char *output, *html;
	int64_t html_limit; /* slices of each timeline in the page */
	bool help, open;
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
	} else if (!strcmp(name, "html-limit")) {
		return verb_options_number(value, 1, INT32_MAX, &r->html_limit)
			       ? NULL
			       : "not a number from 1 on";
	} else if (!strcmp(name, "stage")) {
		r->stage = value;
	} else if (!strcmp(name, "output")) {
		r->output = value;
	} else if (!strcmp(name, "html")) {
		r->html = value;
	} else if (!strcmp(name, "open")) {
		r->open = true;
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

/* ---- the page ---- */

struct pages {
	const struct request *r;
	const struct difference *d;
	const struct side *side[2];
	char why[PATH_MAX + 1024]; /* a trace that could not be read again */
};

/* The run of a side is its last window: it is read again, with all that a page has. */
static const char *fill_side(FILE *out, struct pages *p, const struct side *side,
			     char letter)
{
	static struct subject s; /* its parts point at one another */
	const struct subject_options all = { .first = INT64_MIN, .last = INT64_MAX };
	const char *path = side->choice.path;
	char title[PATH_MAX];
	bool fine;

	if (!subject_make(&s, path, &all, p->why, sizeof(p->why)))
		return p->why;
	snprintf(title, sizeof(title), "%c: %s", letter, page_file_title(path));
	fine = page_run(out, &s, title, (size_t)p->r->html_limit);
	subject_free(&s);
	return fine ? NULL : PAGE_FILE_NO_MEMORY;
}

/* One side after the other: so a page needs the memory of one trace. */
static const char *fill_page(FILE *out, void *arg)
{
	struct pages *p = arg;
	const char *wrong = NULL;

	page_begin(out);
	if (!page_difference(out, p->d))
		return PAGE_FILE_NO_MEMORY;
	for (unsigned i = 0; i < 2 && !wrong; i++)
		wrong = fill_side(out, p, p->side[i], (char)('A' + i));
	page_end(out);
	return wrong;
}

static int write_page(const struct request *r, const struct difference *d,
		      const struct side *a, const struct side *b)
{
	struct pages p = { .r = r, .d = d, .side = { a, b } };
	bool fine = page_file_write(r->html, side_most(a, b), fill_page, &p);

	if (fine && r->open)
		page_file_show(r->html);
	return fine ? 0 : 2;
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
	status =
		r->html ? write_page(r, &d, a, b)
			: shown_print(r->output, side_most(a, b), r->format == VIEW_TABLE,
				      print_difference, &(struct printing){ r, &d });
	difference_free(&d);
	return status;
}

static int diff_sides(const struct request *r)
{
	static struct side a, b;
	const char *output = r->html ? r->html : r->output;
	int status = 2;

	if (!result_may_go_to(output, r->places, 2))
		return 2;
	if (side_read(&a, r->places[0], r->rank, r->stage) &&
	    side_read(&b, r->places[1], r->rank, r->stage))
		status = compare_sides(r, &a, &b);
	side_free(&a);
	side_free(&b);
	return status;
}

/* Says the first thing that does not fit together. */
static bool fits_together(const struct request *r)
{
	if (!r->html && (r->open || r->html_limit != PAGE_SLICES))
		say_warn("--%s: is of a page: --html FILE with it",
			 r->open ? "open" : "html-limit");
	else if (r->html && (r->output || r->format != VIEW_TABLE))
		say_warn("--html: is a file of its own: no %s with it",
			 r->output ? "--output" : "--format");
	else
		return true;
	return false;
}

int diff_main(char **argv)
{
	struct request r = { .format = VIEW_TABLE,
			     .rank = CHOICE_ANY,
			     .html_limit = PAGE_SLICES,
			     .places = argv };
	const struct verb_options o = { "diff", diff_options, take_option, &r };

	if (!verb_options_read(&o, argv, &r.places_n))
		return 2;
	if (!r.help && r.places_n == 2)
		return fits_together(&r) ? diff_sides(&r) : 2;
	if (!r.help) {
		say_warn(
			"two runs are compared: proflaunch diff A B, each a trace or a "
			"directory (to record the program diff: proflaunch -- diff ...)");
		return 2;
	}
	print_help(&o);
	return verb_options_printed();
}
