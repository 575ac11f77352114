/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/cuda_files.h"
#include "agent/core/log.h"
#include "agent/core/sys.h"
#include "agent/cupti/parts.h"
#include "agent/cupti/tee.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

/* From the first answer of a driver to a CUPTI that is ours, and what ends that. */
#define THREAD_ID_SYSTEM 1
#define DEVICE_BUFFER    3200000u /* bytes: CUPTI's own choice, kept where it fits */
#define FLUSH_WAIT       1000000000ll /* ns that the end of a context waits for us */
#define NULL_SAFE        27u /* cuptiGetVersion from which a buffer may be refused */

struct session session;

static _Atomic uint32_t flushing;
static bool unwatched; /* the creation of contexts is not told */
static _Atomic uint64_t gap_from; /* ns: it went; 0 = no gap */
static _Atomic uint64_t gap_to; /* ns: it was ours again; 0 = not yet, or counted */

/* ---- settings of the library ---- */

static bool set_attribute(int attribute, void *value, size_t size)
{
	return !cupti.ActivitySetAttribute(attribute, &size, value);
}

/* A pool of buffers of the usual size, as many as we may take; at least three. */
static void set_device_memory(void)
{
	uint64_t all = (uint64_t)session.config.cuda_device_buffer_mb << 20;
	size_t each = all / 3 < DEVICE_BUFFER ? (size_t)(all / 3) : DEVICE_BUFFER;
	size_t most = (size_t)(all / each);

	if (each != DEVICE_BUFFER)
		set_attribute(ATTRIBUTE_DEVICE_BUFFER_SIZE, &each, sizeof(each));
	set_attribute(ATTRIBUTE_DEVICE_BUFFER_POOL_LIMIT, &most, sizeof(most));
}

/* True: each thread fills a buffer of its own. */
static bool set_attributes(void)
{
	uint8_t yes = 1;

	/* Whose buffers are cleared by nobody shall at least be cleared by CUPTI: so
	 * this is only said because buffers.c does it. */
	set_attribute(ATTRIBUTE_ZEROED_OUT, &yes, sizeof(yes));
	set_device_memory();
	yes = 1;
	return set_attribute(ATTRIBUTE_PER_THREAD, &yes, sizeof(yes)) ||
	       session.version >= 130000;
}

/* Fields that cost extra. Before 13.0 nobody can have the times of events. */
static void set_extras(void)
{
	static _Atomic bool said;
	const struct config *c = &session.config;
	int (*latency)(uint8_t) = cupti.ActivityEnableLatencyTimestamps;
	int (*times)(uint8_t) = cupti.ActivityEnableCudaEventDeviceTimestamps;
	int no_latency = c->cuda_latency && latency ? latency(1) : 0;
	int no_times = c->cuda_sync && times ? times(1) : 0;

	if (atomic_exchange(&said, true))
		return;
	if (no_latency || (c->cuda_latency && !latency))
		session_lacks("cuda_latency", "when kernels were queued is",
			      "cuptiActivityEnableLatencyTimestamps", no_latency);
	if (no_times)
		session_lacks("cuda_sync", "the GPU's times of events are",
			      "cuptiActivityEnableCudaEventDeviceTimestamps", no_times);
}

/* ---- callbacks on rare events ---- */

/* They take along what CUPTI still holds of the context. */
static bool ends_context(int domain, uint32_t cbid)
{
	static const char *const enders[] = { "cudaDeviceReset",
					      "cuDevicePrimaryCtxReset",
					      "cuDevicePrimaryCtxRelease",
					      "cuCtxDestroy" };
	struct call *c = calls_get(domain, cbid);

	for (unsigned i = 0; c && i < sizeof(enders) / sizeof(*enders); i++)
		if (!strncmp(c->name, enders[i], strlen(enders[i])))
			return true;
	return false;
}

void session_callback(int domain, uint32_t cbid, const void *data)
{
	if (domain == DOMAIN_RESOURCE && cbid == RESOURCE_CONTEXT_CREATED)
		exit_register();
	else if (ends_context(domain, cbid) && *(const int *)data == 0) /* at entry */
		consumer_flush(FLUSH_WAIT);
}

