/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent asks of the GPU: when CUPTI is looked for, which windows there are, and
 * what a fork leaves of it. The work itself is done by the files that this one sees. */
#include "agent/cupti/cupti.h"
#include "agent/cupti/client/calls.h"
#include "agent/cupti/client/retreat.h"
#include "agent/cupti/exit.h"
#include "agent/cupti/flow/bell.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/flow/consumer.h"
#include "agent/cupti/flow/correlation.h"
#include "agent/cupti/flow/moments.h"
#include "agent/cupti/flow/orders.h"
#include "agent/cupti/lib/facts.h"
#include "agent/cupti/lib/kinds.h"
#include "agent/cupti/lib/say.h"
#include "agent/cupti/subscription.h"
#include "base/arena.h"
#include "base/fmt.h"
#include "config/config_file.h"

#include <errno.h>
#include <string.h>

#define VARIABLE "CUDA_INJECTION64_PATH"

extern char **environ;

/* ---- the way in ---- */

/* As setenv, but in memory of ours: the program's malloc may not be there yet. */
static void set_variable(const char *path)
{
	size_t n = 0, length = strlen(VARIABLE) + strlen(path) + 2;
	char *line = arena_alloc(length), **all;

	while (environ && environ[n])
		n++;
	all = arena_alloc((n + 2) * sizeof(*all));
	if (!line || !all)
		return;
	fmt(line, length, VARIABLE "=%s", path);
	if (n)
		memcpy(all, environ, n * sizeof(*all));
	all[n] = line;
	all[n + 1] = NULL;
	environ = all;
}

void cupti_start(const struct config *config, const struct cupti_actions *actions,
		 const char *self)
{
	const char *there = config_getenv(environ, VARIABLE);

	session.config = config;
	session.act = *actions;
	session.wanted = config->activities != ACTIVITIES_CPU;
	if (!session.wanted)
		return;
	if (!there || !*there)
		set_variable(self);
	else if (strcmp(there, self))
		session.foreign = there;
}

static const char other_name[] =
	"this PyTorch's own profiler, which has a CUPTI of its own,";

void cupti_other(bool begins)
{
	int saved = errno;

	atomic_store(&session.other, begins);
	if (begins)
		retreat_step(other_name);
	errno = saved;
}

void cupti_asked_for(const char *symbol)
{
	(void)symbol;
	if (!api_asking() && !real_asking())
		retreat_second_interface();
}

/* A window may be open or near already: then this thread switches everything on, and
 * nothing that it launches is missed. */
static void begin_session(bool late)
{
	bool aside;

	atomic_store(&session.met, true);
	subscription_start(late);
	aside = atomic_load(&session.state) == SESSION_ASIDE;
	if (!cupti_active() && !aside)
		return;
	exit_register();
	if (aside) /* when a window is near it looks whether the other is gone */
		consumer_start();
	if (atomic_load(&session.other))
		retreat_step(other_name);
	if (session.act.used)
		session.act.used();
	if (orders_standing() || bell_wants(false))
		cupti_now();
}

int cupti_injected(void)
{
	int saved = errno;

	if (session.wanted)
		begin_session(false);
	errno = saved;
	return 1;
}

void cupti_driver_ready(void)
{
	int saved = errno;

	if (session.wanted && atomic_load(&session.state) == SESSION_NONE)
		begin_session(true);
	errno = saved;
}

bool cupti_active(void)
{
	return atomic_load_explicit(&session.state, memory_order_acquire) ==
	       SESSION_READY;
}

/* ---- windows ---- */

/* The thread that opened the window waits here: what it launches next must not be
 * missed. */
static void switch_on(void)
{
	int result = kinds_ours_now();

	if (result) {
		atomic_store(&session.refused, true);
		say_give_up(kinds_failed(), result);
	}
}

static void wake_consumer(void)
{
	consumer_start();
	bell_wake();
}

void cupti_near(void)
{
	int saved = errno;

	if (!session.wanted)
		return;
	bell_near(true);
	if (cupti_active() || atomic_load(&session.state) == SESSION_ASIDE)
		wake_consumer();
	errno = saved;
}

void cupti_opened(struct cycle_info *info)
{
	int saved = errno;

	if (!session.wanted || atomic_load(&session.state) == SESSION_DEAD)
		return;
	orders_opened(info);
	bell_wake();
	errno = saved;
}

void cupti_now(void)
{
	int saved = errno;
	bool ours = cupti_active();
	bool aside = atomic_load(&session.state) == SESSION_ASIDE;

	if ((ours || aside) && bell_wants(true) && !consumer_ends()) {
		bool started = consumer_start(); /* aside: it looks whether that ends */

		if (ours && started)
			switch_on();
		else if (ours)
			say_give_up_for("there is no memory for a thread");
		bell_wake();
	}
	errno = saved;
}

void cupti_sealed(struct cycle_info *info, bool kept)
{
	int saved = errno;

	if (!session.wanted)
		return;
	orders_sealed(info, kept);
	bell_wake();
	errno = saved;
}

void cupti_collect(bool on)
{
	int saved = errno;

	if (!session.wanted)
		return;
	bell_off(!on);
	if (cupti_active())
		wake_consumer();
	errno = saved;
}

/* ---- fork ---- */

bool cupti_met(void)
{
	return atomic_load(&session.met);
}

/* Each part writes to pages of its own, which the child then has to copy: most programs
 * that fork never met CUDA. */
void cupti_fork_child(void)
{
	windows_fork_child();
	orders_fork_child();
	if (!cupti_met())
		return;
	session_fork_child();
	facts_fork_child();
	consumer_fork_child();
	moments_fork_child();
	buffers_fork_child();
	correlation_fork_child();
	kinds_fork_child();
	exit_fork_child();
	copies_fork_child();
}
