/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `proflaunch export`; report/export makes the output. */
#include "launcher/export.h"
#include "base/array.h"
#include "launcher/exporter.h"
#include "launcher/new_file.h"
#include "launcher/result.h"
#include "launcher/say.h"
#include "launcher/verb_options.h"
#include "report/head.h"
#include "report/memory/folder.h"
#include "report/memory/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RANK_ANY (-1)

struct request {
	struct exporter exporter; /* format -1 = none yet */
	const char *output;
	bool help, by, view; /* by, view: they were given */
	int64_t rank;
	const char *stage; /* NULL = any */
	char **places; /* as they were named */
	unsigned places_n;
	char **traces;
	size_t traces_n, traces_room;
	size_t threads_room;
	bool any, failed; /* something was exported; a trace was not */
};

static const struct verb_option rows[] = {
#define OPTION(name, value, text) { name, value, text },
#include "launcher/export.def"
#undef OPTION
	{ NULL, NULL, NULL },
};

#define FORMATS                                                                        \
	"--chrome, --sqlite, --events, --csv, --md, --stacks, --folded, --speedscope " \
	"or --pstats"

/* What is said of all formats stands here; the rows of options have the rest. */
static void print_help(const struct verb_options *o)
{
	printf("usage: proflaunch export --FORMAT [options] [-o FILE] TRACE|DIRECTORY...\n"
	       "\n"
	       "Trace files of proflaunch and of torch.profiler in another form: a part of them for\n"
	       "viewers (chrome), tables for questions (sqlite, events), views of several traces (csv, md),\n"
	       "stacks for flame graphs (stacks, folded, speedscope), functions of Python for pstats and\n"
	       "snakeviz (pstats). Of a directory all traces below it.\n"
	       "\n");
	verb_options_print(o);
	printf("\nOf stacks: lines of Python are there with --with-stack (torch: with_stack=True). Bytes are\n"
	       "those of tensors (--profile-memory on), and of the heap's call sites (--malloc all or\n"
	       "sample); innermost is the device, or [heap]. Tensors of the CPU lie in the heap, too.\n"
	       "\nExit status: 0; 2 when the options are wrong, a file is no trace or cannot be written,\n"
	       "or nothing could be exported.\n");
}

/* ---- the command line ---- */

/* Two formats would write two forms into one file. */
static const char *take_format(struct request *r, int format)
{
	if (r->exporter.format != -1 && r->exporter.format != format)
		return "only one of " FORMATS;
	r->exporter.format = format;
	return NULL;
}

/* That it was given is noted: its default is a kind as well. */
static const char *take_by(struct request *r, const char *what)
{
	static const char *const kinds[] = { [EXPORT_CPU] = "cpu",
					     [EXPORT_CUDA] = "cuda",
					     [EXPORT_ALLOCATED] = "allocated",
					     [EXPORT_LIVE] = "live" };

	int i = verb_options_word(kinds, sizeof(kinds) / sizeof(*kinds), what);

	r->exporter.by = (enum export_by)i;
	r->by = true;
	return i < 0 ? "none of cpu, cuda, allocated, live" : NULL;
}

/* The message names another verb, for its help has the list of views. */
static const char *take_view(struct request *r, const char *value)
{
	int i = verb_options_word(view_names, VIEWS, value);

	r->exporter.view = (enum view)i;
	r->view = true;
	return i < 0 ? "no view: proflaunch report --help lists them" : NULL;
}

/* Takes "main,7": the words stay as long as the program. */
static const char *take_threads(struct request *r, const char *value)
{
	struct cut_options *o = &r->exporter.cut;
	char *rest = strdup(value), *word;

	while ((word = strsep(&rest, ","))) {
		if (!*word)
			return "a name is empty";
		if (!GROW(o->threads, r->threads_room, o->threads_n))
			return "not enough memory";
		o->threads[o->threads_n++] = word;
	}
	return NULL;
}

