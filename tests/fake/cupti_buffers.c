/* SPDX-License-Identifier: Apache-2.0 */
/* cupti_buffers - buffers: asked for, filled, completed, handed back. */
#include "tests/fake/cupti_internal.h"

#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

struct buffer {
	struct buffer *next;
	uint8_t *at;
	size_t size, used, limit, records; /* limit: records, 0 = none */
	uint64_t complete; /* raw: when its last record is */
};

/* Where records go: one for all threads, or one for each. */
struct slot {
	struct slot *next;
	pthread_mutex_t mutex;
	struct buffer *buffer;
};

static struct slot shared = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static struct slot *slots = &shared;
static __thread struct slot *own;
static __thread struct slot *writing;
static __thread size_t writing_size;
static __thread bool in_completed;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, done = PTHREAD_COND_INITIALIZER;
static struct buffer *full; /* wait for their last record */
static struct buffer *ready; /* to be handed back */
static struct buffer *out; /* handed to nobody: what we hold, to notice reuse */
static uint64_t queued, handed;
static bool working;

/* ---- handing back ---- */

static void reverse(struct buffer *b)
{
	uint8_t *copy = malloc(b->used), *to = copy + b->used;
	size_t at = 0;

	memcpy(copy, b->at, b->used);
	while (at < b->used) {
		size_t stride = name_stride(*(uint32_t *)(b->at + at));

		if (stride == 0 || at + stride > b->used)
			break;
		to -= stride;
		memcpy(to, b->at + at, stride);
		at += stride;
	}
	if (at == b->used)
		memcpy(b->at, copy, b->used);
	free(copy);
}

static void forget(struct buffer *b)
{
	struct buffer **link;

	pthread_mutex_lock(&mutex);
	for (link = &out; *link && (*link)->at != b->at; link = &(*link)->next)
		;
	if (*link) {
		struct buffer *gone = *link;

		*link = gone->next;
		free(gone);
	}
	pthread_mutex_unlock(&mutex);
}

static void hand_back(struct buffer *b)
{
	const char *order = cupti_text("FAKE_ORDER"), *hang = cupti_text("FAKE_HANG");

	while (hang && strcmp(hang, "complete") == 0)
		pause();
	if (order && strcmp(order, "reverse") == 0)
		reverse(b);
	forget(b);
	pthread_mutex_lock(&cupti.mutex);
	cupti.counts.completed++;
	cupti.counts.buffers_out--;
	pthread_mutex_unlock(&cupti.mutex);
	in_completed = true;
	cupti.completed(NULL, 0, b->at, b->size, b->used);
	in_completed = false;
	free(b);
}

/* In order, however many wait; mutex held. */
static void append(struct buffer **link, struct buffer *b)
{
	while (*link)
		link = &(*link)->next;
	b->next = NULL;
	*link = b;
}

/* Full buffers whose records are complete by now go to the queue; mutex held. */
static void move_complete(bool forced)
{
	uint64_t now = cupti_raw();

	for (struct buffer **link = &full; *link;) {
		struct buffer *b = *link;

		if (b->complete > now && !forced) {
			link = &b->next;
			continue;
		}
		*link = b->next;
		append(&ready, b);
		queued++;
	}
}

static void *worker(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "fake-cupti", 0, 0, 0); /* else its maker's */
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct buffer *b;

		move_complete(false);
		b = ready;
		if (!b) {
			struct timespec t;

			clock_gettime(CLOCK_REALTIME, &t);
			t.tv_nsec += 2000000;
			t.tv_sec += t.tv_nsec / 1000000000;
			t.tv_nsec %= 1000000000;
			if (full)
				pthread_cond_timedwait(&more, &mutex, &t);
			else
				pthread_cond_wait(&more, &mutex);
			continue;
		}
		ready = b->next;
		pthread_mutex_unlock(&mutex);
		if (cupti_text("FAKE_COMPLETE") &&
		    strcmp(cupti_text("FAKE_COMPLETE"), "late") == 0)
			usleep(20000);
		hand_back(b);
		pthread_mutex_lock(&mutex);
		handed++;
		pthread_cond_broadcast(&done);
	}
	return NULL;
}

static void wake(void)
{
	pthread_t thread;

	if (!working) {
		working = true;
		if (pthread_create(&thread, NULL, worker, NULL) == 0)
			pthread_detach(thread);
	}
	pthread_cond_signal(&more);
}

static void retire(struct buffer *b)
{
	pthread_mutex_lock(&mutex);
	append(&full, b);
	wake();
	pthread_mutex_unlock(&mutex);
}

/* ---- asking ---- */

static void hold(uint8_t *at)
{
	struct buffer *b = calloc(1, sizeof(*b));

	pthread_mutex_lock(&mutex);
	for (struct buffer *o = out; o; o = o->next)
		if (o->at == at)
			broken("a buffer was given again before it was handed back");
	b->at = at;
	b->next = out;
	out = b;
	pthread_mutex_unlock(&mutex);
}

static struct buffer *ask(size_t size)
{
	struct buffer *b = calloc(1, sizeof(*b));

	if (cupti.requested)
		cupti.requested(&b->at, &b->size, &b->limit);
	pthread_mutex_lock(&cupti.mutex);
	cupti.counts.requested++;
	if (!b->at || b->size < size) {
		cupti.counts.refused++;
		pthread_mutex_unlock(&cupti.mutex);
		if (!b->at && cupti.requested && CUPTI_API_VERSION < 27)
			broken("a NULL buffer: CUPTI before 12.9 crashes");
		/* Too small for a record: handed back as it is. */
		if (b->at && cupti.completed)
			cupti.completed(NULL, 0, b->at, b->size, 0);
		free(b);
		return NULL;
	}
	cupti.counts.buffers_out++;
	pthread_mutex_unlock(&cupti.mutex);
	if ((uintptr_t)b->at % 8)
		broken("a buffer that is not aligned to 8 bytes");
	hold(b->at);
	if (!cupti.zeroed)
		memset(b->at, 0, b->size);
	return b;
}

