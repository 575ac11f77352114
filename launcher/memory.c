/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/memory.h"
#include "launcher/say.h"
#include "report/category.h"
#include "report/memory.h"
#include "report/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct asked {
	struct memory_options memory;
	struct leak_options leak;
	const char *timeline;
	bool leaks, json, help;
	char **traces;
	unsigned traces_n;
};

/* Each option once: for the command line and for --help. X(name, value, what it does) */
#define OPTIONS(X)                                                                    \
	X("top", "N", "rows of each table (10)")                                      \
	X("depth", "N", "frames that make a call site (3)")                           \
	X("device", "NAME", "only cpu, cuda:0, ... or heap")                          \
	X("step", "A[-B]", "only these steps in what is counted by step")             \
	X("json", "", "all numbers as JSON, for scripts")                             \
	X("timeline", "FILE",                                                         \
	  "tensor memory over time, by category, as torch's memory timeline: .html, " \
	  ".json[.gz] or .raw.json.gz")                                               \
	X("leaks", "",                                                                \
	  "exit 1 when live bytes of a call site grow in each of the last steps")     \
	X("steps", "N", "how many steps that are (5)")                                \
	X("max-growth", "BYTES", "growth per step that is no leak yet (65536)")       \
	X("help", "", "this text")

static const struct {
	const char *name, *value, *text;
} options[] = {
#define OPTION(name, value, text) { name, value, text },
	OPTIONS(OPTION)
#undef OPTION
};

void memory_help(void)
{
	printf("usage: proflaunch memory [options] TRACE...\n"
	       "       proflaunch memory --leaks [--steps N] [--max-growth BYTES] TRACE\n"
	       "\n"
	       "What ate the memory, when, and who asked for it, out of trace files of proflaunch\n"
	       "(--profile-memory on, --malloc all) or of torch.profiler (profile_memory=True).\n"
	       "\n");
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		char left[64];

		snprintf(left, sizeof(left), "  --%s %s", options[i].name,
			 options[i].value);
		printf("%-22s %s\n", left, options[i].text);
	}
	printf("\nCategories of a timeline\n");
	for (unsigned i = 0; i < CATEGORIES; i++)
		printf("  %-16s %s\n", category_names[i], category_rules[i]);
	printf("\nExit status: 0; 1 when --leaks found any; 2 when the options are wrong, a file "
	       "is no trace,\nor the trace cannot say.\n");
}

/* ---- the command line ---- */

static bool number(const char *text, int64_t low, int64_t high, int64_t *to)
{
	char *end;

	errno = 0;
	*to = strtoll(text, &end, 10);
	return !errno && end != text && !*end && *to >= low && *to <= high;
}

static bool step_range(const char *text, struct memory_options *o)
{
	char first[32];
	const char *dash = strchr(text, '-');
	size_t len = dash ? (size_t)(dash - text) : strlen(text);

	snprintf(first, sizeof(first), "%.*s", (int)(len < 31 ? len : 31), text);
	if (!number(first, 0, INT64_MAX, &o->first))
		return false;
	o->last = o->first;
	return !dash || number(dash + 1, o->first, INT64_MAX, &o->last);
}

static const char *with_value(struct asked *a, const char *name, const char *value)
{
	int64_t n = 0;

	if (!strcmp(name, "device"))
		a->memory.device = value;
	else if (!strcmp(name, "timeline"))
		a->timeline = value;
	else if (!strcmp(name, "step"))
		return step_range(value, &a->memory) ? NULL : "neither a step nor A-B";
	else if (!strcmp(name, "max-growth"))
		return number(value, 0, INT64_MAX, &a->leak.growth)
			       ? NULL
			       : "not a number of bytes";
	else if (!number(value, 1, 1000, &n))
		return "not a number from 1 to 1000";
	else if (!strcmp(name, "top"))
		a->memory.top = (unsigned)n;
	else if (!strcmp(name, "depth"))
		a->memory.depth = (unsigned)n;
	else
		a->leak.steps = (unsigned)n;
	return NULL;
}

