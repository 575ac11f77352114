/* SPDX-License-Identifier: Apache-2.0 */
/* What the program's own Python says of its torch, when a small script runs in it under
 * the agent: no table of versions is asked. */
#include "launcher/doctor/python.h"
#include "base/text.h"
#include "config/c_modules.h"
#include "launcher/doctor/command.h"
#include "launcher/doctor/verdict.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define PATIENCE_S 120 /* from a cold network disk torch takes a minute */

/* "python3.13", "python3.13t", "python3-dbg", but not python_train.py, whatever runs
 * that: doctor starts no program of the user's. */
static bool is_python(const char *image)
{
	const char *name = text_base(image), *rest = name + 6;

	if (strncmp(name, "python", 6))
		return false;
	rest += strspn(rest, "0123456789.");
	return !*rest || !strcmp(rest, "t") || !strcmp(rest, "d") ||
	       !strcmp(rest, "-dbg");
}

bool doctor_is_python(const struct target *t)
{
	return is_python(t->path) || is_python(t->image);
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
	bool shapes = config_wants_inputs(c) || c->profile_memory;

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
	bool events = c->python_events, c_calls = *c_modules_of(c);
	const char *what = c->python_stack == PYTHON_FULL ? "calls of functions"
			   : c_calls && !c->python_stack && !c->modules
				   ? "calls of C functions"
			   : events && !c->python_stack && !c->modules ? "events"
			   : !c->modules                               ? "call stacks"
			   : c->python_stack == PYTHON_OFF             ? "modules"
							   : "call stacks and modules";

	if (c->python_stack == PYTHON_OFF && !c->modules && !events && !c_calls)
		return;
	if (strstr(facts, "\npython = {"))
		verdict_good("Python: its %s can be recorded", what);
	else
		verdict_bad(
			"Python: the %s of this interpreter cannot be recorded; with CPython 3.8 to %s they can",
			what,
			events && !c->python_stack && !c->modules ? "3.13" : "3.14");
}

static const char *end_of(const struct probe *p)
{
	static char text[96];

	if (p->silent)
		snprintf(text, sizeof(text), "did not end in %d seconds", PATIENCE_S);
	else
		snprintf(text, sizeof(text), "died by signal %d (%s)",
			 WTERMSIG(p->status), strsignal(WTERMSIG(p->status)));
	return text;
}

/* What is recorded of a program without torch; NULL: nothing. */
static const char *recorded_alone(const struct config *c)
{
	if (command_heap_alone(c))
		return "the program's heap";
	if (c->python_stack == PYTHON_FULL || c->python_events || *c_modules_of(c))
		return "what its Python does";
	return NULL;
}

/* What is wanted besides torch can be recorded even so. */
static enum verdict settle_without_torch(const struct config *c)
{
	if (!recorded_alone(c))
		return VERDICT_BAD;
	command_will_record(recorded_alone(c));
	return VERDICT_NOTE;
}

/* It died or hung: what it does without us, too, is its own. */
static void judge_end(const struct config *c, struct probe *p, char *const *argv)
{
	if (probe_fails_bare(argv, PATIENCE_S))
		verdict_say(
			settle_without_torch(c),
			"PyTorch: %s %s when torch was tried, and fails without proflaunch, too; last words: %s",
			argv[0], end_of(p), *p->out ? last_line(p->out) : "none");
	else
		verdict_bad(
			"PyTorch: %s %s under the agent, and not in a try without; if it does so again, please report it; last words: %s",
			argv[0], end_of(p), *p->out ? last_line(p->out) : "none");
}

/* "python3" may be a shell script that starts the real one (pyenv). */
static char *python_of(const struct target *t)
{
	return is_python(t->path) ? (char *)t->path : (char *)t->image;
}

void doctor_python(const struct config *c, const struct target *t, const char *agent,
		   struct probe *p)
{
	static char script[] =
		"import torch\nx = torch.ones(4, requires_grad=True)\n(x * 2).sum().backward()\n"
		"maps = {line.split(None, 5)[-1] for line in open('/proc/self/maps')}\n"
		"print(''.join(m for m in sorted(maps) if '/libcu' in m), end='')\n"
		"print('cuda', torch.version.cuda, 'hip', getattr(torch.version, 'hip', None))\n"
		"print('torch', torch.__version__, 'in', torch.__path__[0])\n";
	char *python = python_of(t);
	char *argv[] = { python, "-c", script, NULL };
	int err = probe_run(p, argv, agent, PATIENCE_S);

	if (err) {
		verdict_bad("PyTorch: cannot try it: %s%s", strerror(-err),
			    p->homeless ? "; name a folder for its files in TMPDIR" : "");
	} else if (p->mute_torch) {
		verdict_say(
			settle_without_torch(c),
			"PyTorch: this one lacks functions by which it is observed (1.7 and older do): nothing of it would be recorded (the heap: --marker none --malloc all)");
	} else if (p->silent || WIFSIGNALED(p->status)) {
		judge_end(c, p, argv);
	} else if (p->status && recorded_alone(c)) {
		verdict_say(settle_without_torch(c),
			    "PyTorch: %s cannot import torch: %s", python,
			    last_line(p->out));
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
		judge_stacks(c, p->facts);
		judge_calibration(c, torch_fact(p->facts));
	}
}