static struct slot *slot(void)
{
	if (!cupti.per_thread)
		return &shared;
	if (!own) {
		own = calloc(1, sizeof(*own));
		pthread_mutex_init(&own->mutex, NULL);
		pthread_mutex_lock(&mutex);
		own->next = slots->next;
		slots->next = own;
		pthread_mutex_unlock(&mutex);
	}
	return own;
}

static bool dropped(void)
{
	static uint64_t counter;
	long long every = KNOB("FAKE_DROP_EVERY", 0);
	bool drop = cupti.lost ||
		    (every > 0 && __atomic_add_fetch(&counter, 1, __ATOMIC_RELAXED) %
						  (uint64_t)every ==
					  0);

	if (drop) {
		pthread_mutex_lock(&cupti.mutex);
		cupti.counts.dropped++;
		pthread_mutex_unlock(&cupti.mutex);
	}
	return drop;
}

static bool fits(const struct buffer *b, size_t size)
{
	return b->used + size <= b->size && (b->limit == 0 || b->records < b->limit);
}

void *record_begin(size_t size)
{
	struct slot *s = slot();

	if (dropped())
		return NULL;
	pthread_mutex_lock(&s->mutex);
	while (!s->buffer || !fits(s->buffer, size)) {
		struct buffer *fresh;

		if (s->buffer)
			retire(s->buffer);
		s->buffer = NULL;
		pthread_mutex_unlock(&s->mutex);
		fresh = ask(size); /* without a lock: many threads at once */
		pthread_mutex_lock(&s->mutex);
		if (!fresh) {
			pthread_mutex_unlock(&s->mutex);
			pthread_mutex_lock(&cupti.mutex);
			cupti.counts.dropped++;
			pthread_mutex_unlock(&cupti.mutex);
			return NULL;
		}
		if (s->buffer) /* another thread was faster: its buffer goes back */
			retire(s->buffer);
		s->buffer = fresh;
	}
	writing = s;
	writing_size = size;
	return s->buffer->at + s->buffer->used;
}

void record_end(uint64_t complete_raw)
{
	struct buffer *b = writing->buffer;
	uint64_t late = (uint64_t)KNOB("FAKE_LATE_MS", 0) * 1000000u;

	b->used += writing_size;
	b->records++;
	if (complete_raw + late > b->complete)
		b->complete = complete_raw + late;
	__atomic_add_fetch(&cupti.counts.records, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&writing->mutex);
	writing = NULL;
}

/* ---- flushing ---- */

/* What has not ended has no end in a buffer that is handed back by force. */
static void cut(struct buffer *b)
{
	uint64_t now = cupti_stamp(cupti_raw());

	for (size_t at = 0; at < b->used;) {
		uint32_t kind = *(uint32_t *)(b->at + at);
		uint64_t *end = NULL;
		size_t stride = name_stride(kind);

		if (stride == 0 || at + stride > b->used)
			return;
		if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
		    kind == CUPTI_ACTIVITY_KIND_KERNEL)
			end = &((rec_CONCURRENT_KERNEL *)(b->at + at))->end;
		else if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)
			end = &((rec_MEMCPY *)(b->at + at))->end;
		else if (kind == CUPTI_ACTIVITY_KIND_MEMSET)
			end = &((rec_MEMSET *)(b->at + at))->end;
		else if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
			end = &((rec_GRAPH_TRACE *)(b->at + at))->end;
		if (end && *end > now)
			*end = 0;
		at += stride;
	}
}

static void take_all(bool forced)
{
	uint64_t now = cupti_raw();

	for (struct slot *s = slots; s; s = s->next) {
		struct buffer *b;

		pthread_mutex_lock(&s->mutex);
		b = s->buffer;
		if (b && b->used && (forced || b->complete <= now)) {
			s->buffer = NULL;
			if (forced)
				cut(b);
			pthread_mutex_lock(&mutex);
			append(&full, b);
			pthread_mutex_unlock(&mutex);
		}
		pthread_mutex_unlock(&s->mutex);
	}
}

int buffers_flush(bool forced)
{
	const char *hang = cupti_text("FAKE_HANG"), *how = cupti_text("FAKE_COMPLETE");
	uint64_t mine;

	if (in_completed)
		broken("FlushAll inside a buffer callback");
	while (hang && strcmp(hang, "flush") == 0)
		pause();
	if (!cupti.completed)
		return CUPTI_ERROR_INVALID_OPERATION;
	if (cupti.lost)
		return 0;
	take_all(forced);
	pthread_mutex_lock(&mutex);
	for (struct buffer *b = full; b && forced; b = b->next)
		cut(b);
	move_complete(forced);
	mine = queued;
	if (how && strcmp(how, "caller") == 0)
		while (ready) {
			struct buffer *b = ready;

			ready = b->next;
			handed++;
			pthread_mutex_unlock(&mutex);
			hand_back(b);
			pthread_mutex_lock(&mutex);
		}
	else if (ready)
		wake();
	while (handed < mine && !(how && strcmp(how, "late") == 0))
		pthread_cond_wait(&done, &mutex);
	pthread_mutex_unlock(&mutex);
	return 0;
}

EXPORT void fake_deliver(void)
{
	if (cupti.completed)
		buffers_flush(true);
}
