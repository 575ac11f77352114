/* SPDX-License-Identifier: Apache-2.0 */
/* What the user reads when the program has ended: what was written and where, what is
 * missing and which option would have kept it, or why nothing was recorded. Each line
 * names the next thing to do. All numbers are sums over the job's processes
 * (finisher/totals.h), of which some may still run. */
#include "launcher/closing.h"
#include "agent/sched/marker.h"
#include "config/aside.h"
#include "launcher/absent.h"
#include "launcher/closing_words.h"
#include "launcher/costs.h"
#include "launcher/glance.h"
#include "launcher/say.h"
#include "launcher/tend.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NAMES 8 /* names of processes in a line */

/* Counts events of the kinds that are rows in a trace file, not counters or names. */
static uint64_t events_of(const struct totals *s)
{
	static const enum record_kind kinds[] = {
		REC_OP,       REC_ANNOTATION, REC_MEMORY, REC_OOM,        REC_CALL,
		REC_KERNEL,   REC_COPY,       REC_SET,    REC_GRAPH,      REC_SYNC,
		REC_EVENT,    REC_OVERHEAD,   REC_BLOCK,  REC_COLLECTIVE, REC_MODULE,
		REC_FUNCTION, REC_PYTHON,     REC_C_CALL,
	};
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		n += s->events[kinds[i]];
	return n;
}

static uint64_t gpu_events_of(const struct totals *s)
{
	return s->events[REC_KERNEL] + s->events[REC_COPY] + s->events[REC_SET] +
	       s->events[REC_GRAPH];
}

/* Graphs recorded whole take their kernels' place: "0 kernels" would look like a loss. */
static void say_gpu(const struct totals *s)
{
	uint64_t kernels = s->events[REC_KERNEL], graphs = s->events[REC_GRAPH];
	bool both = graphs && kernels;

	say_note("on the GPU: %s%s%s, %s, from %s",
		 kernels || !graphs ? say_count(kernels, "kernel") : "", both ? ", " : "",
		 graphs ? say_count(graphs, "graph") : "",
		 say_count(s->events[REC_COPY] + s->events[REC_SET], "memory operation"),
		 say_count(s->events[REC_CALL], "CUDA call"));
}

/* Writes "79 files of 79 processes: bash 56, env 16, python3 7". */
static void say_processes(const struct totals *s)
{
	uint64_t n = tally_all(&s->processes);

	if (n)
		say_note("%s of %s: %s", say_count(s->files - (s->rows > 0), "file"),
			 say_count(n, "process"), closing_tally(&s->processes, NAMES));
	if (s->rows)
		say_note("one file of %s that were short and small, a row for each",
			 say_count(s->rows, "process"));
}

static const char *flops_text(char text[32], double n)
{
	static const char prefixes[][2] = { "", "k", "M", "G", "T", "P", "E" };
	unsigned i = 0;

	for (; n >= 999.5 && i < sizeof(prefixes) / sizeof(*prefixes) - 1; i++)
		n /= 1000;
	snprintf(text, 32, "%.3g %sFLOP", n, prefixes[i]);
	return text;
}

/* Writes "1.24 GFLOP in 520 ms of windows, 2.38 GFLOP/s; of 3 operators ...". */
static void say_flops(const struct flops_total *f)
{
	char all[32], rate[32], time[COSTS_TIME], unknown[96] = "";

	if (!f->operators && !f->unknown)
		return;
	if (f->unknown)
		snprintf(unknown, sizeof(unknown), "; those of %s could not be computed",
			 say_count(f->unknown, "operator"));
	say_note("%s in %s of windows, %s/s%s", flops_text(all, (double)f->total),
		 costs_time(time, (double)f->window_ns),
		 flops_text(rate, f->window_ns
					  ? (double)f->total * 1e9 / (double)f->window_ns
					  : 0),
		 unknown);
}

static void say_files(const struct closing *c)
{
	const struct totals *s = c->totals;
	char cost[320];

	costs_text(c, cost, sizeof(cost));
	/* A run without steps is kept as a whole: "0 steps" would look like a loss. */
	say_note("%s in %s: %s%s%s%s", say_count(s->files, "trace file"),
		 c->config->logdir, s->steps ? say_count(s->steps, "step") : "",
		 s->steps ? ", " : "", say_count(events_of(s) + s->heap_rows, "event"),
		 cost);
	if (s->files > 1)
		say_processes(s);
	if (gpu_events_of(s) || s->events[REC_CALL])
		say_gpu(s);
	if (s->events[REC_ALLOC] || s->events[REC_FREE])
		say_note("on the heap: %s, %s%s",
			 say_count(s->events[REC_ALLOC], "allocation"),
			 say_count(s->events[REC_FREE], "free"),
			 c->config->malloc == MALLOC_SAMPLE ? " (a sample)" : "");
	say_flops(&s->flops);
	if (closing_has_stages(c))
		closing_stages(c);
	else if (*s->chosen && closing_marker(c) == MARKER_AUTO)
		say_note("%s ended (%s)", say_count(s->boundaries, "step"), s->chosen);
}

