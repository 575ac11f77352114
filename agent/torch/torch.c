/* SPDX-License-Identifier: Apache-2.0 */
/* Two callbacks in libtorch's list, one for operators and one for annotations: registered
 * once, and the first of them switched on while operators are wanted. */
#include "agent/torch/torch.h"
#include "agent/core/job.h"
#include "agent/torch/abi.h"
#include "agent/torch/called.h"
#include "agent/torch/observe.h"
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>

enum { SCOPES_OP = 0x07, SCOPE_NOTE = 7 }; /* 0, 1, 2; user annotations */

/* Not yet, being registered, there, of no use. */
enum { FOUND_NOT, FOUND_NOW, FOUND, FOUND_MUTE };

static struct torch_listener listener;
static const struct config *config;
static uint64_t op_handle;
static _Atomic uint32_t found; /* FOUND_... */
static _Atomic bool observing;
static bool forced; /* switched on for the child of a fork */

void torch_start(const struct config *cfg, const struct torch_listener *l)
{
	config = cfg;
	listener = *l;
	observe_start(&listener, config_wants_inputs(cfg), called_start(cfg));
	observe_collect(cfg->activities != ACTIVITIES_CUDA);
}

/* Probability 1: torch calls at every event. */
static struct torch_callback make_callback(void *start)
{
	return (struct torch_callback){
		.start = start,
		.end = (void *)observe_end,
		.probability = 1.0,
		.needs_inputs = (uint8_t)config_wants_inputs(config),
	};
}

/* The operators' callback is switched on for windows: even one that records nothing costs
 * each operator. Annotations are few, and markers need them at any time. */
static void register_callbacks(void)
{
	struct torch_callback op = make_callback((void *)observe_op_begin);
	struct torch_callback note = make_callback((void *)observe_note_begin);

	for (unsigned scope = 0; scope < 3; scope++)
		op.scopes[scope] = 1;
	note.scopes[SCOPE_NOTE] = 1;
	op_handle = abi.add(op);
	if (!atomic_load(&observing))
		abi.disable(op_handle);
	abi.add(note);
}

bool torch_known(void)
{
	return atomic_load_explicit(&found, memory_order_acquire) == FOUND;
}

/* One process says it for all. */
static void say_mute(void)
{
	if (!job ||
	    !(atomic_fetch_or(&job->told, JOB_TOLD_MUTE_TORCH) & JOB_TOLD_MUTE_TORCH))
		log_warn(
			"this PyTorch (%s) lacks functions by which it is observed (1.7 and older do): nothing of it is recorded",
			abi.version[0] ? abi.version : "unknown version");
}

bool torch_found(void)
{
	uint32_t none = FOUND_NOT;
	int saved = errno;

	if (torch_known())
		return true;
	if (!atomic_compare_exchange_strong(&found, &none, FOUND_NOW))
		return false; /* another thread registers just now, or it is of no use */
	if (!abi_find()) {
		if (abi.cpu_begin)
			say_mute();
		atomic_store(&found, abi.cpu_begin ? FOUND_MUTE : FOUND_NOT);
		errno = saved;
		return false;
	}
	memory_start(config);
	register_callbacks();
	atomic_store_explicit(&found, FOUND, memory_order_release);
	errno = saved;
	return true;
}

void torch_observe(bool on)
{
	if (atomic_exchange(&observing, on) == on || !torch_known())
		return;
	if (on)
		abi.enable(op_handle);
	else
		abi.disable(op_handle);
}

void torch_collect(bool on)
{
	observe_collect(on);
}

/*
 * The child must not take libtorch's callback lock: another thread of the parent
 * may hold it at this very moment. So the callback is switched on before the fork,
 * and this thread, the only one that the child will have, looks at the new list at
 * once: a RecordFunction that is made and destroyed does that.
 */
void torch_fork_prepare(void)
{
	_Alignas(16) char rf[1024]; /* more than a RecordFunction of any release */
	void (*construct)(void *, int) = (void (*)(void *, int))abi.rf_construct;
	void (*destroy)(void *) = (void (*)(void *))abi.rf_destroy;

	if (!torch_known() || !config->children || !construct || !destroy)
		return;
	if (!atomic_load(&observing)) {
		abi.enable(op_handle);
		forced = true;
	}
	construct(rf, 0);
	destroy(rf);
}

void torch_fork_parent(void)
{
	if (!forced)
		return;
	if (!atomic_load(&observing))
		abi.disable(op_handle);
	forced = false;
}

void torch_fork_child(void)
{
	if (!forced)
		return;
	atomic_store(&observing, true);
	forced = false;
}
