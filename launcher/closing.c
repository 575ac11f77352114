/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/closing.h"
#include "agent/sched/schedule.h"
#include "launcher/find.h"
#include "launcher/say.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_SCHEDULE "wait=1,warmup=1,active=3,repeat=1"
#define MALLOC_SAMPLE    2 /* of off, count, sample, all */

static const char *const kind_text[] = {
#define KIND(name, text) text,
	RECORD_KINDS(KIND)
#undef KIND
};

/* A path as one can paste it into a shell; from a ring of two. */
static const char *quoted(const char *path)
{
	static char ring[2][4 * PATH_MAX];
	static unsigned at;
	char *out = ring[at++ % 2], *p = out;

	if (!path[strspn(path,
			 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			 "/._-+:,@%=")])
		return path;
	*p++ = '\'';
	for (; *path && p < out + sizeof(ring[0]) - 8; path++)
		p += *path == '\'' ? sprintf(p, "'\\''") : sprintf(p, "%c", *path);
	strcpy(p, "'");
	return out;
}

static uint64_t events_of(const struct sweep *s)
{
	static const enum record_kind kinds[] = {
		REC_OP,     REC_ANNOTATION, REC_MEMORY, REC_OOM,        REC_CALL,
		REC_KERNEL, REC_COPY,       REC_SET,    REC_GRAPH,      REC_SYNC,
		REC_EVENT,  REC_OVERHEAD,   REC_BLOCK,  REC_COLLECTIVE,
	};
	uint64_t n = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		n += s->events[kinds[i]];
	return n;
}

static uint64_t gpu_events_of(const struct sweep *s)
{
	return s->events[REC_KERNEL] + s->events[REC_COPY] + s->events[REC_SET] +
	       s->events[REC_GRAPH];
}

/* Whole graphs take their kernels' place: "0 kernels" would look like a loss. */
static void say_gpu(const struct sweep *s)
{
	uint64_t kernels = s->events[REC_KERNEL], graphs = s->events[REC_GRAPH];
	bool both = graphs && kernels;

	say_note("on the GPU: %s%s%s, %s, from %s",
		 kernels || !graphs ? say_count(kernels, "kernel") : "", both ? ", " : "",
		 graphs ? say_count(graphs, "graph") : "",
		 say_count(s->events[REC_COPY] + s->events[REC_SET], "memory operation"),
		 say_count(s->events[REC_CALL], "CUDA call"));
}

static void say_files(const struct closing *c)
{
	const struct sweep *s = c->sweep;
	char cost[96] = "";

	if (s->cost_ns && c->seconds > 0)
		snprintf(cost, sizeof(cost),
			 ", about %.3g ms of overhead (%.2g %% of the run)",
			 (double)s->cost_ns / 1e6, (double)s->cost_ns / 1e7 / c->seconds);
	say_note("%s in %s: %s, %s%s", say_count(s->files, "trace file"),
		 c->config->logdir, say_count(s->steps, "step"),
		 say_count(events_of(s), "event"), cost);
	if (gpu_events_of(s) || s->events[REC_CALL])
		say_gpu(s);
	if (s->events[REC_ALLOC] || s->events[REC_FREE])
		say_note("on the heap: %s, %s%s",
			 say_count(s->events[REC_ALLOC], "allocation"),
			 say_count(s->events[REC_FREE], "free"),
			 c->config->malloc == MALLOC_SAMPLE ? " (a sample)" : "");
	if (*s->chosen && !strcmp(c->config->marker, "auto"))
		say_note("step boundaries: %s, %s seen", s->chosen,
			 say_number(s->boundaries));
}