/* One argument that begins with "--". Returns how many words it took; 0 = wrong. */
static unsigned option(struct asked *a, char **argv)
{
	const char *equals = strchr(argv[0], '='), *value = equals ? equals + 1 : argv[1],
		   *why;
	size_t len = (equals ? (size_t)(equals - argv[0]) : strlen(argv[0])) - 2, i;

	for (i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strlen(options[i].name) == len &&
		    !memcmp(options[i].name, argv[0] + 2, len))
			break;
	if (i == sizeof(options) / sizeof(*options)) {
		say_warn("%s: no such option; proflaunch memory --help lists them",
			 argv[0]);
		return 0;
	}
	if (!*options[i].value && equals) {
		say_warn("--%s: takes no value", options[i].name);
		return 0;
	}
	if (!*options[i].value) {
		a->json |= !strcmp(options[i].name, "json");
		a->leaks |= !strcmp(options[i].name, "leaks");
		a->help |= !strcmp(options[i].name, "help");
		return 1;
	}
	why = value && *value ? with_value(a, options[i].name, value)
			      : "its value is missing";
	if (!why)
		return equals ? 1 : 2;
	say_warn("--%s: %s", options[i].name, why);
	return 0;
}

/* Traces are moved to the front of argv. */
static bool read_options(struct asked *a, char **argv)
{
	unsigned took;

	a->traces = argv;
	while (*argv) {
		if (!strcmp(*argv, "-h"))
			a->help = true;
		if (!strcmp(*argv, "-h") || !strcmp(*argv, "--")) {
			argv++;
		} else if (!strncmp(*argv, "--", 2)) {
			took = option(a, argv);
			if (!took)
				return false;
			argv += took;
		} else {
			a->traces[a->traces_n++] = *argv++;
		}
	}
	if (a->help || a->traces_n)
		return a->help || !a->timeline || a->traces_n == 1 ||
		       (say_warn("--timeline: of one trace at a time"), false);
	say_warn("no trace: proflaunch memory [options] TRACE...");
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

static int show(const struct asked *a, struct memory_view *v, const char *path)
{
	char why[1024];

	if (a->leaks)
		return leaks_print(v, &a->leak, path, stdout);
	if (a->timeline) {
		if (!timeline_write(v, a->memory.device, a->timeline, why, sizeof(why))) {
			say_note("%s written", a->timeline);
			return 0;
		}
		say_warn("%s", why);
		return 2;
	}
	if (a->json)
		memory_json(v, path, stdout);
	else
		memory_print(v, path, stdout);
	return 0;
}

static int one(const struct asked *a, const char *path)
{
	struct model m;
	struct memory_view v;
	char why[1024];
	int status;

	if (model_read(&m, path, WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON),
		       why, sizeof(why))) {
		say_warn("%s", why);
		return 2;
	}
	if (!memory_make(&v, &m, &a->memory)) {
		say_warn("%s: not enough memory", path);
		status = 2;
	} else if (!v.spaces_n) {
		status = nothing_there(&m, a, path);
	} else {
		status = show(a, &v, path);
	}
	memory_free(&v);
	model_free(&m);
	return status;
}

int memory_main(char **argv)
{
	struct asked a = {
		.memory = { .top = 10,
			    .depth = 3,
			    .first = INT64_MIN,
			    .last = INT64_MAX },
		.leak = { .steps = 5, .growth = 65536 },
	};
	int status = 0;

	if (!read_options(&a, argv))
		return 2;
	if (a.help)
		memory_help();
	for (unsigned i = 0; !a.help && i < a.traces_n; i++) {
		int this = one(&a, a.traces[i]);

		status = this > status ? this : status;
		if (!a.json && i + 1 < a.traces_n)
			putchar('\n');
	}
	if (fflush(stdout) && !status)
		status = 2;
	return status;
}
