/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `proflaunch report`; report/view makes the output. It is made in
 * memory, and shown when all of it is there. */
#include "launcher/report.h"
#include "base/text.h"
#include "config/config_file.h"
#include "launcher/new_file.h"
#include "launcher/page_file.h"
#include "launcher/result.h"
#include "launcher/say.h"
#include "launcher/verb_options.h"
#include "report/choice.h"
#include "report/memory/processes.h"
#include "report/page/page.h"
#include "report/view/view.h"

#include <string.h>
#include <unistd.h>

extern char **environ;

struct request {
	struct view_order order;
	struct subject_options subject;
	struct choice choice;
	const char *explain, *output, *html;
	size_t html_limit; /* slices of the page's timeline */
	bool help, open;
	char **places;
	unsigned places_n;
};

static void print_help(const struct verb_options *o)
{
	printf("usage: proflaunch report [options] [TRACE|DIRECTORY]\n"
	       "\n"
	       "Where the time of a trace went, and what to fix first: of a file of proflaunch or of\n"
	       "torch.profiler, plain or gzip; of a directory the newest run's file, of the lowest rank;\n"
	       "without either, of the log directory.\n"
	       "\n");
	verb_options_print(o);
	printf("\nA report that is longer than the terminal goes through $PAGER (less).\n"
	       "\nExit status: 0; 2 when the options are wrong, the file is no trace, or there is nothing\n"
	       "to report.\n");
}

static const struct verb_option known[] = {
#define OPTION(name, value, text) { name, value, text },
#include "launcher/report.def"
#undef OPTION
	{ NULL, NULL, NULL },
};

/* ---- the command line ---- */

static const char *take_view(struct request *r, const char *value)
{
	int i = verb_options_word(view_names, VIEWS, value);

	if (i < 0)
		return "none of overview, ops, kernels, steps, memory, modules, python, "
		       "workers, distributed, collectives, threads, trace";
	r->order.view = (enum view)i;
	return NULL;
}

static const char *take_format(struct request *r, const char *value)
{
	int i = verb_options_word(view_formats, VIEW_FORMATS, value);

	if (i < 0)
		return "none of table, csv, json, md";
	r->order.format = (enum view_format)i;
	return NULL;
}

static const char *take_group(struct request *r, const char *value)
{
	static const struct {
		const char *word;
		enum operators_by by;
		enum group_by group;
	} groups[] = { { "name", OPERATORS_BY_NAME, GROUP_PHASE },
		       { "shape", OPERATORS_BY_SHAPE, GROUP_PHASE },
		       { "module", OPERATORS_BY_GROUP, GROUP_MODULE },
		       { "phase", OPERATORS_BY_GROUP, GROUP_PHASE } };
	const char *frames = text_after(value, "stack:");
	int64_t n = 0;

	if (frames) {
		if (!verb_options_number(frames, 1, GROUP_FRAMES_MOST, &n))
			return "behind stack: is no number from 1 to 64";
		r->subject.by = OPERATORS_BY_GROUP;
		r->subject.group = (struct group_options){ .by = GROUP_STACK,
							   .frames = (unsigned)n };
		return NULL;
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		if (strcmp(groups[i].word, value) != 0)
			continue;
		r->subject.by = groups[i].by;
		r->subject.group = (struct group_options){ .by = groups[i].group };
		return NULL;
	}
	return "none of name, shape, stack:N, module, phase";
}

static const char *take_number(const char *value, int64_t low, int64_t high, int64_t *to)
{
	if (verb_options_number(value, low, high, to))
		return NULL;
	return low ? "not a number from 1 on" : "not a number from 0 on";
}

static const char *take_size(const char *value, size_t *to)
{
	int64_t n = 0;
	const char *why = take_number(value, 1, INT32_MAX, &n);

	*to = (size_t)n;
	return why;
}

