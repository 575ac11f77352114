/* SPDX-License-Identifier: Apache-2.0 */
/* A window of a spool written as one file. */
#include "agent/core/spool_view.h"
#include "base/log.h"
#include "base/sys.h"
#include "writer/cost.h"
#include "writer/symbols/symbols.h"
#include "writer/trace.h"

#include <errno.h>

#define SMALL_NS   1000000000ll
#define SMALL_PEAK (16ll << 20)

void (*writer_begins)(const char *path);

/* Takes the file's text; writer_beat can stop a writer between two blocks. */
static int put_block(void *arg, const char *text, size_t len)
{
	struct trace *t = arg;

	if (writer_beat && writer_beat())
		return -ECANCELED;
	return output_write(&t->out, text, len);
}

/* Fills the caller's result, from the window itself and from what the agent counted
 * beside it. */
static void fill_result(struct trace *t)
{
	struct cycle_info *info = (struct cycle_info *)t->info;

	for (unsigned i = 0; i < REC_KINDS; i++) {
		t->result->events[i] = t->cycle.events[i];
		t->result->drops[i] = atomic_load(&info->drops[i]) + t->cycle.late[i];
	}
	t->result->events[REC_HEAP] += heap_seen(t);
	for (unsigned i = 0; i < HEAP_COUNTS; i++)
		t->result->heap[i] = atomic_load(&info->heap[i]);
	for (unsigned i = 0; i < PYTHON_COUNTS; i++)
		t->result->python[i] = atomic_load(&info->python[i]);
	t->result->steps += t->cycle.own_steps.n;
	gpu_counts(t, t->result->cuda);
}

static bool is_empty(const struct trace *t)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < REC_KINDS; i++)
		all += t->result->events[i] + t->result->drops[i];
	/* REC_HEAP records, a process's size over time, are no reason for a file when
	 * there is nothing else, except with malloc=count. */
	if (t->config->malloc != MALLOC_COUNT)
		all -= t->result->events[REC_HEAP];
	return !all;
}

/* Has the window step marks and nothing else, not even drops? Not with malloc, as the
 * file has tracks of the heap then; nor where the GPU was recorded, as the file says that
 * it was idle. */
static bool has_steps_alone(const struct trace *t)
{
	for (unsigned i = 0; i < REC_KINDS; i++)
		if (t->result->drops[i] ||
		    (t->result->events[i] && i != REC_STEP && i != REC_HEAP))
			return false;
	for (unsigned i = 0; i < CUDA_COUNTS; i++)
		if (t->result->cuda[i])
			return false;
	if (atomic_load(&((struct cycle_info *)t->info)->cuda_state) != CUDA_NONE)
		return false;
	return t->config->malloc == MALLOC_OFF && t->result->events[REC_STEP];
}

/* Says so once: there may be thousands of such windows. */
static void say_steps_alone(const struct trace *t)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		log_note("process %u: a window had step marks and nothing else that was "
			 "recorded: it gets no file, nor does any other like it",
			 t->pid);
}

static int write_events(struct trace *t)
{
	int err;

	meta_head(t);
	meta_rows(t);
	err = events_write(t);
	if (!err && t->cuda)
		err = gpu_write(t);
	heap_events(t);
	meta_tail(t);
	json_flush(&t->json);
	return err ? err : t->json.err;
}

static int write_file(struct trace *t, const char *path, bool timed)
{
	int err;

	if (writer_begins)
		writer_begins(path);
	err = output_open(&t->out, t->config->logdir, path,
			  t->config->format == FORMAT_JSON_GZ);
	if (!timed)
		t->out.stamp = (uint64_t)t->info->stamp_ns;
	err = err ?: write_events(t) ?: output_finish(&t->out);
	if (err)
		output_abort(&t->out);
	return err;
}

/* ---- a row instead of a file ---- */

/* Has the process more than heap records? Then it gets a file, however small it is. */
static bool has_more_than_heap(const struct trace *t)
{
	const struct spool_sched *s = &t->view->head->sched;
	size_t len;

	for (unsigned i = 1; i < REC_KINDS; i++)
		if (t->result->events[i] && i != REC_THREAD && i != REC_ALLOC &&
		    i != REC_FREE && i != REC_HEAP)
			return true;
	return t->cuda || atomic_load(&((struct spool_sched *)s)->boundaries) ||
	       facts_get(t->view->head, "torch", &len);
}

