/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cupti/cupti.h"
#include "agent/core/arena.h"
#include "agent/core/config_file.h"
#include "agent/core/fmt.h"
#include "agent/cupti/parts.h"
#include "agent/cupti/tee.h"

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

	session.config = *config;
	session.act = *actions;
	session.wanted = config->activities != ACTIVITIES_CPU;
	if (!session.wanted)
		return;
	if (!there || !*there)
		set_variable(self);
	else if (strcmp(there, self))
		session.foreign = there;
}

static _Atomic bool other;
static const char other_name[] =
	"this PyTorch's own profiler, which has a CUPTI of its own,";

void cupti_other(bool begins)
{
	int saved = errno;

	atomic_store(&other, begins);
	if (begins && session_step_aside(other_name))
		session_left();
	errno = saved;
}

bool session_other(void)
{
	return atomic_load(&other);
}

/* A window may be open or near already: then this thread switches everything on, and
 * nothing that it launches is missed. */
static void begin(bool late)
{
	bool aside;

	session_start(late);
	aside = atomic_load(&session.state) == SESSION_ASIDE;
	if (!cupti_active() && !aside)
		return;
	exit_register();
	if (aside) /* it looks whether the other one is gone when a window is near */
		consumer_start();
	if (atomic_load(&other) && session_step_aside(other_name))
		session_left();
	if (session.act.used)
		session.act.used();
	if (windows_standing() || bell_wants(false))
		cupti_now();
}

int cupti_injected(void)
{
	int saved = errno;

	if (session.wanted)
		begin(false);
	errno = saved;
	return 1;
}

void cupti_driver_ready(void)
{
	int saved = errno;

	if (session.wanted && atomic_load(&session.state) == SESSION_NONE)
		begin(true);
	errno = saved;
}

bool cupti_active(void)
{
	return atomic_load_explicit(&session.state, memory_order_acquire) ==
	       SESSION_READY;
}

/* ---- windows ---- */

/* Whoever opened the window waits for it: what it launches next must not be missed. */
static void switch_on(void)
{
	int result = kinds_ours(true);

	if (result) {
		atomic_store(&session.refused, true);
		session_give_up(kinds_failed(), result);
	}
}

void cupti_near(void)
{
	int saved = errno;

	if (!session.wanted)
		return;
	bell_near(true);
	if (cupti_active() || atomic_load(&session.state) == SESSION_ASIDE) {
		consumer_start();
		consumer_wake();
	}
	errno = saved;
}

void cupti_opened(struct cycle_info *info)
{
	int saved = errno;

	if (!session.wanted || atomic_load(&session.state) == SESSION_DEAD)
		return;
	windows_opened(info);
	consumer_wake();
	errno = saved;
}

void cupti_now(void)
{
	int saved = errno;

	if (cupti_active() && bell_wants(true) && !consumer_ends()) {
		if (consumer_start())
			switch_on();
		else
			session_give_up_for("there is no memory for a thread");
		consumer_wake();
	}
	errno = saved;
}

void cupti_sealed(struct cycle_info *info, bool kept)
{
	int saved = errno;

	if (!session.wanted)
		return;
	windows_sealed(info, kept);
	consumer_wake();
	errno = saved;
}

void cupti_collect(bool on)
{
	int saved = errno;

	if (!session.wanted)
		return;
	bell_off(!on);
	if (cupti_active()) {
		consumer_start();
		consumer_wake();
	}
	errno = saved;
}

/* ---- fork ---- */

void cupti_fork_child(void)
{
	session_fork_child();
	consumer_fork_child();
	windows_fork_child();
	moments_fork_child();
	buffers_fork_child();
	link_fork_child();
	kinds_fork_child();
	exit_fork_child();
	tee_fork_child();
}