static void say_drops(const struct closing *c)
{
	const struct sweep *s = c->sweep;
	char list[512] = "";
	size_t n = 0;

	for (unsigned i = 1; i < REC_KINDS; i++)
		if (s->drops[i] && n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s %s",
					      n ? ", " : "", say_number(s->drops[i]),
					      kind_text[i]);
	if (n)
		say_warn("not recorded: %s", list);
	if (s->missed)
		say_warn("%s could not be opened: all memory was in use",
			 say_count(s->missed, "window"));
	if (s->whys[DROP_CAP] || s->missed)
		say_warn(
			"buffer_mb = %u was full: try --buffer-mb %u, or fewer active steps",
			c->config->buffer_mb, 4 * c->config->buffer_mb);
	if (s->whys[DROP_LATE])
		say_warn("%s came after its window had been written",
			 say_count(s->whys[DROP_LATE], "event"));
}

/* What is missing of the GPU, in the order of how much can be done about it. */
static void say_gpu_losses(const struct closing *c)
{
	const uint64_t *n = c->sweep->cuda;
	uint64_t lost = n[CUDA_DROPPED] + n[CUDA_DISCARDED];
	uint64_t odd = n[CUDA_REVERSED] + n[CUDA_OUTSIDE];

	if (lost)
		say_warn("%s lost: cuda_buffer_mb = %u was full: try --cuda-buffer-mb %u",
			 say_count(lost, "GPU record"), c->config->cuda_buffer_mb,
			 4 * c->config->cuda_buffer_mb);
	if (n[CUDA_ZERO])
		say_warn(
			"%s without a time: cuda_device_buffer_mb = %u was full, or CUPTI does not fit the CUDA runtime (proflaunch doctor says); try --cuda-device-buffer-mb %u",
			say_count(n[CUDA_ZERO], "GPU record"),
			c->config->cuda_device_buffer_mb,
			4 * c->config->cuda_device_buffer_mb);
	if (odd)
		say_warn("%s with times that cannot be, left out: was the clock set?",
			 say_count(odd, "GPU record"));
	if (n[CUDA_UNDECODED])
		say_warn(
			"%s of CUPTI could not be read to the end: a newer proflaunch may know this CUPTI",
			say_count(n[CUDA_UNDECODED], "buffer"));
	if (n[CUDA_MISSING])
		say_warn("%s whose GPU work never came back",
			 say_count(n[CUDA_MISSING], "launch"));
	if (n[CUDA_UNMATCHED])
		say_warn("%s of GPU work whose launch was not seen",
			 say_count(n[CUDA_UNMATCHED], "piece"));
	if (n[CUDA_LATE])
		say_warn("%s came after its window had been written",
			 say_count(n[CUDA_LATE], "GPU record"));
	if (n[CUDA_GAPS])
		say_warn(
			"the GPU was not recorded for %.3g s: another profiler had CUPTI (%s)",
			(double)n[CUDA_GAP_NS] / 1e9, say_count(n[CUDA_GAPS], "time"));
}

/* What is off about call stacks; those that were cut were asked to be. */
static void say_stack_losses(const struct closing *c)
{
	const uint64_t *n = c->sweep->heap;

	if (n[HEAP_DISAGREED])
		say_warn(
			"%s of %s walked twice disagreed: what was remembered of earlier walks led elsewhere than the unwind tables",
			say_number(n[HEAP_DISAGREED]),
			say_count(n[HEAP_CHECKED], "call stack"));
	if (n[HEAP_ENDED])
		say_note(
			"%s of %s end at code without unwind tables: their outer frames are not there",
			say_number(n[HEAP_ENDED]),
			say_count(n[HEAP_STACKS], "call stack"));
	if (n[HEAP_UNKNOWN_STACK])
		say_warn(
			"%s without a call stack: there was no room for more; try --buffer-mb %u",
			say_count(n[HEAP_UNKNOWN_STACK], "allocation"),
			4 * c->config->buffer_mb);
}

/* ---- nothing was recorded: why, and what to do ---- */