static void called_back(void *arg, int domain, uint32_t cbid, const void *data)
{
	(void)arg;
	session_callback(domain, cbid, data);
	tee_callback(domain, cbid, data);
}

void session_watch(void)
{
	unwatched = cupti.EnableCallback(1, session.subscriber, DOMAIN_RESOURCE,
					 RESOURCE_CONTEXT_CREATED);
	for (int domain = DOMAIN_DRIVER; domain <= DOMAIN_RUNTIME; domain++)
		for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++)
			if (ends_context(domain, cbid))
				cupti.EnableCallback(1, session.subscriber, domain, cbid);
}

/* Where CUPTI does not tell of contexts, the first buffers do: something is launched. */
static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	if (unwatched)
		exit_register();
	buffers_requested(buffer, size, most);
}

/* ---- taking it ---- */

/* The function that failed, with its *result; NULL = fine. */
static const char *subscribe(int *result)
{
	void *shared = tee_subscriber();

	session.subscriber = shared;
	*result = shared ? 0 : cupti.Subscribe(&session.subscriber, called_back, NULL);
	if (*result)
		return "cuptiSubscribe";
	*result = cupti.SetThreadIdType(THREAD_ID_SYSTEM);
	if (*result)
		return "cuptiSetThreadIdType";
	session.per_thread = set_attributes();
	*result = CUPTI_NO_MEMORY;
	if (!buffers_start(session.config.cuda_buffer_mb, session.per_thread,
			   session.version >= NULL_SAFE))
		return "mmap";
	*result = cupti.ActivityRegisterCallbacks(requested, buffers_completed);
	if (*result)
		return "cuptiActivityRegisterCallbacks";
	session_watch();
	set_extras();
	return NULL;
}

static void unsubscribe(void)
{
	if (session.subscriber && session.subscriber != tee_subscriber())
		cupti.Unsubscribe(session.subscriber);
	session.subscriber = NULL;
}

static bool take(void)
{
	int result;
	const char *failed = subscribe(&result);

	if (!failed) {
		atomic_store(&session.state, SESSION_READY);
		moments_take(); /* there is no consumer yet */
		tee_ready();
		return true;
	}
	unsubscribe();
	/* Once there are estimates they stay: two kinds of calls in one window are none.
	 */
	if (result == CUPTI_TWO_SUBSCRIBERS && !session.config.cuda_estimate) {
		session_say_busy(true);
		atomic_store(&gap_from, (uint64_t)clock_get_ns(CLOCK_REALTIME));
		atomic_store(&session.state, SESSION_ASIDE);
	} else {
		session_give_up(failed, result);
	}
	return false;
}

static bool under_mps(void)
{
	extern char **environ;
	char path[PATH_MAX];

	return cuda_mps(environ, path, sizeof(path));
}

/* Functions, version, layouts, names: nothing of the program is touched yet. */
static bool load(struct found *f)
{
	void *handle = find_cupti(f, session.driver);
	const char *missing, *sentence, *why;
	int result;

	if (!handle) {
		session_give_up_for(f->why);
		return false;
	}
	missing = api_resolve(handle);
	if (missing) {
		session_give_up_missing(f->path, missing);
		return false;
	}
	result = cupti.GetVersion(&session.version);
	if (result || !session.version) {
		session_give_up("cuptiGetVersion", result ? result : CUPTI_UNKNOWN);
		return false;
	}
	session.deny = deny_look(session.version, session.driver, under_mps(), &sentence);
	session.denied = sentence;
	if (session.deny & DENY_USE) {
		session_give_up_for(sentence);
		return false;
	}
	session.strides = layout_start(session.version, f->major) ? "probed" : "table";
	why = calls_start(session.config.cuda_driver_calls);
	if (!why && !link_start())
		why = "there is no memory for it";
	if (why) {
		session_give_up_for(why);
		return false;
	}
	if (session.deny & DENY_GRAPH_TRACE && session.config.cuda_graphs == GRAPHS_GRAPH)
		log_note("cuda_graphs: %s", sentence);
	kinds_start();
	return true;
}

static struct found found;
static _Atomic uint32_t telling;

/* The consumer may have asked the runtime before who starts it has told the rest. */
static void tell(int runtime)
{
	bool taken = lock_take(&telling);

	if (runtime > found.runtime)
		found.runtime = runtime;
	facts_tell(&found);
	lock_give(&telling, taken);
}

