/* SPDX-License-Identifier: Apache-2.0 */
/* How CUPTI becomes ours: its one place for a subscriber, taken and given back. */
#include "agent/cupti/subscription.h"
#include "agent/cupti/client/copies.h"
#include "agent/cupti/client/retreat.h"
#include "agent/cupti/client/wants.h"
#include "agent/cupti/exit.h"
#include "agent/cupti/flow/bell.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/flow/consumer.h"
#include "agent/cupti/flow/contexts.h"
#include "agent/cupti/flow/correlation.h"
#include "agent/cupti/flow/round.h"
#include "agent/cupti/lib/calls.h"
#include "agent/cupti/lib/devices.h"
#include "agent/cupti/lib/facts.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/layout.h"
#include "agent/cupti/lib/say.h"
#include "base/log.h"
#include "base/sys.h"
#include "config/cuda_files.h"

#include <limits.h>

/* From the first answer of a driver to a CUPTI that is ours, and what ends that. */
#define THREAD_ID_SYSTEM 1
#define DEVICE_BUFFER    3200000u /* bytes: CUPTI's own choice, kept where it fits */
#define NULL_SAFE        27u /* cuptiGetVersion from which a buffer may be refused */

/* ---- settings of the library ---- */

static bool set_attribute(int attribute, void *value, size_t size)
{
	return !cupti.ActivitySetAttribute(attribute, &size, value);
}

/* A pool of buffers of the usual size, as many as we may take; at least three. */
static void set_device_memory(void)
{
	uint64_t all = (uint64_t)session_config()->cuda_device_buffer_mb << 20;
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

	/* CUPTI clears buffers unless it is told that they come cleared: this may only be
	 * said because buffers.c clears them. */
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
	const struct config *c = session_config();
	int (*latency)(uint8_t) = cupti.ActivityEnableLatencyTimestamps;
	int (*times)(uint8_t) = cupti.ActivityEnableCudaEventDeviceTimestamps;
	int no_latency = c->cuda_latency && latency ? latency(1) : 0;
	int no_times = c->cuda_sync && times ? times(1) : 0;

	if (atomic_exchange(&said, true))
		return;
	if (no_latency || (c->cuda_latency && !latency))
		say_lacks("cuda_latency", "when kernels were queued is",
			  "cuptiActivityEnableLatencyTimestamps", no_latency);
	if (no_times)
		say_lacks("cuda_sync", "the GPU's times of events are",
			  "cuptiActivityEnableCudaEventDeviceTimestamps", no_times);
}

/* ---- callbacks on rare events ---- */

static void called_back(void *arg, int domain, uint32_t cbid, const void *data)
{
	(void)arg;
	contexts_callback(domain, cbid, data);
	client_callback(domain, cbid, data);
}

/* ---- taking it ---- */

/* The function that failed, with its *result; NULL = fine. */
static const char *subscribe_ours(int *result)
{
	void *shared = client.handle; /* NULL: no client was first */

	session.subscriber = shared;
	*result = shared ? 0 : cupti.Subscribe(&session.subscriber, called_back, NULL);
	if (*result)
		return "cuptiSubscribe";
	*result = cupti.SetThreadIdType(THREAD_ID_SYSTEM);
	if (*result)
		return "cuptiSetThreadIdType";
	session.per_thread = set_attributes();
	*result = CUPTI_NO_MEMORY;
	if (!buffers_start(session_config()->cuda_buffer_mb, session.per_thread,
			   session.version >= NULL_SAFE, copies_completed))
		return "mmap";
	*result = cupti.ActivityRegisterCallbacks(contexts_request, buffers_completed);
	if (*result)
		return "cuptiActivityRegisterCallbacks";
	contexts_watch();
	set_extras();
	return NULL;
}

static bool take_cupti(void)
{
	int result;
	const char *failed = subscribe_ours(&result);

	if (!failed) {
		atomic_store(&session.state, SESSION_READY);
		windows_moment(); /* there is no consumer yet */
		copies_ready();
		return true;
	}
	retreat_unsubscribe();
	/* Once there are estimates they stay: calls of two kinds in one window are of no
	 * use. */
	if (result == CUPTI_TWO_SUBSCRIBERS && !session_config()->cuda_estimate) {
		say_busy(true);
		session_gap_begins(0);
		atomic_store(&session.state, SESSION_ASIDE);
	} else {
		say_give_up(failed, result);
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
static bool load_library(struct found *f)
{
	void *handle = find_library(f, session.driver);
	const char *missing, *sentence, *why;
	int result;

	if (!handle) {
		say_give_up_for(f->why);
		return false;
	}
	missing = api_resolve(handle);
	if (missing) {
		say_give_up_missing(f->path, missing);
		return false;
	}
	result = cupti.GetVersion(&session.version);
	if (result || !session.version) {
		say_give_up("cuptiGetVersion", result ? result : CUPTI_UNKNOWN);
		return false;
	}
	session.deny = deny_look(session.version, session.driver, under_mps(), &sentence);
	session.denied = sentence;
	if (session.deny & DENY_USE) {
		say_give_up_for(sentence);
		return false;
	}
	session.strides = layout_start(session.version, f->major) ? "probed" : "table";
	why = calls_start(session_config()->cuda_driver_calls);
	if (!why && !correlation_start())
		why = "there is no memory for it";
	if (why) {
		say_give_up_for(why);
		return false;
	}
	if (session.deny & DENY_GRAPH_TRACE &&
	    session_config()->cuda_graphs == GRAPHS_GRAPH)
		log_note("cuda_graphs: %s", sentence);
	kinds_start();
	return true;
}

/* CUPTI is in other hands and a window wants it: the consumer asks. True: we tried. */
static bool take_again(void)
{
	if (retreat_blocked() || atomic_load(&session.other))
		return false;
	subscription_return();
	return true;
}

bool subscription_start(bool late)
{
	uint32_t none = SESSION_NONE;

	if (!session.wanted ||
	    !atomic_compare_exchange_strong(&session.state, &none, SESSION_STARTING))
		return false;
	round_start(copies_flushed, copies_dropped);
	consumer_above(take_again, wants_any);
	contexts_start(exit_register);
	if (!session.act.begin()) { /* nothing is to be recorded in this process */
		atomic_store(&session.state, SESSION_DEAD);
		return false;
	}
	session.late = late;
	session.driver = devices_driver();
	if (session.foreign)
		say_give_up_foreign(session.foreign);
	else if (load_library(&session.found))
		take_cupti();
	facts_tell();
	return atomic_load(&session.state) == SESSION_READY;
}

/* ---- in other hands ---- */

void subscription_return(void)
{
	uint32_t gone = SESSION_ASIDE;
	const char *failed;
	int result;

	if (!atomic_compare_exchange_strong(&session.state, &gone, SESSION_STARTING))
		return;
	failed = subscribe_ours(&result);
	if (failed) { /* the other profiler is still there */
		retreat_unsubscribe();
		atomic_store(&session.state, SESSION_ASIDE);
		return;
	}
	kinds_lost();
	session_gap_ends();
	atomic_store(&session.state, SESSION_READY);
	session.why[0] = '\0';
	facts_tell();
	exit_register(); /* contexts came while we did not hear of them */
	copies_ready();
	bell_wake();
}
