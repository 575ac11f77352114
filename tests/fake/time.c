/* SPDX-License-Identifier: Apache-2.0 */
/* time - the timelines of the streams: what runs when, and waiting for it. */
#include "tests/fake/driver_internal.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { GAP = 500 }; /* ns between two pieces of work of one stream */

uint64_t time_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void time_until(uint64_t when)
{
	struct timespec t = { (time_t)(when / 1000000000u), (long)(when % 1000000000u) };

	while (script_hangs("sync"))
		pause();
	while (time_now() < when)
		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL);
}

static uint64_t hashed(const char *name)
{
	return 2000 + fake_value(0, name, 0) % 48000;
}

/* How long it takes and what it needs, looked up again after a fake_set. */
static uint64_t kernel_duration(struct fake_function *f)
{
	uint64_t generation = script_generation();
	long long ns;
	long registers, shared;

	if (f->settings == generation)
		return f->duration;
	script_kernel(f->name, &ns, &registers, &shared);
	if (ns < 0)
		ns = script_number("FAKE_KERNEL_NS", -1);
	f->duration = ns >= 0 ? (uint64_t)ns : hashed(f->name);
	f->registers = registers >= 0 ? (uint32_t)registers : 32;
	f->static_shared = shared >= 0 ? (uint32_t)shared : 0;
	f->settings = generation;
	return f->duration;
}

uint64_t time_duration(const struct fake_work *work)
{
	long long ns;

	if (work->duration)
		return work->duration;
	if (work->kind == WORK_KERNEL)
		return kernel_duration(work->function);
	if (work->kind == WORK_HOST)
		return 5000;
	ns = SETTING("FAKE_COPY_NS", -1);
	return ns >= 0 ? (uint64_t)ns : 1000 + work->bytes / 10;
}

EXPORT uint64_t fake_duration(const char *kernel)
{
	struct fake_function f = { .name = kernel };
	struct fake_work work = { .kind = WORK_KERNEL, .function = &f };

	return time_duration(&work);
}

static void count(const struct fake_work *work)
{
	uint64_t ns = work->end - work->start;

	switch (work->kind) {
	case WORK_KERNEL:
		totals.kernels++;
		totals.kernel_ns += ns;
		break;
	case WORK_COPY:
		totals.copies++;
		totals.copy_ns += ns;
		totals.copy_bytes += work->bytes;
		break;
	case WORK_SET:
		totals.sets++;
		totals.set_ns += ns;
		totals.set_bytes += work->bytes;
		break;
	case WORK_GRAPH:
		totals.graph_launches++;
		break;
	case WORK_HOST:
		break;
	}
	if (work->end > totals.last_end)
		totals.last_end = work->end;
}

/* work->start as wished (0: as soon as it can); the lock is held. */
static void place(struct fake_work *work)
{
	struct fake_stream *s = work->stream;
	struct fake_context *c = s->context;
	uint64_t first = work->queued;

	if (s->last_end + GAP > first && s->last_end)
		first = s->last_end + GAP;
	if (s->legacy && c->blocking_end + GAP > first && c->blocking_end)
		first = c->blocking_end + GAP;
	if (s->blocking && c->legacy_end + GAP > first && c->legacy_end)
		first = c->legacy_end + GAP;
	if (work->start < first)
		work->start = first;
	work->end = work->start + time_duration(work);
}

static void placed(const struct fake_work *work)
{
	struct fake_stream *s = work->stream;

	if (work->end > s->last_end)
		s->last_end = work->end;
	if (s->legacy && work->end > s->context->legacy_end)
		s->context->legacy_end = work->end;
	if (s->blocking && work->end > s->context->blocking_end)
		s->context->blocking_end = work->end;
	count(work);
}

int time_submit(struct fake_work *work)
{
	long long latency = SETTING("FAKE_LATENCY_NS", 5000);

	gpu_lock();
	work->queued = time_now() + (uint64_t)latency;
	if (work->kind != WORK_GRAPH || !work->end)
		place(work);
	placed(work);
	gpu_unlock();
	observer->work(work);
	return 0;
}

int time_launch(struct fake_work *work, void **args)
{
	struct fake_function *f = work->function;
	struct fake_node node = { .work = *work };

	if (!f)
		return cudaErrorInvalidDeviceFunction;
	if (graph_add(work->stream, &node))
		return 0;
	if (!f->loaded) {
		uint64_t begin = time_now();

		f->loaded = true;
		observer->resource(MODULE_MADE, f, begin, begin + 3000);
	}
	if (f->body)
		f->body(args);
	return time_submit(work);
}