static const char *seen(const struct sweep *s)
{
	static char text[256];

	if (s->optimizer_steps)
		snprintf(text, sizeof(text), "%s Optimizer.step",
			 say_number(s->optimizer_steps));
	else if (s->boundaries)
		snprintf(text, sizeof(text), "%s step ends", say_number(s->boundaries));
	else if (s->loader_nexts)
		snprintf(text, sizeof(text), "%s DataLoader batches",
			 say_number(s->loader_nexts));
	else
		snprintf(text, sizeof(text), "no end of a step");
	return text;
}

static void say_no_boundary(const struct closing *c)
{
	const char *marker = c->config->marker;

	if (strcmp(marker, "auto"))
		say_warn(
			"nothing was recorded: the marker %s was never seen; check its spelling, or try --marker auto",
			marker);
	else if (c->sweep->loader_nexts)
		say_warn(
			"nothing was recorded: %s of a DataLoader were seen but no Optimizer.step, and too few to take batches for steps; name what ends a step (--marker torch:<name>), or record all of it: --marker none",
			say_count(c->sweep->loader_nexts, "__next__"));
	else
		say_warn(
			"nothing was recorded: no Optimizer.step and no DataLoader was seen, so no step ended; name what ends a step (--marker torch:<name>), or record all of it: --marker none");
}

static void say_no_window(const struct closing *c)
{
	const struct sweep *s = c->sweep;
	const char *text = *c->config->schedule ? c->config->schedule : DEFAULT_SCHEDULE;
	struct schedule plan;

	if (schedule_parse(&plan, text)) {
		say_warn("nothing was recorded: %s cannot be read as a schedule", text);
		return;
	}
	say_warn(
		"nothing was recorded: saw %s, the schedule needs %s before its first window; try --schedule wait=0,warmup=1,active=1",
		seen(s), say_number(plan.skip_first + plan.wait + plan.warmup));
}

static bool waits_for_torch(const char *marker)
{
	return !strcmp(marker, "auto") || !strncmp(marker, "torch:", 6);
}

static void say_nothing(const struct closing *c)
{
	const struct sweep *s = c->sweep;

	if (c->started && !s->spools)
		say_note("records lay in memory: what was written is in %s",
			 c->config->logdir);
	else if (!s->spools && c->config->malloc && waits_for_torch(c->config->marker))
		say_warn(
			"nothing was recorded: libtorch was not used, and the marker %s waits for it; the heap of any program: --marker none, or --marker time:1000 for steps",
			c->config->marker);
	else if (!s->spools)
		say_note(
			"nothing was recorded: neither libtorch nor CUDA was used by the program or its children (proflaunch doctor -- <command> says more)");
	else if (s->windows && c->config->malloc == MALLOC_SAMPLE)
		say_warn(
			"nothing was recorded: a window was open, but no operator ran in it, and too little was allocated for a sample: try --malloc all");
	else if (s->windows)
		say_warn(
			"nothing was recorded: a window was open, but no operator ran in it");
	else if (!s->boundaries)
		say_no_boundary(c);
	else
		say_no_window(c);
}

void closing_say(const struct closing *c)
{
	const struct sweep *s = c->sweep;

	if (s->living)
		say_note(
			"%s still in use by running processes: proflaunch recover %s finishes what they leave",
			say_count(s->living, "spool"), quoted(c->config->logdir));
	if (s->failed)
		say_warn("%s could not be finished; they lie in %s",
			 say_count(s->failed, "spool"), c->spool_dir);
	if (s->files)
		say_files(c);
	else if (!s->living && !s->failed)
		say_nothing(c);
	say_drops(c);
	say_gpu_losses(c);
	say_stack_losses(c);
	if (s->files && (events_of(s) || !c->config->malloc))
		say_note("to see them: tensorboard --logdir %s",
			 quoted(c->config->logdir));
	if (*s->last_file && (c->config->malloc || c->config->profile_memory))
		say_note("what ate the memory: proflaunch memory %s",
			 quoted(s->last_file));
}