static const char *take_option(void *arg, const char *name, const char *value)
{
	struct request *r = arg;

	if (!strcmp(name, "view"))
		return take_view(r, value);
	if (!strcmp(name, "format"))
		return take_format(r, value);
	if (!strcmp(name, "group-by"))
		return take_group(r, value);
	if (!strcmp(name, "limit"))
		return take_size(value, &r->order.limit);
	if (!strcmp(name, "html-limit"))
		return take_size(value, &r->html_limit);
	if (!strcmp(name, "steps"))
		return verb_options_range(value, &r->subject.first, &r->subject.last)
			       ? NULL
			       : "neither a step nor A-B";
	if (!strcmp(name, "rank"))
		return take_number(value, 0, INT64_MAX, &r->choice.rank);
	if (!strcmp(name, "window"))
		return take_number(value, 0, INT64_MAX, &r->choice.window);
	if (!strcmp(name, "stage"))
		r->choice.stage = value;
	else if (!strcmp(name, "sort"))
		r->order.sort = value;
	else if (!strcmp(name, "like-torch"))
		r->order.like_torch = true;
	else if (!strcmp(name, "output"))
		r->output = value;
	else if (!strcmp(name, "html"))
		r->html = value;
	else if (!strcmp(name, "open"))
		r->open = true;
	else if (!strcmp(name, "explain"))
		r->explain = value;
	else
		r->help = true;
	return NULL;
}

/* Says the first thing that does not fit together. */
static bool fits_together(const struct request *r)
{
	const struct view_order *o = &r->order;

	if (r->places_n > 1)
		say_warn("%s: one trace or directory at a time", r->places[1]);
	else if (!r->html && (r->open || r->html_limit != PAGE_SLICES))
		say_warn("--%s: is of a page: --html FILE with it",
			 r->open ? "open" : "html-limit");
	else if (r->html && (r->output || o->format != VIEW_TABLE || o->like_torch))
		say_warn("--html: is a file of its own: no %s with it",
			 r->output       ? "--output"
			 : o->like_torch ? "--like-torch"
					 : "--format");
	else if (o->like_torch && o->view != VIEW_OPS)
		say_warn("--like-torch: is of operators: --view ops --like-torch");
	else if (o->like_torch && o->format != VIEW_TABLE)
		say_warn("--like-torch: is a table: no --format with it");
	else if (r->subject.by != OPERATORS_BY_NAME && o->view != VIEW_OPS &&
		 o->format != VIEW_JSON)
		say_warn("--group-by: is of operators: --view ops --group-by shape");
	else if (o->like_torch && r->subject.by == OPERATORS_BY_GROUP &&
		 r->subject.group.by != GROUP_STACK)
		say_warn("--like-torch: torch groups by name, shape and stack:N alone");
	else if (o->sort && o->view == VIEW_OVERVIEW && o->format != VIEW_JSON)
		say_warn("--sort: the overview has an order of its own: name a --view");
	else
		return true;
	return false;
}

/* ---- the trace ---- */

static void say_bad_option(const char *where, const char *why, void *arg)
{
	(void)arg;
	say_warn("%s: %s", where, why);
}

/* The log directory that a run would have. */
static const char *find_logdir(void)
{
	static struct config c;

	config_load(&c, NULL, environ, say_bad_option, NULL);
	return c.logdir;
}

/* Finds the file that is meant. */
static bool find_trace(struct request *r, const char *logdir)
{
	char why[3 * PATH_MAX];
	const char *place = r->places_n ? r->places[0] : logdir ? logdir : find_logdir();
	bool fine = choice_make(&r->choice, place, why, sizeof(why));

	if (!fine && !r->places_n && r->choice.rank < 0 && r->choice.window < 0 &&
	    !r->choice.stage)
		say_warn("%s; name a trace or a directory: proflaunch report "
			 "TRACE|DIRECTORY",
			 why);
	else if (!fine)
		say_warn("%s", why);
	else if (*r->choice.line)
		say_note("%s", r->choice.line);
	if (fine && processes_is(r->choice.path)) {
		say_warn("%s: its rows are whole processes: proflaunch memory shows them",
			 r->choice.path);
		return false;
	}
	return fine;
}

/* Says what was asked for and is not in the trace, beside what is. */
static void say_missing(const struct request *r, const struct subject *s)
{
	if (r->subject.by == OPERATORS_BY_SHAPE && !s->operators.shapes)
		say_warn("%s: it has no input shapes: record with proflaunch "
			 "--record-shapes, or torch.profiler(record_shapes=True)",
			 s->path);
}