/* ---- programs that were left alone ---- */

static void say_asides(const struct closing *c)
{
	char list[512] = "";
	uint64_t all = 0;
	size_t n = 0;

	for (unsigned i = ASIDE_NO + 1; i < ASIDE_KINDS; i++) {
		all += c->aside[i];
		n = closing_list(list, sizeof(list), n, c->aside[i], aside_text[i]);
	}
	if (all)
		say_note("%s ran without being profiled: %s", say_count(all, "program"),
			 list);
	if (c->inner)
		say_note("%s of %s own", say_count(c->inner, "inner proflaunch job"),
			 c->inner == 1 ? "its" : "their");
}

/* ---- files that are not there yet ---- */

static void say_late(const struct closing *c)
{
	const char *many = say_count(c->totals->late, "process");

	if (c->config->linger)
		say_warn(
			"the records of %s were not written within %d s: that goes on in the background, messages go to %s/proflaunch.log; they lie in %s: should it end before its time, proflaunch recover %s does the rest",
			many, TEND_SECONDS, c->config->logdir, c->spool_dir,
			say_path(c->config->logdir));
	else
		say_warn(
			"the records of %s were not written within %d s; they lie in %s: proflaunch recover %s does the rest",
			many, TEND_SECONDS, c->spool_dir, say_path(c->config->logdir));
}

static void say_unfinished(const struct closing *c)
{
	const struct totals *s = c->totals;

	if (s->living && c->config->linger)
		say_note(
			"%s still running: what they record is finished as they go on, messages go to %s/proflaunch.log",
			say_count(s->living, "process"), c->config->logdir);
	else if (s->living)
		say_note(
			"%s still running: proflaunch recover %s finishes what they leave",
			say_count(s->living, "process"), say_path(c->config->logdir));
	if (s->failed && s->unwritten)
		say_warn(
			"the disk was full: %s of %s %s complete; make room, then proflaunch recover %s writes the others, whose records lie in %s",
			say_number(s->files), say_count(s->files + s->unwritten, "file"),
			s->files == 1 || s->files + s->unwritten == 1 ? "is" : "are",
			say_path(c->config->logdir), c->spool_dir);
	else if (s->failed)
		say_warn(
			"the records of %s could not be finished; they lie in %s: proflaunch recover %s tries again",
			say_count(s->failed, "process"), c->spool_dir,
			say_path(c->config->logdir));
	if (s->lost)
		say_warn(
			"the records of %s lay in memory and could not be finished: they are lost",
			say_count(s->lost, "process"));
	if (s->late)
		say_late(c);
}

/* torch-tb-profiler 0.4.3, the one of the package index, passes over the categories that
 * torch writes today for data loading and CUDA calls. */
static void say_viewer(const struct closing *c)
{
	const struct totals *s = c->totals;
	bool loads = s->loader_nexts, calls = s->events[REC_CALL];

	say_note("to see them: tensorboard --logdir %s", say_path(c->config->logdir));
	if (c->config->dialect == DIALECT_KINETO && (loads || calls))
		say_note(
			"torch-tb-profiler 0.4.3 shows no time for %s%s%s in files of this dialect: record with --dialect tb043 for it",
			loads ? "DataLoader" : "", loads && calls ? " and " : "",
			calls ? "CUDA calls" : "");
}

/* Of several files the report finds the one that tells most itself. */
static void say_report(const struct closing *c)
{
	const struct totals *s = c->totals;
	const char *place = s->files == 1 ? s->last_file : c->config->logdir;

	if (c->summary) {
		summary_say(c->summary, s);
		return;
	}
	if (!*s->last_file || !s->events[REC_OP])
		return;
	if (c->config->report && glance_report(place))
		return;
	if (!say_quiet && isatty(STDERR_FILENO))
		glance_say(place);
	say_note("where the time went: proflaunch report %s", say_path(place));
}

void closing_say(const struct closing *c)
{
	const struct totals *s = c->totals;
	bool told = absent_say(c);

	say_unfinished(c);
	if (s->files)
		say_files(c);
	if (s->files)
		closing_early(c);
	else if (!told && !s->living && !s->failed && !s->lost && !s->late)
		closing_nothing(c);
	say_asides(c);
	closing_losses(c);
	if (s->files && (events_of(s) || !c->config->malloc))
		say_viewer(c);
	say_report(c);
	if (*s->last_file && (c->config->malloc || c->config->profile_memory))
		say_note("what ate the memory: proflaunch memory %s",
			 say_path(s->last_file));
}
