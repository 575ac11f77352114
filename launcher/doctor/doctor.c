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

#define PATIENCE_S 120 /* from a cold network disk torch takes a minute */

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

/* ---- PyTorch ---- */

static bool is_python(const char *image)
{
	return !strncmp(text_base(image), "python", 6);
}

/* Judges from a line of the script what this torch can use besides the CPU. */
static void judge_build(const char *out)
{
	if (strstr(out, "cuda None hip None\n"))
		verdict_note(
			"this PyTorch is built without CUDA: its operators run on the CPU");
	else if (strstr(out, "cuda None hip"))
		verdict_note(
			"this PyTorch is built for ROCm: AMD's GPUs are not recorded");
}

/* The agent's last fact about torch, without the signs of JSON. */
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

/* With an unknown build of PyTorch its own functions give names and times. */
static void judge_calibration(const struct config *c, const char *fact)
{
	bool shapes = c->record_shapes || c->profile_memory;

	command_will_record(command_of_torch(c));
	if (strstr(fact, "record: good") && strstr(fact, "values: good"))
		verdict_good(
			"PyTorch: names, times and shapes of its operators can be recorded%s",
			strstr(fact, "forward_thread: 0")
				? ", but not which backward belongs to which forward"
				: "");
	else if (strstr(fact, "record: good"))
		verdict_say(
			shapes ? VERDICT_BAD : VERDICT_NOTE,
			"PyTorch: proflaunch does not know this build: names and times of its operators are recorded, shapes and memory are not; a newer proflaunch may know it");
	else
		verdict_bad(
			"PyTorch: proflaunch does not know this build: names and times of its operators may be recorded, nothing else; a newer proflaunch may know it");
}

/* The agent had the interpreter confirm its layout, and said so. */
static void judge_stacks(const struct config *c, const char *facts)
{
	if (c->python_stack == PYTHON_OFF)
		return;
	if (strstr(facts, "\npython = {"))
		verdict_good("Python: its call stacks can be recorded");
	else
		verdict_bad(
			"Python: the call stacks of this interpreter cannot be recorded; with CPython 3.8 to 3.14 they can");
}

static void look_at_python(struct doctor *d)
{
	static char script[] =
		"import torch\nx = torch.ones(4, requires_grad=True)\n(x * 2).sum().backward()\n"
		"maps = {line.split(None, 5)[-1] for line in open('/proc/self/maps')}\n"
		"print(''.join(m for m in sorted(maps) if '/libcu' in m), end='')\n"
		"print('cuda', torch.version.cuda, 'hip', getattr(torch.version, 'hip', None))\n"
		"print('torch', torch.__version__, 'in', torch.__path__[0])\n";
	/* "python3" may be a shell script that starts the real one (pyenv). */
	char *python = is_python(d->target.path) ? d->target.path : d->target.image;
	char *argv[] = { python, "-c", script, NULL };
	struct probe *p = &d->probe;
	int err = probe_run(p, argv, d->agent, PATIENCE_S);

	if (err) {
		verdict_bad(
			"PyTorch: cannot try it: no folder for its files: %s; name one in TMPDIR",
			strerror(-err));
	} else if (p->silent) {
		verdict_bad(
			"PyTorch: %s did not end: it said nothing for %d seconds and was killed; its last words: %s; try %s -c 'import torch'",
			python, PATIENCE_S, *p->out ? last_line(p->out) : "none", python);
	} else if (WIFSIGNALED(p->status)) {
		verdict_bad(
			"PyTorch: %s died by signal %d (%s) under the agent; please report this",
			python, WTERMSIG(p->status), strsignal(WTERMSIG(p->status)));
	} else if (p->status && command_heap_alone(d->config)) {
		verdict_note("PyTorch: %s cannot import torch: %s", python,
			     last_line(p->out));
		command_will_record("the program's heap");
	} else if (p->status) {
		verdict_bad(
			"PyTorch: %s cannot import torch: %s; activate the environment that has it (without PyTorch: --malloc all records the heap)",
			python, last_line(p->out));
	} else if (!p->spooled) {
		verdict_bad(
			"PyTorch: %s, but the agent did not see it; please report this",
			last_line(p->out));
	} else {
		verdict_good("PyTorch: %s", last_line(p->out));
		judge_build(p->out);
		judge_stacks(d->config, p->facts);
		judge_calibration(d->config, torch_fact(p->facts));
	}
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
		if (is_python(d.target.path) || is_python(d.target.image))
			look_at_python(&d);
		else
			command_records(d.config, &d.target, d.probe.out);
		command_options(d.config, &d.target);
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
