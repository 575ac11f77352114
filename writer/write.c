/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/log.h"
#include "agent/core/sys.h"
#include "writer/trace.h"

#include <errno.h>

static int put_block(void *arg, const char *text, size_t len)
{
	struct trace *t = arg;

	return output_write(&t->out, text, len);
}

/* The estimate: what a sampled event cost, times all of them. */
static uint64_t overhead_ns(const struct trace *t)
{
	struct cycle_info *info = (struct cycle_info *)t->info;
	uint64_t samples = atomic_load(&info->cost_samples), events = 0;
	double ns;

	for (unsigned i = 0; i < REC_CALL; i++) /* the others cost the program nothing */
		events += t->cycle.events[i];
	if (!samples)
		return 0;
	ns = (double)atomic_load(&info->cost_ticks) / (double)samples * (double)events *
	     1e9 / clock_rate(t->view->head);
	return ns > 0 && ns < 1e18 ? (uint64_t)ns : 0;
}

static void count(struct trace *t)
{
	struct cycle_info *info = (struct cycle_info *)t->info;

	for (unsigned i = 0; i < REC_KINDS; i++) {
		t->result->events[i] = t->cycle.events[i];
		t->result->drops[i] = atomic_load(&info->drops[i]) + t->cycle.late[i];
	}
	for (unsigned i = 0; i < HEAP_COUNTS; i++)
		t->result->heap[i] = atomic_load(&info->heap[i]);
	t->result->overhead_ns = overhead_ns(t);
	cuda_counts(t, t->result->cuda);
}

static bool is_empty(const struct trace *t)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < REC_KINDS; i++)
		all += t->result->events[i] + t->result->drops[i];
	/* How large a process was that did nothing else. */
	if (t->config->malloc != HEAP_IS_COUNT)
		all -= t->result->events[REC_HEAP];
	return !all;
}

static int write_events(struct trace *t)
{
	int err;

	meta_head(t);
	meta_rows(t);
	err = events_write(t);
	if (!err && t->cuda)
		err = cuda_write(t);
	heap_events(t);
	meta_tail(t);
	json_flush(&t->json);
	return err ? err : t->json.err;
}

static int write_file(struct trace *t, const char *path)
{
	int err = output_open(&t->out, path, t->config->format == FORMAT_JSON_GZ);

	if (!err)
		err = write_events(t);
	if (!err)
		err = output_finish(&t->out);
	if (err)
		output_abort(&t->out);
	return err;
}

static int write_cycle(struct trace *t)
{
	char path[OUTPUT_PATH] = "";
	int err = read_cycle(&t->cycle, t->view, t->index, t->info);

	if (!err)
		err = cuda_read(t);
	if (err)
		goto out;
	row_init(&t->row, t->view->head, t->cycle.begin, t->cycle.end);
	if (t->cuda)
		err = cuda_place(t);
	if (err)
		goto out;
	count(t);
	if (is_empty(t))
		return 0;
	err = heap_read(t);
	if (!err)
		err = links_find(&t->links, &t->cycle);
	if (!err && t->config->record_shapes && !(t->inputs = inputs_new()))
		err = -ENOMEM;
	if (!err)
		err = pattern_path(t, path, sizeof(path));
	if (!err)
		err = write_file(t, path);
	if (!err) {
		memcpy(t->result->path, t->out.path, sizeof(t->result->path));
		t->result->bytes = t->out.bytes;
	}
out:
	if (err)
		log_warn("cannot write %s: %s", path[0] ? path : t->config->logdir,
			 sys_error(err));
	return err;
}

int trace_write(const struct spool_view *v, const struct read_index *ix,
		const struct cycle_info *info, const struct config *config,
		struct writer_result *result)
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
	t->pid = v->head->pid;
	t->base_ns = v->head->base_ns;
	t->out.fd = -1;
	json_init(&t->json, t->text, sizeof(t->text), put_block, t);
	err = write_cycle(t);
	row_free(&t->row);
	links_free(&t->links);
	heap_done(t);
	cuda_free(t);
	read_free(&t->cycle);
	if (t->inputs)
		inputs_free(t->inputs);
	pile_unmap(t, sizeof(*t));
	return err;
}

int writer_cycle(const struct spool_view *v, const struct cycle_info *info,
		 const struct config *config, struct writer_result *result)
{
	struct read_index ix;
	int err = read_index(&ix, v);

	if (err)
		return err;
	err = trace_write(v, &ix, info, config, result);
	read_index_free(&ix);
	return err;
}