/* A format is an option by its own name, so that it is looked for first. */
static const char *take_option(void *arg, const char *name, const char *value)
{
	static const char *const formats[] = { [EXPORT_STACKS] = "stacks",
					       [EXPORT_FOLDED] = "folded",
					       [EXPORT_SPEEDSCOPE] = "speedscope",
					       [EXPORTER_CHROME] = "chrome",
					       [EXPORTER_SQLITE] = "sqlite",
					       [EXPORTER_EVENTS] = "events",
					       [EXPORTER_CSV] = "csv",
					       [EXPORTER_MD] = "md",
					       [EXPORTER_PSTATS] = "pstats" };
	struct request *r = arg;
	int format = verb_options_word(formats, EXPORTER_PSTATS + 1, name);

	if (format >= 0)
		return take_format(r, format);
	if (!strcmp(name, "by"))
		return take_by(r, value);
	if (!strcmp(name, "view"))
		return take_view(r, value);
	if (!strcmp(name, "threads"))
		return take_threads(r, value);
	if (!strcmp(name, "steps"))
		return verb_options_range(value, &r->exporter.cut.first,
					  &r->exporter.cut.last)
			       ? NULL
			       : "neither a step nor A-B";
	if (!strcmp(name, "rank"))
		return verb_options_number(value, 0, INT64_MAX, &r->rank)
			       ? NULL
			       : "not a number from 0 on";
	if (!strcmp(name, "operators"))
		r->exporter.pstats.operators = true;
	else if (!strcmp(name, "stage"))
		r->stage = value;
	else if (!strcmp(name, "output"))
		r->output = value;
	else
		r->help = true;
	return NULL;
}

/* Says which option is not of the format. */
static bool fits_format(const struct request *r)
{
	const struct exporter *x = &r->exporter;
	bool table = x->format == EXPORTER_CSV || x->format == EXPORTER_MD;

	if (r->by && !exporter_is_stacks(x))
		say_warn("--by: is of stacks: --folded, --speedscope or --stacks");
	else if (x->format == EXPORT_STACKS && x->by > EXPORT_CUDA)
		say_warn("--stacks has times only: --by cpu or cuda, or --folded");
	else if (r->view && !table)
		say_warn("--view: is of tables: --csv or --md");
	else if (x->cut.first != INT64_MIN && x->format != EXPORTER_CHROME && !table)
		say_warn("--steps: is of --chrome, --csv and --md");
	else if (x->cut.threads_n && x->format != EXPORTER_CHROME &&
		 x->format != EXPORTER_PSTATS)
		say_warn("--threads: is of --chrome and --pstats");
	else if (x->pstats.operators && x->format != EXPORTER_PSTATS)
		say_warn("--operators: is of --pstats");
	else if (x->format == EXPORTER_SQLITE && !r->output)
		say_warn("--sqlite: a database is a file: name it by -o FILE");
	else
		return true;
	return false;
}

/* Says the first thing that is missing. */
static bool is_complete(const struct request *r)
{
	if (r->help)
		return true;
	if (r->exporter.format == -1)
		say_warn("no format: " FORMATS);
	else if (!fits_format(r))
		return false;
	else if (!r->places_n)
		say_warn("no trace: proflaunch export --FORMAT TRACE|DIRECTORY...");
	else
		return true;
	return false;
}

/* ---- traces ---- */

/* Is it of the rank and the stage that are wanted? What cannot be read is told when it is
 * exported. */
static bool is_wanted(const struct request *r, const char *path)
{
	struct head h;

	return (r->rank == RANK_ANY && !r->stage) || !head_read(&h, path) ||
	       ((r->rank == RANK_ANY || h.rank == r->rank) &&
		head_has_stage(&h, r->stage));
}

/* Traces are listed first: whether there are several decides how they are told apart. */
static void list_trace(struct request *r, const char *path)
{
	char *copy;

	if (!is_wanted(r, path))
		return;
	copy = strdup(path);
	if (copy && GROW(r->traces, r->traces_room, r->traces_n)) {
		r->traces[r->traces_n++] = copy;
		return;
	}
	free(copy);
	say_warn("not enough memory");
	r->failed = true;
}

