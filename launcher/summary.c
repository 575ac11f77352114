/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the trace that is meant, and hands it to the report. */
#include "launcher/summary.h"
#include "launcher/glance.h"
#include "launcher/machine.h"
#include "launcher/say.h"
#include "report/choice.h"
#include "report/memory/processes.h"
#include "report/view/bottleneck.h"

#include <stdlib.h>
#include <string.h>

struct printing {
	const struct summary *summary;
	const char *path, *choice; /* choice NULL: there is one trace */
};

/* ---- in the process that reads ---- */

/* The words as a shell would take them; free it. */
static char *join_words(char **words)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; out && words[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", *words[i] ? say_path(words[i]) : "''");
	if (out)
		fclose(out);
	return text;
}

static bool print_tables(FILE *out, int terminal, const void *what)
{
	const struct printing *p = what;
	char cpu[256], system[512], why[PATH_MAX + 1024];
	struct bottleneck_order order = {
		.limit = p->summary->rows,
		.choice = p->choice,
		.no_gpu = p->summary->config->activities == ACTIVITIES_CPU,
		.setting = { .command = join_words(p->summary->command),
			     .cpu = cpu,
			     .system = system,
			     .cpus = machine_cpus() }
	};
	struct screen screen;
	bool fine;

	machine_cpu(cpu, sizeof(cpu));
	machine_system(system, sizeof(system));
	screen_begin(&screen, out, terminal);
	fine = bottleneck_print(p->path, &order, &screen, why, sizeof(why));
	if (!fine)
		say_warn("%s", why);
	free((char *)order.setting.command);
	return fine;
}

/* ---- which trace ---- */

/* Of several files those of earlier runs do not count. */
static bool find_trace(struct choice *c, const struct summary *s,
		       const struct totals *totals)
{
	char why[3 * PATH_MAX];

	*c = (struct choice){ .rank = CHOICE_ANY,
			      .window = CHOICE_ANY,
			      .since = s->since };
	return (totals->files > 1 &&
		choice_make(c, s->config->logdir, why, sizeof(why))) ||
	       choice_make(c, totals->last_file, why, sizeof(why));
}

/* The lines before tell what became of the records. */
static void say_nothing(const struct summary *s, const struct totals *totals)
{
	if (totals->late || totals->living)
		say_warn(
			"no tables yet, as no trace is finished: proflaunch report %s shows it then",
			say_path(s->config->logdir));
	else if (!totals->failed && !totals->lost)
		say_warn(
			"no tables: bottleneck shows what Python (CPython 3.8 to 3.14) and PyTorch do, and there is no trace of either. Functions of other programs: perf record -g; their heap: proflaunch --malloc all --marker none");
}

void summary_say(const struct summary *s, const struct totals *totals)
{
	static struct choice c;
	struct printing p = { .summary = s, .path = c.path };

	if (!totals->files) {
		say_nothing(s, totals);
		return;
	}
	if (!find_trace(&c, s, totals))
		return;
	if (processes_is(c.path)) {
		say_warn(
			"no tables: all processes were short, and are rows of one file; --children each gives each a trace of its own");
		return;
	}
	if (*c.line)
		p.choice = c.line;
	if (glance_apart(print_tables, &p))
		say_note(
			"more of it: proflaunch report %s; for snakeviz: proflaunch export --pstats -o FILE %s",
			say_path(c.path), say_path(c.path));
}
