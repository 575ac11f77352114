/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `proflaunch export`; report/export makes the output. */
#include "launcher/export.h"
#include "launcher/new_file.h"
#include "launcher/say.h"
#include "launcher/verb_options.h"
#include "report/export/export.h"
#include "report/memory/folder.h"
#include "report/memory/processes.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct request {
	int format; /* -1 = none yet */
	enum export_by by;
	const char *output;
	bool help;
	char **traces;
	unsigned traces_n;
	struct export export;
	bool any, failed; /* something was exported; a trace was not */
};

static const struct verb_option rows[] = {
#define OPTION(name, value, text) { name, value, text },
#include "launcher/export.def"
#undef OPTION
	{ NULL, NULL, NULL },
};

#define FORMATS "--stacks, --folded or --speedscope"

static void print_help(const struct verb_options *o)
{
	printf("usage: proflaunch export --stacks|--folded|--speedscope [--by WHAT] [-o FILE] TRACE|DIRECTORY...\n"
	       "\n"
	       "Stacks for flame graphs, out of trace files of proflaunch (--with-stack) or of\n"
	       "torch.profiler (with_stack=True): lines of Python, then operators. Of a directory all\n"
	       "traces below it.\n"
	       "\n");
	verb_options_print(o);
	printf("\nBytes are those of tensors (--profile-memory on), and of the heap's call sites\n"
	       "(--malloc all or sample); innermost is the device, or [heap]. Tensors of the CPU lie in\n"
	       "the heap, too.\n"
	       "\nExit status: 0; 2 when the options are wrong, a file is no trace or cannot be written,\n"
	       "or nothing could be exported.\n");
}

/* ---- the command line ---- */

static const char *take_format(struct request *r, enum export_format format)
{
	if (r->format != -1 && r->format != (int)format)
		return "only one of " FORMATS;
	r->format = (int)format;
	return NULL;
}

static const char *take_by(struct request *r, const char *what)
{
	static const char *const kinds[] = { [EXPORT_CPU] = "cpu",
					     [EXPORT_CUDA] = "cuda",
					     [EXPORT_ALLOCATED] = "allocated",
					     [EXPORT_LIVE] = "live" };

	int i = verb_options_word(kinds, sizeof(kinds) / sizeof(*kinds), what);

	r->by = (enum export_by)i;
	return i < 0 ? "none of cpu, cuda, allocated, live" : NULL;
}

static const char *take_option(void *arg, const char *name, const char *value)
{
	struct request *r = arg;

	if (!strcmp(name, "by"))
		return take_by(r, value);
	if (!strcmp(name, "stacks"))
		return take_format(r, EXPORT_STACKS);
	if (!strcmp(name, "folded"))
		return take_format(r, EXPORT_FOLDED);
	if (!strcmp(name, "speedscope"))
		return take_format(r, EXPORT_SPEEDSCOPE);
	if (!strcmp(name, "output"))
		r->output = value;
	else
		r->help = true;
	return NULL;
}

static bool is_complete(const struct request *r)
{
	if (r->help)
		return true;
	if (r->format == -1)
		say_warn("no format: " FORMATS);
	else if (r->format == EXPORT_STACKS && r->by > EXPORT_CUDA)
		say_warn("--stacks has times only: --by cpu or cuda, or --folded");
	else if (!r->traces_n)
		say_warn("no trace: proflaunch export %s TRACE|DIRECTORY...",
			 "--stacks|--folded|--speedscope");
	else
		return true;
	return false;
}

/* ---- traces ---- */

/* Says what a trace lacks, in one line: the values, or else the stacks. */
static void say_missing(const struct request *r, const struct export_found *found,
			const char *path)
{
	bool lines = found->seen || r->format == EXPORT_STACKS;

	if (lines && !found->stacks)
		say_warn("%s: it has no stacks of Python%s: record with proflaunch "
			 "--with-stack, or torch.profiler(with_stack=True)",
			 path, found->values ? "; there are operators alone" : "");
	else if (found->values)
		return;
	else if (found->seen)
		say_warn("%s: there is nothing to export: %s", path,
			 r->by == EXPORT_LIVE ? "nothing is live at the window's end"
					      : "all values are 0");
	else if (r->by == EXPORT_CPU)
		say_warn("%s: it has no operators", path);
	else if (r->by == EXPORT_CUDA)
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

static void add_trace(struct request *r, const char *path)
{
	struct export_found found;
	char why[1024];

	if (processes_is(path)) {
		say_warn("%s: its rows are whole processes: proflaunch memory shows them",
			 path);
	} else if (!export_add(&r->export, path, &found, why, sizeof(why))) {
		say_warn("%s", why);
		r->failed = true;
	} else {
		if (damage_is(&found.damage)) {
			damage_words(&found.damage, why, sizeof(why));
			say_warn("%s: %s", path, why);
		}
		say_missing(r, &found, path);
		r->any |= found.values;
	}
}

/* Adds the traces below a directory. Tables of processes are no news there. */
static void add_folder(struct request *r, const char *path)
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
			add_trace(r, f.files[i].path);
	folder_free(&f);
}

static void add_path(struct request *r, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		add_folder(r, path);
	else
		add_trace(r, path);
}

/* ---- output ---- */

/* A trace that is written over would be lost. */
static bool is_a_trace(const struct request *r, const char *path)
{
	struct folder f;
	char why[1024];
	bool found = false;

	for (unsigned i = 0; !found && i < r->traces_n; i++) {
		found = new_file_is(path, r->traces[i]);
		if (found || folder_list(&f, r->traces[i], why, sizeof(why)))
			continue;
		for (size_t k = 0; !found && k < f.n; k++)
			found = new_file_is(path, f.files[k].path);
		folder_free(&f);
	}
	return found;
}

/* Exports all traces to `out`. False: there was nothing, or no memory. */
static bool export_all(struct request *r, FILE *out)
{
	export_begin(&r->export, (enum export_format)r->format, r->by, out);
	for (unsigned i = 0; i < r->traces_n; i++)
		add_path(r, r->traces[i]);
	if (export_end(&r->export, r->any))
		return r->any;
	say_warn("not enough memory");
	return false;
}

static int export_to_file(struct request *r)
{
	struct new_file f;
	char why[8192];

	if (is_a_trace(r, r->output)) {
		say_warn("%s: is one of the traces: name another file", r->output);
		return 2;
	}
	if (!new_file_open(&f, r->output, why, sizeof(why))) {
		say_warn("%s", why);
		return 2;
	}
	if (!export_all(r, f.out)) {
		new_file_drop(&f);
		return 2;
	}
	if (new_file_keep(&f, why, sizeof(why)))
		return r->failed ? 2 : 0;
	say_warn("%s", why);
	return 2;
}

static int export_to_stdout(struct request *r)
{
	bool fine = export_all(r, stdout);

	if (!fflush(stdout) && !ferror(stdout))
		return fine && !r->failed ? 0 : 2;
	say_warn("standard output: %s", strerror(errno));
	return 2;
}

int export_main(char **argv)
{
	struct request r = { .format = -1, .traces = argv };
	const struct verb_options o = { "export", rows, take_option, &r };

	if (!verb_options_read(&o, argv, &r.traces_n) || !is_complete(&r))
		return 2;
	if (!r.help)
		return r.output ? export_to_file(&r) : export_to_stdout(&r);
	print_help(&o);
	return verb_options_printed();
}