/* Is the process without torch, CUDA and steps, short and small, so that it becomes a
 * row? */
static bool is_small(struct trace *t)
{
	/* The row's times: in a fork child's header the clock is its parent's. */
	struct writer_small s = { .begin_ns = t->row.begin_ns, .end_ns = t->row.end_ns };

	if (!t->plan || !t->plan->small || !t->plan->small(t->plan->arg) ||
	    has_more_than_heap(t))
		return false;
	if (t->heap)
		heap_small(t, &s);
	if (s.end_ns - s.begin_ns >= SMALL_NS || s.peak >= SMALL_PEAK)
		return false;
	t->result->small = s;
	t->result->is_small = true;
	return true;
}

/* A process that was killed has lived at least as long as the finisher saw it. */
static void end_after_seen(struct trace *t)
{
	uint64_t last = t->plan && t->plan->seen_n
				? t->plan->seen[t->plan->seen_n - 1].r.begin
				: 0;

	if (!t->info->end && last > t->cycle.end)
		t->cycle.end = last;
}

/* Names the frames of all native stacks at once. */
static int name_stacks(struct trace *t)
{
	int err = python_start(t);

	t->symbols = symbols_new(t->view);
	if (!t->symbols)
		return -ENOMEM;
	err = err ?: heap_choose(t) ?: python_want_ops(t) ?: gpu_want_stacks(t);
	if (err)
		return err;
	symbols_resolve(t->symbols);
	python_count_ops(t);
	gpu_count_stacks(t);
	return heap_name(t);
}

static int write_cycle(struct trace *t)
{
	char path[OUTPUT_PATH] = "";
	bool timed = false;
	int err = read_cycle(&t->cycle, t->view, t->index, t->info);

	if (!err)
		err = gpu_read(t);
	if (err)
		goto out;
	end_after_seen(t);
	row_init(&t->row, t->view->head, t->cycle.begin, t->cycle.end);
	if (t->cuda)
		err = gpu_place(t);
	if (err)
		goto out;
	fill_result(t);
	if (is_empty(t))
		return 0;
	if (has_steps_alone(t)) {
		say_steps_alone(t);
		return 0;
	}
	err = heap_read(t);
	if (!err)
		cost_fill(t);
	if (!err && is_small(t))
		return 0;
	t->result->peak = heap_peak(t);
	err = err ?: name_stacks(t) ?: fwdbwd_find(&t->links, &t->cycle) ?: nn_start(t);
	flops_sum_start(t);
	if (!err && config_wants_inputs(t->config) && !(t->inputs = inputs_new()))
		err = -ENOMEM;
	err = err ?: pattern_path(t, path, sizeof(path), &timed) ?: write_file(t, path, timed);
	if (!err) {
		memcpy(t->result->path, t->out.path, sizeof(t->result->path));
		t->result->bytes = t->out.bytes;
	}
out:
	if (err && err != -ECANCELED)
		log_warn("cannot write %s: %s", path[0] ? path : t->config->logdir,
			 output_error(err));
	return err;
}

int write_trace(const struct spool_view *v, const struct read_index *ix,
		const struct cycle_info *info, const struct config *config,
		const struct writer_plan *plan, struct writer_result *result)
{
	struct trace *t = pile_map(sizeof(*t));
	int err;

	memset(result, 0, sizeof(*result));
	if (!t) {
		log_warn("cannot write a trace: %s", sys_error(ENOMEM));
		return -ENOMEM;
	}
	t->view = v;
	t->index = ix;
	t->info = info;
	t->config = config;
	t->result = result;
	t->plan = plan;
	t->pid = v->head->pid;
	t->base_ns = v->head->base_ns;
	t->out.fd = -1;
	json_init(&t->json, t->text, sizeof(t->text), put_block, t);
	err = write_cycle(t);
	row_free(&t->row);
	fwdbwd_free(&t->links);
	heap_done(t);
	python_free(t);
	symbols_free(t->symbols);
	nn_free(t);
	gpu_free(t);
	read_free(&t->cycle);
	inputs_free(t->inputs);
	pile_unmap(t, sizeof(*t));
	return err;
}
