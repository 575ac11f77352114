/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `proflaunch memory`. It is read by a table of its own, as none of
 * its options concerns a run; report/memory makes the output. Traces may be
 * torch.profiler's, too. */
#include "launcher/memory.h"
#include "launcher/new_file.h"
#include "launcher/result.h"
#include "launcher/say.h"
#include "launcher/verb_options.h"
#include "report/memory/category.h"
#include "report/memory/folder.h"
#include "report/memory/memory.h"
#include "report/memory/processes.h"
#include "report/memory/timeline.h"

#include <string.h>
#include <sys/stat.h>

struct asked {
	struct memory_options memory;
	struct leak_options leak;
	const char *timeline;
	bool leaks, json, help;
	char **traces;
	unsigned traces_n;
};

static const struct verb_option options[] = {
#define OPTION(name, value, text) { name, value, text },
#include "launcher/memory.def"
#undef OPTION
	{ NULL, NULL, NULL },
};

static void print_help(const struct verb_options *o)
{
	printf("usage: proflaunch memory [options] TRACE|DIRECTORY...\n"
	       "       proflaunch memory --leaks [--steps N] [--max-growth BYTES] TRACE|DIRECTORY...\n"
	       "\n"
	       "What ate the memory, when, and who asked for it, out of trace files of proflaunch\n"
	       "(--profile-memory on, --malloc all) or of torch.profiler (profile_memory=True).\n"
	       "Of a directory: a table of its traces, then the one with the largest peak.\n"
	       "\n");
	verb_options_print(o);
	printf("\nCategories of a timeline\n");
	for (unsigned i = 0; i < CATEGORIES; i++)
		printf("  %-16s %s\n", category_names[i], category_rules[i]);
	printf("\nExit status: 0; 1 when --leaks found any; 2 when the options are wrong, a file "
	       "is no trace,\nor the trace cannot say. Of several files 1 counts most, then 2.\n");
}

/* ---- the command line ---- */

static bool *flag_of(struct asked *a, const char *name)
{
	if (!strcmp(name, "json"))
		return &a->json;
	return !strcmp(name, "leaks") ? &a->leaks : &a->help;
}

static const char *take_option(void *arg, const char *name, const char *value)
{
	struct asked *a = arg;
	int64_t n = 0;

	if (!value)
		*flag_of(a, name) = true;
	else if (!strcmp(name, "device"))
		a->memory.device = value;
	else if (!strcmp(name, "timeline"))
		a->timeline = value;
	else if (!strcmp(name, "step"))
		return verb_options_range(value, &a->memory.first, &a->memory.last)
			       ? NULL
			       : "neither a step nor A-B";
	else if (!strcmp(name, "max-growth"))
		return verb_options_number(value, 0, INT64_MAX, &a->leak.growth)
			       ? NULL
			       : "not a number of bytes";
	else if (!verb_options_number(value, 1, 1000, &n))
		return "not a number from 1 to 1000";
	else if (!strcmp(name, "top"))
		a->memory.top = (unsigned)n;
	else if (!strcmp(name, "depth"))
		a->memory.depth = (unsigned)n;
	else
		a->leak.steps = (unsigned)n;
	return NULL;
}

static bool is_complete(const struct asked *a)
{
	if (a->help || a->traces_n)
		return a->help || !a->timeline || a->traces_n == 1 ||
		       (say_warn("--timeline: of one trace at a time"), false);
	say_warn("no trace: proflaunch memory [options] TRACE|DIRECTORY...");
	return false;
}

/* ---- one trace ---- */

static int nothing_there(const struct model *m, const struct asked *a, const char *path)
{
	if (a->memory.device && (m->memory_n || m->heap))
		say_warn("%s: it has no memory of %s", path, a->memory.device);
	else
		say_warn(
			"%s: it has no memory events. Tensors: record with proflaunch "
			"--profile-memory on, or torch.profiler(profile_memory=True). The C "
			"heap: proflaunch --malloc all",
			path);
	return 2;
}

