/* SPDX-License-Identifier: Apache-2.0 */
/* Doctor tries each thing, and has no table of versions: the loader loads the agent,
 * torch is imported and run under it, a file is written into the log directory. Each line
 * says what was found, and where something is off what to do about it. All files made are
 * removed again. */
#include "launcher/doctor/doctor.h"
#include "base/sys.h"
#include "base/text.h"
#include "config/place.h"
#include "launcher/doctor/command.h"
#include "launcher/doctor/gpu.h"
#include "launcher/doctor/malloc.h"
#include "launcher/doctor/probe.h"
#include "launcher/doctor/python.h"
#include "launcher/doctor/verdict.h"
#include "launcher/find.h"
#include "launcher/first.h"
#include "launcher/room.h"
#include "launcher/run.h"
#include "launcher/target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct doctor {
	struct config *config;
	struct target target;
	char agent[PATH_MAX];
	struct probe probe;
};

/* ---- the program and the agent ---- */

static bool look_at_target(struct doctor *d, const char *command)
{
	struct target *t = &d->target;
	int err = target_find(t, command);

	if (err)
		verdict_bad("program: %s: %s", command,
			    err == -ENOENT ? "command not found" : strerror(-err));
	else if (*t->why)
		verdict_bad("program: %s %s; %s", t->image, t->why, t->advice);
	else if (strcmp(t->path, t->image))
		verdict_good("program: %s, run by %s", t->path, t->image);
	else
		verdict_good("program: %s", t->path);
	return !err && !*t->why;
}

/* LD_TRACE_LOADED_OBJECTS makes the loader list what it would map, or say what it
 * lacks, in words that have changed little for decades. */
static bool look_at_agent(struct doctor *d)
{
	struct probe *p = &d->probe;
	char *complaint;
	int err;

	if (find_agent(d->agent, sizeof(d->agent))) {
		verdict_bad(
			"agent: libproflaunch.so is neither beside proflaunch nor in ../lib; install it there");
		return false;
	}
	if (strpbrk(d->agent, " :")) {
		verdict_bad(
			"agent: %s: a path with a blank or a colon cannot be preloaded; move it",
			d->agent);
		return false;
	}
	err = probe_loader(p, d->target.image, d->agent);
	complaint = strstr(p->out, "ERROR:");
	if (!complaint)
		complaint = strstr(p->out, "version `");
	if (!err && !complaint && strstr(p->out, d->agent)) {
		verdict_good("agent: %s can be preloaded", d->agent);
		doctor_malloc(d->config, d->target.image, p->out);
		return true;
	}
	if (complaint)
		complaint[strcspn(complaint, "\n")] = '\0';
	verdict_bad(
		"agent: %s cannot be preloaded: %s; the C library must be glibc 2.28 or newer",
		d->agent,
		err         ? strerror(-err)
		: complaint ? complaint
			    : "the loader does not take it");
	return false;
}

/* Goes through `env` and its like to the program to be recorded. */
static bool look_at_command(struct doctor *d, struct args *a)
{
	char **argv;
	bool clears;

	/* `doctor train.py`: the command's words are completed as for a run. */
	if (a->bare && first_find(a, &d->target)) {
		verdict_bad("program: %s cannot be started", a->command[0]);
		return false;
	}
	for (argv = a->command; look_at_target(d, argv[0]);) {
		char **next = command_next(argv, &clears);

		if (clears && next) {
			verdict_bad(
				"environment: %s starts its command without what proflaunch put into the environment, so nothing would be recorded; put proflaunch behind it: %s ... proflaunch -- ...",
				argv[0], argv[0]);
			return false;
		}
		if (!next)
			return true;
		argv = next;
	}
	return false;
}

static void look_at_preload(void)
{
	const char *preload = getenv("LD_PRELOAD");

	if (preload && *preload)
		verdict_note("LD_PRELOAD has %s already: the agent comes first", preload);
}

/* ---- directories ---- */

static uint64_t free_mb(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
}

static bool try_write(const char *what, const char *dir)
{
	bool there = !access(dir, F_OK);
	int err = sys_mkdirs(dir, 0777);

	if (!err)
		err = room_try(dir);
	if (err)
		verdict_bad("%s: %s: %s; choose another one with --logdir", what, dir,
			    sys_error(err));
	else
		verdict_good("%s: %s, %llu MiB free", what, dir,
			     (unsigned long long)free_mb(dir));
	if (!there)
		rmdir(dir);
	return !err;
}

static void look_at_directories(struct doctor *d)
{
	struct config *c = d->config;
	char dir[PATH_MAX];
	const char *why;
	struct rlimit most;
	int err = run_absolute(c);

	if (err || !try_write("log directory", c->logdir)) {
		if (err)
			verdict_bad("log directory: %s", strerror(-err));
		return;
	}
	err = place_spool(c, getenv("TMPDIR"), dir, sizeof(dir), &why);
	if (err)
		verdict_bad("records: %s", strerror(-err));
	else if (!*dir)
		verdict_note(
			"records lie in memory (%s): they are lost when proflaunch itself is killed",
			why);
	else
		verdict_good("records lie in %s (%s)", dir, why);
	if (*dir && free_mb(c->logdir) && free_mb(c->logdir) < c->buffer_mb)
		verdict_note("less room than buffer_mb = %u asks for", c->buffer_mb);
	if (!getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur >> 20 < c->buffer_mb)
		verdict_bad(
			"file size limit: %llu %s, buffer_mb = %u; raise ulimit -f, or lower buffer_mb",
			(unsigned long long)most.rlim_cur >>
				(most.rlim_cur >> 20 ? 20 : 10),
			most.rlim_cur >> 20 ? "MiB" : "KiB", c->buffer_mb);
	rmdir(c->logdir);
}

/* ---- the machine ---- */

static void look_at_memory(const struct config *c)
{
	if (room_exceeded(c))
		verdict_bad(
			"memory: buffer_mb = %u, and this machine has %llu MiB: a run would be refused",
			c->buffer_mb, (unsigned long long)room_memory());
}

static void look_at_kernel(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (commands < 0 || !(commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		verdict_note(
			"kernel: no membarrier (%s): recording costs a few nanoseconds more",
			commands < 0 ? strerror(errno) : "too old");
}

int doctor_main(struct args *a)
{
	static struct doctor d;

	d.config = &a->config;
	command_will_record("");
	if (look_at_command(&d, a) && look_at_agent(&d)) {
		if (doctor_is_python(&d.target))
			doctor_python(d.config, &d.target, d.agent, &d.probe);
		else
			command_records(d.config, &d.target, d.probe.out);
		command_options(d.config, &d.target, doctor_is_python(&d.target));
	}
	look_at_preload();
	look_at_directories(&d);
	doctor_gpu(&a->config, d.target.image, d.probe.out);
	look_at_memory(&a->config);
	look_at_kernel();
	if (verdict_off)
		printf("Something is off: see the lines marked OFF.\n");
	else if (*command_summary())
		printf("All is well: %s would be recorded.\n", command_summary());
	else
		printf("Nothing is off: what is recorded depends on what the program loads or starts.\n");
	return verdict_off;
}