/* ---- output ---- */

static int print_subject(const struct request *r, struct subject *s)
{
	struct result text;
	struct screen screen;
	char why[1024];
	bool fine;

	if (!result_begin(&text))
		return 2;
	text.most = new_file_as(s->path);
	screen_begin(&screen, text.out,
		     !r->output && isatty(STDOUT_FILENO) ? STDOUT_FILENO : -1);
	screen.colour &= r->order.format == VIEW_TABLE;
	say_missing(r, s);
	fine = view_print(s, &r->order, &screen, why, sizeof(why));
	if (!fine)
		say_warn("%s", why);
	return result_show(&text, r->output, fine) && fine ? 0 : 2;
}

/* Are other ranks of the run wanted? */
static bool wants_ranks(const struct request *r)
{
	return r->order.view == VIEW_DISTRIBUTED || r->order.view == VIEW_COLLECTIVES;
}

/* Reads the files of a directory's ranks beside the one that is reported. */
static bool read_ranks(const struct request *r, struct subject *s, struct ranks *all)
{
	char why[PATH_MAX + 1024];

	if (!wants_ranks(r) || r->choice.windows_n < 2)
		return true;
	if (!ranks_read(all, r->choice.windows, r->choice.windows_n, why, sizeof(why))) {
		say_warn("%s", why);
		return false;
	}
	s->ranks = all;
	return true;
}

/* What fill_page is handed: there is one argument. */
struct page_order {
	const struct request *r;
	struct subject *s;
};

static const char *fill_page(FILE *out, void *arg)
{
	const struct page_order *o = arg;
	bool fine;

	page_begin(out);
	fine = page_run(out, o->s, page_file_title(o->s->path), o->r->html_limit);
	page_end(out);
	return fine ? NULL : PAGE_FILE_NO_MEMORY;
}

static int write_page(struct request *r, struct subject *s)
{
	struct page_order o = { r, s };

	if (!page_file_write(r->html, new_file_as(s->path), fill_page, &o))
		return 2;
	if (r->open)
		page_file_show(r->html);
	return 0;
}

static int report_subject(struct request *r, struct subject *s)
{
	struct ranks all = { 0 };
	int status = 2;

	if (read_ranks(r, s, &all))
		status = r->html ? write_page(r, s) : print_subject(r, s);
	ranks_free(&all);
	return status;
}

static int report_trace(struct request *r, const char *logdir)
{
	static struct subject s; /* its parts point at one another */
	const char *output = r->html ? r->html : r->output;
	char why[PATH_MAX + 1024];
	int status;

	r->choice.ranks = wants_ranks(r);
	if (!find_trace(r, logdir))
		return 2;
	if (!result_may_go_to(output, (char *[]){ r->choice.path }, 1))
		return 2;
	/* torch's table counts all of the file. */
	r->subject.group.torch = r->order.like_torch;
	r->subject.whole = r->order.like_torch && r->subject.first == INT64_MIN;
	if (!subject_make(&s, r->choice.path, &r->subject, why, sizeof(why))) {
		say_warn("%s", why);
		return 2;
	}
	status = report_subject(r, &s);
	subject_free(&s);
	return status;
}

static int explain_rule(const struct request *r)
{
	const char *rule = strcmp(r->explain, "all") != 0 ? r->explain : NULL;

	if (advice_explain(stdout, rule))
		return verb_options_printed();
	say_warn("--explain %s: no such rule; --explain all lists them", r->explain);
	return 2;
}

int report_main(char **argv, const char *logdir)
{
	struct request r = {
		.subject = { .first = INT64_MIN, .last = INT64_MAX },
		.choice = { .rank = CHOICE_ANY, .window = CHOICE_ANY },
		.html_limit = PAGE_SLICES,
		.places = argv,
	};
	const struct verb_options o = { "report", known, take_option, &r };
	int status;

	if (!verb_options_read(&o, argv, &r.places_n))
		return 2;
	if (r.help) {
		print_help(&o);
		return verb_options_printed();
	}
	if (!fits_together(&r))
		return 2;
	status = r.explain ? explain_rule(&r) : report_trace(&r, logdir);
	choice_free(&r.choice);
	return status;
}
