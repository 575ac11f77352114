/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_bench - doctor with what it asks as the test plays it: the program, the loader,
 * a Python, the file system, the kernel. The GPU's part is doctor_machine.h's.
 *
 * Threads  one.  Memory  static.  Errors  a failed Check assertion.  Units  none.
 */
#ifndef TESTS_DOCTOR_BENCH_H
#define TESTS_DOCTOR_BENCH_H

#include "base/sys_call.h"
#include "config/place.h"
#include "launcher/doctor/doctor.h"
#include "launcher/doctor/gpu.h"
#include "launcher/doctor/malloc.h"
#include "launcher/doctor/probe.h"
#include "launcher/doctor/verdict.h"
#include "launcher/find.h"
#include "launcher/run.h"
#include "launcher/target.h"
#include "tests/unit/printed.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#define AGENT "/lib/libproflaunch.so"

static struct target target;
static int target_error, loader_error, run_error, place_error, absolute_error;
static const char *agent, *loaded, *spool_dir;
static bool fails_bare; /* and without the agent */
static struct probe python; /* what its run leaves */
static char ran[64]; /* what was run as a Python */
static unsigned mallocs, gpus;
static uint64_t free_blocks;
static long membarrier; /* what the kernel can, or -errno */

int target_find(struct target *t, const char *command)
{
	ck_assert_str_eq(command, "train");
	*t = target;
	return target_error;
}

int find_agent(char *path, size_t size)
{
	snprintf(path, size, "%s", agent);
	return *agent ? 0 : -ENOENT;
}

const char *find_self(void)
{
	return "proflaunch";
}

bool find_place(unsigned n, const char *name, char *path, size_t size)
{
	(void)n, (void)name, (void)path, (void)size;
	return false;
}

int probe_loader(struct probe *p, const char *image, const char *library)
{
	ck_assert_str_eq(image, target.image);
	ck_assert_str_eq(library, agent);
	strcpy(p->out, loaded);
	return loader_error;
}

int probe_run(struct probe *p, char *const *argv, const char *library, unsigned seconds)
{
	ck_assert_uint_ge(seconds, 60);
	ck_assert_str_eq(library, agent);
	strcpy(ran, argv[0]);
	*p = python;
	return run_error;
}

bool probe_fails_bare(char *const *argv, unsigned seconds)
{
	ck_assert_uint_ge(seconds, 60);
	ck_assert_str_eq(argv[0], ran);
	return fails_bare;
}

void doctor_malloc(const struct config *c, const char *image, const char *text)
{
	(void)c, (void)image, (void)text;
	mallocs++;
}

void doctor_gpu(const struct config *c, const char *image, const char *mapped)
{
	(void)c, (void)image, (void)mapped;
	gpus++;
}

int run_absolute(struct config *c)
{
	(void)c;
	return absolute_error;
}

int place_spool(const struct config *cfg, const char *tmp, char *dir, size_t size,
		const char **why)
{
	(void)cfg;
	ck_assert_str_eq(tmp, "/test/tmp");
	snprintf(dir, size, "%s", spool_dir);
	*why = "as the test says";
	return place_error;
}

int statvfs(const char *path, struct statvfs *fs)
{
	(void)path;
	*fs = (struct statvfs){ .f_bsize = 1 << 20,
				.f_frsize = 4096,
				.f_bavail = free_blocks,
				.f_bfree = 2 * free_blocks };
	return 0;
}

/* It reads as many arguments as there may be, also where fewer were given. */
__attribute__((no_sanitize("address", "thread"))) long syscall(long number, ...)
{
	va_list args;
	long a[6], result;

	va_start(args, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	result = number == SYS_membarrier
			 ? membarrier
			 : sys_raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (result < 0)
		errno = (int)-result;
	return result < 0 ? -1 : result;
}

static struct args args;

static void doctor_setup(void)
{
	char dir[] = "/tmp/unit-XXXXXX";
	static char *command[] = { "train", NULL };

	unsetenv("LD_PRELOAD");
	setenv("TMPDIR", "/test/tmp", 1);
	ck_assert_ptr_nonnull(mkdtemp(dir));
	memset(&target, 0, sizeof(target));
	strcpy(target.path, "/bin/train");
	strcpy(target.image, "/bin/train");
	agent = AGENT;
	loaded = "\tlibc.so.6 => /lib/libc.so.6\n\t" AGENT "\n";
	python = (struct probe){
		.spooled = true,
		.out = "cuda 12.8 hip None\ntorch 2.9 in /site/torch\n\n",
		.facts = "host = {\"a\"}\n"
			 "torch = {\"record\": \"bad\"}\n"
			 "torch = {\"record\": \"good\", \"values\": \"good\"}\n"
	};
	spool_dir = "/spool";
	free_blocks = 1 << 20;
	membarrier = MEMBARRIER_CMD_PRIVATE_EXPEDITED;
	config_defaults(&args.config);
	snprintf(args.config.logdir, sizeof(args.config.logdir), "%s/log", dir);
	args.command = command;
}

static inline int doctor(void)
{
	int status;

	verdict_off = false;
	mallocs = gpus = 0;
	printed_begin();
	status = doctor_main(&args);
	if (status)
		ck_printed("Something is off: see the lines marked OFF.");
	else
		ck_assert(strstr(printed(), "\nAll is well: ") ||
			  strstr(printed_text, "\nNothing is off: "));
	ck_assert_int_eq(status, strstr(printed_text, "\nOFF  ") ||
					 !strncmp(printed_text, "OFF", 3));
	ck_assert_uint_eq(gpus, 1); /* the rest is looked at in any case */
	return status;
}

static inline void a_python(void)
{
	strcpy(target.path, "/usr/bin/python3");
	strcpy(target.image, "/usr/bin/python3");
}

#endif
