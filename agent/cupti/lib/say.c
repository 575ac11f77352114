/* SPDX-License-Identifier: Apache-2.0 */
/* What a user is told of CUPTI: why there are no kernels, and what to do. */
#include "agent/cupti/lib/say.h"

#include "agent/cupti/lib/session.h"
#include "base/fmt.h"
#include "base/log.h"

/* One line why the GPU is not recorded, and what helps. */
static const struct {
	int result;
	const char *text;
} hints[] = {
	{ CUPTI_NOT_INITIALIZED,
	  "this CUPTI may be newer than the driver: install an older one (pip install "
	  "nvidia-cuda-cupti-cu12), or a newer driver" },
	{ CUPTI_NO_PRIVILEGE,
	  "the driver allows profiling to administrators only: see "
	  "NVreg_RestrictProfilingToAdminUsers, or give the container CAP_SYS_ADMIN" },
	{ CUPTI_VGPU, "virtual GPUs of this kind cannot be recorded" },
	{ CUPTI_VGPU_NOT_ALLOWED,
	  "profiling is not allowed for this virtual GPU: ask its administrator to set "
	  "enable_profiling" },
	{ CUPTI_CONFIDENTIAL, "GPUs in confidential computing mode cannot be recorded" },
	{ CUPTI_CMP, "mining processors (CMP) cannot be recorded" },
	{ CUPTI_MIG, "this MIG instance cannot be recorded" },
	{ CUPTI_SLI, "GPUs in SLI mode cannot be recorded" },
	{ CUPTI_WSL, "this version of WSL does not let GPUs be recorded" },
	{ CUPTI_UNKNOWN, "there may be no usable driver" },
};

static const char *hint_for(int result)
{
	for (unsigned i = 0; i < sizeof(hints) / sizeof(*hints); i++)
		if (hints[i].result == result)
			return hints[i].text;
	return "please report this";
}

void say_give_up_for(const char *why)
{
	if (atomic_exchange(&session.state, SESSION_DEAD) == SESSION_DEAD)
		return;
	fmt(session.why, sizeof(session.why), "%s", why);
	log_warn("the GPU is not recorded: %s", why);
	if (session.act.estimate)
		session.act.estimate(true);
}

static void ignore_callback(void *arg, int domain, uint32_t cbid, const void *data)
{
	(void)arg;
	(void)domain;
	(void)cbid;
	(void)data;
}

/* From 13.0 on CUPTI tells who has subscribed already. */
static void ask_owner(char *name, size_t size)
{
	void *subscriber = NULL;
	struct cupti_subscriber params = {
		.size = sizeof(params),
		.name = "proflaunch",
		.owner = name,
		.owner_size = size,
	};

	name[0] = '\0';
	if (!cupti.Subscribe_v2)
		return;
	if (!cupti.Subscribe_v2(&subscriber, ignore_callback, NULL, &params) &&
	    subscriber)
		cupti.Unsubscribe(subscriber);
	name[size - 1] = '\0';
	for (char *p = name; *p; p++)
		if (*p < ' ' || *p == 127)
			*p = '?';
}

void say_busy(bool again)
{
	char name[128], why[256];

	ask_owner(name, sizeof(name));
	fmt(why, sizeof(why),
	    "another profiler has CUPTI already%s%s%s: only one can; %s",
	    name[0] ? " (" : "", name, name[0] ? ")" : "",
	    again ? "windows that begin after it has ended have the GPU"
		  : "end it, or record with --activities cpu");
	if (!again) {
		say_give_up_for(why);
		return;
	}
	fmt(session.why, sizeof(session.why), "%s", why);
	log_warn("the GPU is not recorded: %s", why);
}

static const char *text_of(int result)
{
	const char *text = NULL;

	if (!cupti.GetResultString || cupti.GetResultString(result, &text) || !text)
		text = "an error";
	return text;
}

/* ---- what is missing, while the rest is recorded ---- */

void say_lacks(const char *option, const char *what, const char *function, int result)
{
	if (result)
		log_warn("%s: %s not recorded: %s gives %.*s (%d)", option, what,
			 function, 64, text_of(result), result);
	else
		log_warn("%s: %s not recorded: this CUPTI has no %s", option, what,
			 function);
}

void say_lacks_kind(uint32_t kind, int result)
{
	static const struct {
		uint32_t kind;
		const char *option, *what;
	} kinds[] = {
		{ KIND_SYNCHRONIZATION, "cuda_sync", "waits are" },
		{ KIND_CUDA_EVENT, "cuda_sync", "events are" },
		{ KIND_MEMORY2, "cuda_memory", "allocations of CUDA's are" },
		{ KIND_GRAPH_TRACE, "cuda_graphs", "whole graphs are" },
		{ KIND_MEMCPY, "activities", "copies are" },
		{ KIND_MEMCPY2, "activities", "copies between GPUs are" },
		{ KIND_MEMSET, "activities", "memory sets are" },
	};
	static _Atomic uint64_t told;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].kind == kind &&
		    !(atomic_fetch_or(&told, 1ull << kind) >> kind & 1))
			say_lacks(kinds[i].option, kinds[i].what, "cuptiActivityEnable",
				  result);
}

/* ---- all of it ---- */

void say_give_up(const char *what, int result)
{
	char why[384];

	if (result == CUPTI_TWO_SUBSCRIBERS) {
		say_busy(false);
		return;
	}
	fmt(why, sizeof(why), "%s gives %.*s (%d): %s", what, 64, text_of(result), result,
	    hint_for(result));
	say_give_up_for(why);
}

void say_give_up_missing(const char *path, const char *name)
{
	char why[640];

	fmt(why, sizeof(why), "%s has no %s: it is no CUPTI of CUDA 11.7 or newer", path,
	    name);
	say_give_up_for(why);
}

void say_give_up_foreign(const char *path)
{
	char why[640];

	fmt(why, sizeof(why),
	    "CUDA_INJECTION64_PATH names another tool (%.*s); unset it to have the GPU in "
	    "our traces",
	    400, path);
	say_give_up_for(why);
}
