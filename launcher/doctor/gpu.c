/* SPDX-License-Identifier: Apache-2.0 */
/* The verdicts on driver, CUDA runtime and CUPTI, each before those that need it. The
 * numbers are those of CUresult and CUptiResult, whose names a user would have to look
 * up: the advice is what NVIDIA's documents, or our own experience with these errors, say
 * of each. */
#include "launcher/doctor/gpu.h"
#include "base/text.h"
#include "config/cuda_files.h"
#include "config/deny.h"
#include "launcher/doctor/find_cupti.h"
#include "launcher/doctor/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_S 40 /* a driver without persistence wakes eight cards */

struct gpu {
	bool card; /* there is a card, or its kernel driver */
	char cudart[PATH_MAX]; /* the runtime that the program maps; "" = none is known */
	int runtime; /* the runtime's major, 0 = not known */
	bool mps;
	bool only; /* only the GPU is to be recorded */
	struct ask_gpu ask;
};

/* ---- the driver ---- */

/* cuInit's results about which the user can do something. */
static const struct {
	int code;
	const char *advice;
} init_advice[] = {
	{ 34,
	  "a stub library is found before the driver's: take it out of LD_LIBRARY_PATH" },
	{ 100,
	  "look at CUDA_VISIBLE_DEVICES, at the rights of /dev/nvidia*, and, where MIG is on, for an instance" },
	{ 802, "the fabric manager has to be started" },
	{ 803, "the driver and its library differ: restart after the driver's update" },
	{ 804,
	  "the compatibility library does not know this card: take it out of LD_LIBRARY_PATH" },
};

static const char *advice_for(int code)
{
	for (size_t i = 0; i < sizeof(init_advice) / sizeof(*init_advice); i++)
		if (init_advice[i].code == code)
			return init_advice[i].advice;
	return "nvidia-smi may say more";
}

static void say_no_driver(const struct gpu *g)
{
	if (g->card)
		verdict_bad(
			"GPU: there is a card, but no driver library (%s); a container needs --gpus all",
			g->ask.error);
	else if (g->only)
		verdict_bad(
			"GPU: no NVIDIA driver (%s): nothing would be recorded with activities = cuda",
			g->ask.error);
	else
		verdict_note(
			"GPU: no NVIDIA driver (%s): only what the CPU does is recorded",
			g->ask.error);
}

static void say_device(const struct ask_gpu *a, int i)
{
	if (a->gpu[i].mode == 2)
		verdict_bad("GPU %d: %s: its compute mode is prohibited; nvidia-smi -c 0",
			    i, a->gpu[i].name);
	else
		verdict_good("GPU %d: %s, compute capability %d.%d%s%s", i,
			     a->gpu[i].name, a->gpu[i].major, a->gpu[i].minor,
			     strstr(a->gpu[i].name, "MIG ") ? ", a MIG instance" : "",
			     a->gpu[i].mode == 3 ? ", for one process at a time" : "");
}

/* Returns true where the driver works, whatever CUPTI does. */
static bool look_at_driver(const struct gpu *g)
{
	static const char *const doing[] = { "libcuda.so.1 was opened", "cuInit ran",
					     "devices were asked for" };
	const struct ask_gpu *a = &g->ask;

	if (a->end == ASK_NOT_RUN) {
		verdict_note("GPU: not looked at: no process could be started");
	} else if (a->stage <= ASK_DEVICES && a->end == ASK_DIED) {
		verdict_bad(
			"GPU: a process died by signal %d (%s) while %s: the driver is damaged",
			a->signal, strsignal(a->signal), doing[a->stage]);
	} else if (a->stage <= ASK_DEVICES && a->end == ASK_HUNG) {
		verdict_bad("GPU: no answer in %d s while %s; nvidia-smi may say more",
			    PATIENCE_S, doing[a->stage]);
	} else if (a->stage == ASK_OPEN_DRIVER) {
		say_no_driver(g);
	} else if (a->init) {
		verdict_bad("GPU: the driver refuses (cuInit: %d%s%s); %s", a->init,
			    *a->init_text ? ", " : "", a->init_text, advice_for(a->init));
	} else {
		verdict_good("GPU: driver for CUDA %d.%d and older, %d device%s",
			     a->driver / 1000, a->driver % 1000 / 10, a->count,
			     a->count == 1 ? "" : "s");
		for (int i = 0; i < a->count && i < ASK_GPUS; i++)
			say_device(a, i);
		return true;
	}
	return false;
}

/* ---- CUPTI ---- */

static const char *cupti_advice(int code)
{
	switch (code) {
	case 15:
		return "this CUPTI is newer than the driver: install the one of the driver's CUDA, or a newer driver";
	case 39:
		return "another profiler has its only place (Nsight, a debugger, an injected library): run without it";
	case 35:
	case 40:
		return "no permission: load the kernel module with NVreg_RestrictProfilingToAdminUsers=0, or add CAP_SYS_ADMIN";
	case 41:
	case 42:
	case 43:
	case 44:
	case 45:
		return "this kind of GPU set-up is not supported by CUPTI";
	}
	return "cuda_estimate = on gives times of CUDA calls without it";
}

