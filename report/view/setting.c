/* SPDX-License-Identifier: Apache-2.0 */
/* A fact has a line; most are the trace's, and the caller has what was typed, and on
 * what. */
#include "report/view/setting.h"
#include "report/out.h"
#include "report/units.h"
#include "report/view/overview.h"
#include "report/whose.h"

#define COLUMN 10u /* of the words before a fact */

#define FACT(to, what, ...)                              \
	do {                                             \
		fputs("  ", (to)->out);                  \
		screen_left(to, what, COLUMN);           \
		screen_say(to, 2 + COLUMN, __VA_ARGS__); \
	} while (0)

/* A fact that is one text; none where that is empty. */
static void print_text(const struct screen *to, const char *what, const char *text)
{
	if (text && *text)
		FACT(to, what, "%s", text);
}

/* A path is copied, and stays in one piece. */
static void print_path(const struct screen *to, const char *path)
{
	fputs("  ", to->out);
	screen_left(to, "trace", COLUMN);
	screen_text(to, path, SIZE_MAX);
	putc('\n', to->out);
}

static const char *text_of(const struct model *m, uint32_t text)
{
	return text == TEXT_NONE ? "" : texts_get(&m->texts, text);
}

static void print_program(const struct model *m, const struct screen *to)
{
	const struct whose *w = &m->whose;
	char rank[32] = "";

	if (w->name == TEXT_NONE)
		return;
	if (w->rank >= 0)
		snprintf(rank, sizeof(rank), ", rank %lld", (long long)w->rank);
	FACT(to, "process", "%s%s%s (pid %lld%s)", text_of(m, w->name),
	     w->script == TEXT_NONE ? "" : " ", text_of(m, w->script), (long long)w->pid,
	     rank);
}

/* "12.4" of 12040; "" of what is none. */
static const char *version_text(char to[32], int64_t version)
{
	*to = '\0';
	if (version >= 1000)
		snprintf(to, 32, "%lld.%lld", (long long)version / 1000,
			 (long long)version % 1000 / 10);
	return to;
}

static void print_cuda(const struct whose *w, const struct screen *to)
{
	char runtime[32], driver[32];

	version_text(runtime, w->cuda_runtime);
	version_text(driver, w->cuda_driver);
	if (*runtime || *driver)
		FACT(to, "CUDA", "%s%s%s%s%s", *runtime ? "runtime " : "", runtime,
		     *runtime && *driver ? ", " : "", *driver ? "driver " : "", driver);
}

static void print_gpus(const struct model *m, const struct screen *to)
{
	for (size_t i = 0; i < m->gpus_n; i++) {
		const struct gpu *g = &m->gpus[i];
		char capability[64] = "";

		if (g->name == TEXT_NONE)
			continue;
		if (g->major > 0)
			snprintf(capability, sizeof(capability),
				 ", compute capability %lld.%lld", (long long)g->major,
				 (long long)g->minor);
		FACT(to, "GPU", "%lld: %s%s%s%s", (long long)g->id, text_of(m, g->name),
		     g->memory > 0 ? ", " : "", g->memory > 0 ? out_bytes(g->memory) : "",
		     capability);
	}
}

/* The trace knows of how many processors a container's quota leaves, and PyTorch's
 * threads. */
static void print_cpu(const struct setting *o, const struct whose *w,
		      const struct screen *to)
{
	int64_t cpus = w->cpus > 0 ? w->cpus : o->cpus;
	char many[64] = "", threads[64] = "";
	bool model = o->cpu && *o->cpu;

	if (cpus > 0)
		snprintf(many, sizeof(many), "%s%s of the process", model ? ", " : "",
			 out_count(cpus));
	if (w->torch_threads > 0)
		snprintf(threads, sizeof(threads), "%s%s thread%s of an operator",
			 model || *many ? ", " : "", out_count(w->torch_threads),
			 w->torch_threads == 1 ? "" : "s");
	if (model || *many || *threads)
		FACT(to, "CPU", "%s%s%s", model ? o->cpu : "", many, threads);
}

void setting_print(const struct setting *o, const struct subject *s,
		   const struct screen *to)
{
	const struct model *m = &s->model;
	char steps[160];

	print_text(to, "command", o->command);
	print_program(m, to);
	print_text(to, "Python", text_of(m, m->whose.python.version));
	print_text(to, "PyTorch", text_of(m, m->whose.torch_version));
	print_cuda(&m->whose, to);
	print_gpus(m, to);
	print_cpu(o, &m->whose, to);
	print_text(to, "system", o->system);
	print_text(to, "stage", whose_stage(m));
	print_path(to, s->path);
	overview_steps(s, steps, sizeof(steps));
	if (s->steps.marked)
		FACT(to, "", "%s", steps);
	else if (model_window(m) > 0)
		FACT(to, "", "%s from the first event to the last",
		     units_time(units_whole(model_window(m))));
}