void session_tell(void)
{
	tell(0);
}

void session_ask_runtime(void)
{
	int (*ask)(int *version), version = 0, saved = errno;
	void *handle =
		found.cudart[0] ? dlopen(found.cudart, RTLD_NOLOAD | RTLD_LAZY) : NULL;

	ask = handle ? (int (*)(int *))dlsym(handle, "cudaRuntimeGetVersion") : NULL;
	if (ask && !ask(&version))
		tell(version);
	if (handle)
		dlclose(handle);
	errno = saved;
}

bool session_start(bool late)
{
	uint32_t none = SESSION_NONE;

	if (!session.wanted ||
	    !atomic_compare_exchange_strong(&session.state, &none, SESSION_STARTING))
		return false;
	if (!session.act.begin()) { /* nothing is to be recorded in this process */
		atomic_store(&session.state, SESSION_DEAD);
		return false;
	}
	session.late = late;
	session.driver = devices_driver();
	if (session.foreign)
		session_give_up_foreign(session.foreign);
	else if (load(&found))
		take();
	tell(0);
	return atomic_load(&session.state) == SESSION_READY;
}

/* ---- in other hands ---- */

bool session_step_aside(const char *who)
{
	uint32_t ready = SESSION_READY;

	if (!atomic_compare_exchange_strong(&session.state, &ready, SESSION_LEAVING))
		return false;
	/* One that ended a moment ago, and was not counted yet, goes on. */
	if (!atomic_exchange(&gap_to, 0))
		atomic_store(&gap_from, (uint64_t)clock_get_ns(CLOCK_REALTIME));
	kinds_ours(false);
	session_flush(0);
	unsubscribe();
	log_note("%s records the GPU now: our traces have a gap", who);
	return true;
}

void session_left(void)
{
	uint32_t leaving = SESSION_LEAVING;

	atomic_compare_exchange_strong(&session.state, &leaving, SESSION_ASIDE);
	consumer_wake();
}

void session_return(void)
{
	uint32_t gone = SESSION_ASIDE;
	const char *failed;
	int result;

	if (!atomic_compare_exchange_strong(&session.state, &gone, SESSION_STARTING))
		return;
	failed = subscribe(&result);
	if (failed) { /* it is still there */
		unsubscribe();
		atomic_store(&session.state, SESSION_ASIDE);
		return;
	}
	kinds_lost();
	atomic_store(&gap_to, (uint64_t)clock_get_ns(CLOCK_REALTIME));
	atomic_store(&session.state, SESSION_READY);
	session.why[0] = '\0';
	tell(0);
	exit_register(); /* contexts came while we did not hear of them */
	tee_ready();
	consumer_wake();
}

bool session_gone(void)
{
	uint32_t state = atomic_load(&session.state);

	return state == SESSION_NONE || state == SESSION_ASIDE || state == SESSION_DEAD;
}

/* The consumer, which knows the windows, counts what fell into them. */
void session_gaps(bool last)
{
	uint64_t from = atomic_load(&gap_from), to;
	bool over;

	if (!from)
		return;
	to = atomic_exchange(&gap_to, 0);
	over = to;
	if (!over && last && atomic_load(&session.state) == SESSION_ASIDE)
		to = (uint64_t)clock_get_ns(CLOCK_REALTIME);
	if (!to)
		return;
	windows_gap(from, to);
	/* Another one may have begun just now. */
	atomic_compare_exchange_strong(&gap_from, &from, over ? 0 : to);
}

int session_flush(uint32_t flag)
{
	bool taken = lock_take(&flushing);
	int result = cupti.ActivityFlushAll(flag);

	lock_give(&flushing, taken);
	return result;
}

void session_fork_child(void)
{
	uint32_t state = atomic_load(&session.state);

	atomic_store(&flushing, 0);
	atomic_store(&telling, 0);
	atomic_store(&gap_from, 0);
	atomic_store(&gap_to, 0);
	session.subscriber = NULL;
	/* CUDA does not survive a fork: where it was used, it is of no use any more. */
	atomic_store(&session.state, state == SESSION_NONE ? SESSION_NONE : SESSION_DEAD);
}