static void say_broken(const struct ask_gpu *a)
{
	static const char *const doing[] = {
		[ASK_OPEN_CUPTI] = "it was opened",
		[ASK_VERSION] = "it was asked for its version",
		[ASK_STRIDES] = "it was asked for its record sizes",
		[ASK_SUBSCRIBE] = "subscribing",
		[ASK_ENABLE] = "it was told to record kernels",
		[ASK_DONE] = "it was let go",
	};

	if (a->end == ASK_DIED)
		verdict_bad(
			"CUPTI: %s: a process died by signal %d (%s) while %s; install another version",
			a->cupti, a->signal, strsignal(a->signal), doing[a->stage]);
	else if (a->end == ASK_HUNG)
		verdict_bad(
			"CUPTI: %s: no answer in %d s while %s; install another version",
			a->cupti, PATIENCE_S, doing[a->stage]);
	else if (a->stage == ASK_OPEN_CUPTI)
		verdict_bad("CUPTI: %s", a->error);
}

static void say_answers(const struct gpu *g)
{
	const struct ask_gpu *a = &g->ask;
	const char *sentence;
	unsigned deny = deny_look(a->version, (uint32_t)a->driver, g->mps, &sentence);

	verdict_good("CUPTI: %s, version %u", a->cupti, a->version);
	if (deny & DENY_USE)
		verdict_bad("CUPTI is not used: %s", sentence);
	else if (deny)
		verdict_note("CUPTI: %s", sentence);
	if (!a->stride[ASK_KERNEL])
		verdict_note("CUPTI: it does not tell the sizes of its records");
	if (a->subscribe)
		verdict_bad("CUPTI cannot be had (subscribe: %d): %s", a->subscribe,
			    cupti_advice(a->subscribe));
	else if (a->enable)
		verdict_bad("CUPTI does not record kernels (%d): %s", a->enable,
			    cupti_advice(a->enable));
	else
		verdict_good("CUPTI: nobody else has it, and it may record");
}

static void look_at_cupti(const struct gpu *g, bool driver)
{
	const struct ask_gpu *a = &g->ask;

	char stray[PATH_MAX];

	if (!*a->cupti && driver && find_stray(stray, sizeof(stray)))
		verdict_bad(
			"CUPTI: %s is where neither the program nor the loader looks: add its folder to LD_LIBRARY_PATH",
			stray);
	else if (!*a->cupti && driver)
		verdict_bad(
			"CUPTI: not found: install nvidia-cuda-cupti%s beside the program's CUDA; cuda_estimate = on gives times of CUDA calls without it",
			g->runtime == 12   ? "-cu12"
			: g->runtime == 11 ? "-cu11"
					   : "");
	else if (!*a->cupti)
		return; /* no CUPTI is needed without a driver */
	else if (!driver)
		verdict_good("CUPTI: %s (not tried without a driver)", a->cupti);
	else if (a->end != ASK_ENDED || a->stage == ASK_OPEN_CUPTI)
		say_broken(a);
	else
		say_answers(g);
}

/* ---- other tools and rights ---- */

static void look_at_injection(const struct gpu *g)
{
	const char *cuda = getenv("CUDA_INJECTION64_PATH"),
		   *nvtx = getenv("NVTX_INJECTION64_PATH");
	const char *base = text_base(cuda ? cuda : "");

	if (*base && strncmp(base, "libproflaunch", 13)) {
		if (g->card)
			verdict_bad(
				"CUDA_INJECTION64_PATH names %s: CUPTI is left to that tool; unset it to record the GPU",
				cuda);
		else
			verdict_note("CUDA_INJECTION64_PATH names %s: it is left alone",
				     cuda);
	}
	if (nvtx && strstr(nvtx, "libcupti"))
		verdict_note(
			"NVTX_INJECTION64_PATH names %s: it may take CUPTI's only place; unset it if so",
			nvtx);
}

/* Since driver 418 counters of the GPU need a right by default; many believe that
 * tracing does, too. */
static void look_at_rights(void)
{
	FILE *f = fopen("/proc/driver/nvidia/params", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "RmProfilingAdminOnly: 1", 23))
			verdict_note(
				"counters of the GPU are for administrators only (RmProfilingAdminOnly = 1); tracing does not need them");
	if (f)
		fclose(f);
}

static void look_at_pipe(struct gpu *g)
{
	extern char **environ;
	char path[PATH_MAX];

	g->mps = cuda_mps(environ, path, sizeof(path));
	if (g->mps)
		verdict_note("MPS: %s is there: each process records its own work", path);
}

static void look_at_runtime(struct gpu *g, const char *mapped)
{
	if (!find_mapped(mapped, "libcudart", g->cudart, sizeof(g->cudart)))
		return;
	verdict_good("CUDA runtime: %s", g->cudart);
	if (strstr(g->cudart, "libcudart-") && !strstr(mapped, "/libcupti.so"))
		verdict_note(
			"this PyTorch has a CUPTI of its own inside: while its profiler records, ours pauses");
}

void doctor_gpu(const struct config *c, const char *image, const char *mapped)
{
	static struct gpu g;
	bool driver;

	if (c->activities == ACTIVITIES_CPU) {
		verdict_note("GPU: not recorded (activities = cpu)");
		return;
	}
	/* A card without a driver library is an error (a container without --gpus); no
	 * card at all is none. /dev/dxg is WSL's. */
	g.card = !access("/proc/driver/nvidia/version", F_OK) ||
		 !access("/dev/nvidiactl", F_OK) || !access("/dev/dxg", F_OK);
	g.only = c->activities == ACTIVITIES_CUDA;
	look_at_runtime(&g, mapped);
	g.runtime = find_cupti(&g.ask, image, mapped);
	look_at_pipe(&g);
	ask_gpu(&g.ask, PATIENCE_S);
	driver = look_at_driver(&g);
	look_at_cupti(&g, driver);
	g.card |= driver;
	look_at_injection(&g);
	look_at_rights();
}