int time_copy(struct fake_work *work, void *to, const void *from)
{
	struct fake_node node = { .work = *work, .to = to, .from = from };

	if (graph_add(work->stream, &node))
		return work->async ? 0 : cudaErrorStreamCaptureUnsupported;
	memmove(to, from, work->bytes);
	time_submit(work);
	if (!work->async)
		time_until(work->end);
	return 0;
}

int time_set(struct fake_work *work, void *at)
{
	struct fake_node node = { .work = *work, .to = at };

	if (graph_add(work->stream, &node))
		return 0;
	memset(at, (int)work->value, work->bytes);
	return time_submit(work);
}

struct host_call {
	void (*run)(void *);
	void *data;
	uint64_t at;
};

static void *host_thread(void *arg)
{
	struct host_call *call = arg;

	time_until(call->at);
	call->run(call->data);
	free(call);
	return NULL;
}

int time_host(struct fake_stream *stream, void (*run)(void *), void *data)
{
	struct fake_work work = { .kind = WORK_HOST, .stream = stream };
	struct fake_node node = { .work = work, .host = run, .data = data };
	struct host_call *call;
	pthread_t thread;

	if (graph_add(stream, &node))
		return 0;
	time_submit(&work);
	call = malloc(sizeof(*call));
	*call = (struct host_call){ run, data, work.start };
	if (pthread_create(&thread, NULL, host_thread, call) != 0) {
		free(call);
		return cudaErrorUnknown;
	}
	pthread_detach(thread);
	return 0;
}

static void waited(uint32_t type, uint64_t start, struct fake_context *context,
		   struct fake_stream *stream, struct fake_event *event, int result,
		   bool query)
{
	struct fake_sync sync = { .type = type,
				  .start = start,
				  .end = time_now(),
				  .context = context,
				  .stream = stream,
				  .event = event,
				  .result = result,
				  .query = query };

	observer->sync(&sync);
}

int time_wait_stream(struct fake_stream *stream, bool only_look)
{
	uint64_t start = time_now(), until = stream->last_end;

	if (stream->capture) {
		stream->capture->invalid = true;
		return cudaErrorStreamCaptureUnsupported;
	}
	if (stream->legacy && stream->context->blocking_end > until)
		until = stream->context->blocking_end;
	if (only_look) {
		int result = start >= until ? 0 : cudaErrorNotReady;

		waited(3, start, stream->context, stream, NULL, result, true);
		return result;
	}
	time_until(until);
	waited(3, start, stream->context, stream, NULL, 0, false);
	return 0;
}

int time_wait_context(struct fake_context *context)
{
	uint64_t start = time_now(), until = 0;

	for (struct fake_stream *s = context->streams; s; s = s->next)
		if (s->last_end > until)
			until = s->last_end;
	time_until(until);
	waited(4, start, context, NULL, NULL, 0, false);
	return 0;
}

int time_wait_event(struct fake_event *event, bool only_look)
{
	uint64_t start = time_now();

	if (event->capture)
		return cudaErrorStreamCaptureUnsupported;
	if (only_look) {
		int result = start >= event->at ? 0 : cudaErrorNotReady;

		waited(1, start, event->context, NULL, event, result, true);
		return result;
	}
	time_until(event->at);
	waited(1, start, event->context, NULL, event, 0, false);
	return 0;
}

int time_stream_waits(struct fake_stream *stream, struct fake_event *event)
{
	uint64_t start = time_now();

	if (event->capture) {
		stream->capture = event->capture;
		return 0;
	}
	gpu_lock();
	if (event->at > stream->last_end)
		stream->last_end = event->at;
	gpu_unlock();
	waited(2, start, stream->context, stream, event, 0, false);
	return 0;
}

struct fake_event *time_event_create(void)
{
	static uint32_t next;
	struct fake_event *event = calloc(1, sizeof(*event));

	event->context = device_current(true);
	event->id = __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED);
	return event;
}

int time_record(struct fake_event *event, struct fake_stream *stream)
{
	static uint64_t next;
	struct fake_sync sync = { .context = stream->context,
				  .stream = stream,
				  .event = event };

	event->capture = stream->capture;
	event->stream = stream;
	if (stream->capture)
		return 0;
	gpu_lock();
	event->at = stream->last_end > time_now() ? stream->last_end : time_now();
	event->sync = ++next;
	gpu_unlock();
	sync.start = sync.end = event->at;
	observer->sync(&sync);
	return 0;
}