/* Lists the traces below a directory. Tables of processes are no news there. */
static void list_folder(struct request *r, const char *path)
{
	struct folder f;
	char why[1024];

	if (folder_list(&f, path, why, sizeof(why))) {
		say_warn("%s", why);
		r->failed = true;
		return;
	}
	for (size_t i = 0; i < f.n; i++)
		if (!processes_is(f.files[i].path))
			list_trace(r, f.files[i].path);
	folder_free(&f);
}

/* A file of whole processes is no trace that a format takes: it is named, and left. */
static void list_place(struct request *r, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		list_folder(r, path);
	else if (processes_is(path))
		say_warn("%s: its rows are whole processes: proflaunch memory shows them",
			 path);
	else
		list_trace(r, path);
}

/* The list owns its paths; the words of --threads stay as long as the program. */
static void free_traces(struct request *r)
{
	for (size_t i = 0; i < r->traces_n; i++)
		free(r->traces[i]);
	free(r->traces);
}

/* ---- output ---- */

/* Exports all traces to `out`. False: there was nothing, or no memory. */
static bool export_all(struct request *r, FILE *out, const char *path)
{
	bool any;

	r->exporter.several = r->traces_n > 1;
	if (!exporter_begin(&r->exporter, out, path))
		return false;
	for (size_t i = 0; i < r->traces_n; i++) {
		r->failed |= !exporter_add(&r->exporter, r->traces[i], &any);
		r->any |= any;
	}
	return exporter_end(&r->exporter, r->any) && r->any;
}

/* No trace is written over, whether it is read here or not. The file has its name only
 * when it is whole. */
static int export_to_file(struct request *r)
{
	struct new_file f;
	char why[8192];
	mode_t most = result_most(r->traces, r->traces_n);

	if (!result_may_go_to(r->output, r->traces, r->traces_n))
		return 2;
	if (!new_file_open(&f, r->output, most, why, sizeof(why))) {
		say_warn("%s", why);
		return 2;
	}
	if (!export_all(r, f.out, f.part)) {
		new_file_drop(&f);
		return 2;
	}
	if (new_file_keep(&f, why, sizeof(why)))
		return r->failed ? 2 : 0;
	say_warn("%s", why);
	return 2;
}

/* A full disk may show only when the stream is flushed. */
static int export_to_stdout(struct request *r)
{
	bool fine = export_all(r, stdout, NULL);

	if (!fflush(stdout) && !ferror(stdout))
		return fine && !r->failed ? 0 : 2;
	say_warn("standard output: %s", strerror(errno));
	return 2;
}

/* Where --rank and --stage leave no trace, a line says so: nothing else would. */
static void say_none_wanted(const struct request *r)
{
	char rank[32] = "";

	if (r->rank != RANK_ANY)
		snprintf(rank, sizeof(rank), " of rank %lld", (long long)r->rank);
	if (*rank || r->stage)
		say_warn("there is no trace%s%s%s", rank, r->stage ? " of stage " : "",
			 r->stage ? r->stage : "");
}

static int export_traces(struct request *r)
{
	for (unsigned i = 0; i < r->places_n; i++)
		list_place(r, r->places[i]);
	if (r->traces_n)
		return r->output ? export_to_file(r) : export_to_stdout(r);
	if (!r->failed)
		say_none_wanted(r);
	return 2;
}

int export_main(char **argv)
{
	struct request r = { .exporter = { .format = -1,
					   .cut = { .first = INT64_MIN,
						    .last = INT64_MAX } },
			     .rank = RANK_ANY,
			     .places = argv };
	const struct verb_options o = { "export", rows, take_option, &r };
	int status;

	if (!verb_options_read(&o, argv, &r.places_n) || !is_complete(&r))
		return 2;
	if (!r.help) {
		status = export_traces(&r);
		free_traces(&r);
		return status;
	}
	print_help(&o);
	return verb_options_printed();
}
