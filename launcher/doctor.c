/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/doctor.h"
#include "agent/core/place.h"
#include "agent/core/sys.h"
#include "launcher/doctor_gpu.h"
#include "launcher/doctor_malloc.h"
#include "launcher/find.h"
#include "launcher/probe.h"
#include "launcher/run.h"
#include "launcher/target.h"
#include "launcher/verdict.h"

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

static void look_at_preload(void)
{
	const char *preload = getenv("LD_PRELOAD");

	if (preload && *preload)
		verdict_note("LD_PRELOAD has %s already: the agent comes first", preload);
}

/* ---- PyTorch ---- */

static bool is_python(const char *image)
{
	const char *slash = strrchr(image, '/');

	return !strncmp(slash ? slash + 1 : image, "python", 6);
}

/* What this torch can use besides the CPU: a line of the script's. */
static void judge_build(const char *out)
{
	if (strstr(out, "cuda None hip None\n"))
		verdict_note(
			"this PyTorch is built without CUDA: its operators run on the CPU");
	else if (strstr(out, "cuda None hip"))
		verdict_note(
			"this PyTorch is built for ROCm: AMD's GPUs are not recorded");
}

/* What the agent said last about torch, without the signs of JSON. */
static const char *torch_fact(char *facts)
{
	static char text[2048];
	char *last = NULL, *out = text;

	for (char *p = facts; (p = strstr(p, "torch = {")); p++)
		if (p == facts || p[-1] == '\n')
			last = p + strlen("torch = ");
	for (; last && *last && *last != '\n' && out < text + sizeof(text) - 1; last++)
		if (!strchr("{}\"", *last))
			*out++ = *last;
	*out = '\0';
	return text;
}

static const char *last_line(char *out)
{
	size_t n = strlen(out);
	char *p;

	while (n && out[n - 1] == '\n')
		out[--n] = '\0';
	p = strrchr(out, '\n');
	return p ? p + 1 : out;
}

static void judge_calibration(const char *fact)
{
	if (strstr(fact, "record: good") && strstr(fact, "values: good"))
		verdict_good("its memory layout: %s", fact);
	else
		verdict_bad(
			"its memory layout is not known (%s): names and times work, the rest is off; a newer proflaunch may know it",
			*fact ? fact : "nothing was found");
}

static void look_at_python(struct doctor *d)
{
	static char script[] =
		"import torch\nx = torch.ones(4, requires_grad=True)\n(x * 2).sum().backward()\n"
		"maps = {line.split(None, 5)[-1] for line in open('/proc/self/maps')}\n"
		"print(''.join(m for m in sorted(maps) if '/libcu' in m), end='')\n"
		"print('cuda', torch.version.cuda, 'hip', getattr(torch.version, 'hip', None))\n"
		"print('torch', torch.__version__, 'in', torch.__path__[0])\n";
	/* "python3" may be a shell script that finds the real one (pyenv). */
	char *python = is_python(d->target.path) ? d->target.path : d->target.image;
	char *argv[] = { python, "-c", script, NULL };
	struct probe *p = &d->probe;
	int err = probe_run(p, argv, d->agent);

	if (err) {
		verdict_bad("PyTorch: cannot try it: %s", strerror(-err));
	} else if (WIFSIGNALED(p->status)) {
		verdict_bad(
			"PyTorch: %s died by signal %d (%s) under the agent; please report this",
			python, WTERMSIG(p->status), strsignal(WTERMSIG(p->status)));
	} else if (p->status) {
		verdict_bad(
			"PyTorch: %s cannot import torch: %s; activate the environment that has it",
			python, last_line(p->out));
	} else if (!p->spooled) {
		verdict_bad(
			"PyTorch: %s, but the agent did not see it; please report this",
			last_line(p->out));
	} else {
		verdict_good("PyTorch: %s", last_line(p->out));
		judge_build(p->out);
		judge_calibration(torch_fact(p->facts));
	}
}

/* A program that is no Python: does it load libtorch at its start? */
static void look_at_program(struct doctor *d)
{
	char *at = strstr(d->probe.out, "libtorch_cpu.so");

	if (!at)
		at = strstr(d->probe.out, "libtorch.so");
	if (!at) {
		verdict_note(
			"PyTorch: %s does not link libtorch; it is looked for again whenever the program loads a library or starts another program",
			d->target.image);
		return;
	}
	verdict_good("PyTorch: %.*s", (int)strcspn(at, "\n"), at);
}

/* ---- directories ---- */

static uint64_t free_mb(const char *path)
{
	struct statvfs fs;

	return statvfs(path, &fs) ? 0 : (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
}

static bool try_write(const char *what, const char *dir)
{
	char path[PATH_MAX];
	bool there = !access(dir, F_OK);
	int err = sys_mkdirs(dir, 0777), fd;

	snprintf(path, sizeof(path), "%.4000s/.proflaunch-doctor-%d", dir, (int)getpid());
	fd = err ? err : sys_open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0) {
		verdict_bad("%s: %s: %s; choose another one with --logdir", what, dir,
			    sys_error(fd));
		return false;
	}
	err = sys_write_all(fd, path, sizeof(path));
	sys_close(fd);
	unlink(path);
	if (err)
		verdict_bad("%s: %s: %s; make room there", what, dir, sys_error(err));
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
			"file size limit: %llu MiB, buffer_mb = %u; raise ulimit -f, or lower buffer_mb",
			(unsigned long long)most.rlim_cur >> 20, c->buffer_mb);
	rmdir(c->logdir);
}

/* ---- the kernel ---- */

static void look_at_kernel(void)
{
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (commands < 0 || !(commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		verdict_note(
			"kernel: no membarrier (%s): recording costs a few nanoseconds more",
			commands < 0 ? strerror(errno) : "too old");
	else
		verdict_good("kernel: membarrier is there");
}

int doctor_main(struct args *a)
{
	static struct doctor d;

	d.config = &a->config;
	if (look_at_target(&d, a->command[0]) && look_at_agent(&d)) {
		if (is_python(d.target.path) || is_python(d.target.image))
			look_at_python(&d);
		else
			look_at_program(&d);
	}
	look_at_preload();
	look_at_directories(&d);
	doctor_gpu(&a->config, d.target.image, d.probe.out);
	look_at_kernel();
	printf("%s\n", verdict_off ? "Something is off: see the lines marked OFF."
				   : "All is well.");
	return verdict_off;
}