/* The timeline has its name only when it is whole. */
static bool write_timeline(const struct asked *a, struct memory_view *v, const char *path)
{
	char *source = (char *)path, why[8192];
	struct new_file f;
	bool fine;

	if (!result_may_go_to(a->timeline, &source, 1))
		return false;
	fine = new_file_open(&f, a->timeline, new_file_as(path), why, sizeof(why));
	if (fine &&
	    timeline_write(v, a->memory.device, a->timeline, f.out, why, sizeof(why))) {
		new_file_drop(&f);
		fine = false;
	}
	fine = fine && new_file_keep(&f, why, sizeof(why));
	if (fine)
		say_note("%s written", a->timeline);
	else
		say_warn("%s", why);
	return fine;
}

static int show_report(const struct asked *a, struct memory_view *v, const char *path)
{
	if (a->leaks)
		return leaks_print(v, &a->leak, path, stdout);
	if (a->timeline)
		return write_timeline(a, v, path) ? 0 : 2;
	if (a->json)
		memory_json(v, path, stdout);
	else
		memory_print(v, path, stdout);
	return 0;
}

#define WANTED (WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON))

static int report_trace(const struct asked *a, const char *path)
{
	struct model m;
	struct memory_view v;
	char why[1024];
	int status;

	/* A job's file of small processes has rows of another kind: it gets a table of
	 * its own. */
	if (!a->leaks && !a->timeline &&
	    processes_print(path, a->memory.top, a->json, stdout))
		return 0;
	if (model_read(&m, path, WANTED, why, sizeof(why))) {
		say_warn("%s", why);
		return 2;
	}
	if (!memory_make(&v, &m, &a->memory)) {
		say_warn("%s: not enough memory", path);
		status = 2;
	} else if (!v.spaces_n) {
		status = nothing_there(&m, a, path);
	} else {
		status = show_report(a, &v, path);
	}
	memory_free(&v);
	model_free(&m);
	return status;
}

/* A leak in one file counts, even where another file cannot say. */
static int worse_status(int a, int b)
{
	return a == 1 || b == 1 ? 1 : a > b ? a : b;
}

/* ---- a directory ---- */

static void note_file(const struct asked *a, struct folder_file *file)
{
	struct model m;
	struct memory_view v;
	char why[1024];

	file->table = processes_is(file->path);
	if (file->table)
		return;
	if (model_read(&m, file->path, WANTED, why, sizeof(why))) {
		say_warn("%s", why);
		return;
	}
	if (memory_make(&v, &m, &a->memory))
		folder_note(file, &v);
	memory_free(&v);
	model_free(&m);
}

/* Prints the table, and the report of the file with the largest peak; with --leaks that
 * of each file that has memory events and is not small. */
static int report_folder(const struct asked *a, const char *path)
{
	struct folder f;
	char why[1024];
	int status = 0;
	bool any = false;

	if (a->timeline) {
		say_warn("--timeline: of one trace at a time, not of a directory");
		return 2;
	}
	if (folder_list(&f, path, why, sizeof(why))) {
		say_warn("%s", why);
		return 2;
	}
	for (size_t i = 0; i < f.n; i++) {
		note_file(a, &f.files[i]);
		status |= f.files[i].read || f.files[i].table ? 0 : 2;
	}
	if (a->json)
		folder_json(&f, path, stdout);
	else
		folder_print(&f, path, stdout);
	for (size_t i = 0; i < f.n && !a->json && (a->leaks || !any); i++) {
		if (!f.files[i].memory || (f.files[i].small && any))
			continue;
		any = true;
		putchar('\n');
		status = worse_status(status, report_trace(a, f.files[i].path));
	}
	if (a->leaks && !any)
		status = worse_status(status, 2);
	folder_free(&f);
	return status;
}

static int report_path(const struct asked *a, const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode) ? report_folder(a, path)
						       : report_trace(a, path);
}

int memory_main(char **argv)
{
	struct asked a = {
		.memory = { .top = 10,
			    .depth = 3,
			    .first = INT64_MIN,
			    .last = INT64_MAX },
		.leak = { .steps = 0, .growth = 65536 },
		.traces = argv,
	};
	const struct verb_options o = { "memory", options, take_option, &a };
	int status = 0;

	if (!verb_options_read(&o, argv, &a.traces_n) || !is_complete(&a))
		return 2;
	if (a.help)
		print_help(&o);
	for (unsigned i = 0; !a.help && i < a.traces_n; i++) {
		status = worse_status(status, report_path(&a, a.traces[i]));
		if (!a.json && i + 1 < a.traces_n)
			putchar('\n');
	}
	if (fflush(stdout) && !status)
		status = 2;
	return status;
}
