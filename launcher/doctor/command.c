/* SPDX-License-Identifier: Apache-2.0 */
/* A command often starts another one: `env`, `timeout`, `taskset` start the program to be
 * recorded, and `env -i` takes away the environment that brings the agent there. And a
 * program that neither has PyTorch or CUDA nor can get them is not in order, however well
 * it could be preloaded. */
#include "launcher/doctor/command.h"
#include "base/text.h"
#include "config/stages.h"
#include "finisher/command_words.h"
#include "launcher/doctor/verdict.h"
#include "launcher/step_symbol.h"

#include <stdio.h>
#include <string.h>

/* ---- what a command starts ---- */

/* Does the option clear the environment? "-i", "-", "-iu NAME", "--ignore-environment",
 * "--unset NAME"; *took becomes 2 where the next word belongs to it. */
static bool env_option_clears(char **argv, int *took)
{
	const char *word = argv[0], *value = NULL;
	bool clears = !strcmp(word, "-") || !strcmp(word, "--ignore-environment");

	if (!strncmp(word, "--unset=", 8))
		value = word + 8;
	if (!strcmp(word, "--unset") || !strcmp(word, "--chdir"))
		word = word[2] == 'u' ? "-u" : "-C";
	for (size_t i = 1; word[1] != '-' && word[i] && !value; i++) {
		clears |= word[i] == 'i';
		if (!strchr("uCS", word[i]))
			continue;
		value = word[i + 1] ? word + i + 1 : argv[1];
		*took = word[i + 1] || !argv[1] ? 1 : 2;
		if (word[i] != 'u')
			return clears;
	}
	return clears ||
	       (value && (!strcmp(value, "LD_PRELOAD") || !strcmp(value, "PROF_JOB")));
}

static char **next_of_env(char **argv, bool *clears)
{
	int took;

	for (argv++; *argv; argv += took) {
		took = 1;
		if (!strcmp(*argv, "--"))
			return argv[1] ? argv + 1 : NULL;
		if (**argv == '-')
			*clears |= env_option_clears(argv, &took);
		else if (!strncmp(*argv, "LD_PRELOAD=", 11))
			*clears = true;
		else if (!strchr(*argv, '='))
			return argv;
	}
	return NULL;
}

/* The first word behind the options that is a command: `timeout -k 5 60 python3`. */
static char **next_command(char **argv)
{
	struct target t;

	for (argv++; *argv; argv++)
		if (**argv != '-' && !target_find(&t, *argv))
			return argv;
	return NULL;
}

char **command_next(char **argv, bool *clears)
{
	static const char *const starters[] = { "nice",    "nohup",  "timeout", "stdbuf",
						"setsid",  "ionice", "chrt",    "taskset",
						"numactl", "time",   NULL };
	/* These start a command by rules of their own, on another machine, or in another
	 * container. */
	static const char *const apart[] = { "sudo", "su",     "doas",   "pkexec",
					     "ssh",  "docker", "podman", NULL };
	const char *name = text_base(argv[0]);

	*clears = text_is_in(name, apart);
	if (*clears)
		return argv[1] ? argv + 1 : NULL;
	if (!strcmp(name, "env"))
		return next_of_env(argv, clears);
	return text_is_in(name, starters) ? next_command(argv) : NULL;
}

/* ---- options that name something ---- */

/* What a script defines, only the script itself knows. */
static void look_at_function(const struct config *c, const struct target *t, bool python)
{
	if (python)
		verdict_good("marker: %s is looked for when Python has defined it",
			     c->marker);
	else if (!step_symbol_may_change(t))
		verdict_bad("marker: %s: %s is no Python: no step would end", c->marker,
			    t->image);
}

static void look_at_marker(const struct config *c, const struct target *t)
{
	const char *said;

	switch (step_symbol_find(c, t, &said)) {
	case STEP_NONE:
		break;
	case STEP_HERE:
		verdict_good("marker: %s is a function of %s", c->marker, said);
		break;
	case STEP_LATER:
		verdict_note("marker: %s is not looked for: %s", c->marker, said);
		break;
	case STEP_NOWHERE:
		verdict_bad("marker: %s: no step would end", said);
	}
}

/* Stages that functions of Python's begin need a Python. False: there are no stages. */
static bool look_at_stages(const struct config *c, const struct target *t, bool python)
{
	struct stages_row row[STAGES_MOST];
	size_t n = stages_of(c, row), at = 0;
	char names[STAGES_MOST * (STAGES_NAME + 2)] = "";
	bool torch = false;

	for (size_t i = 0; i < n; i++) {
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s",
				       i ? ", " : "", row[i].name);
		torch |= !strncmp(row[i].marker, MARKER_BY_TORCH,
				  sizeof(MARKER_BY_TORCH) - 1);
	}
	if (n && (python || torch || step_symbol_may_change(t)))
		verdict_good("stages: %s: their functions are looked for when Python has "
			     "defined them; outside of them nothing is recorded",
			     names);
	else if (n)
		verdict_bad("stages: %s: %s is no Python: none would begin", names,
			    t->image);
	return n;
}

static void look_at_on_trace(const struct config *c)
{
	char word[CONFIG_TEXT];
	struct target t;
	const char *first = c->on_trace + strspn(c->on_trace, COMMAND_BLANKS);
	size_t len = strcspn(first, COMMAND_BLANKS);

	/* A text that needs a shell is not judged. */
	if (!len || command_needs_shell(first))
		return;
	memcpy(word, first, len);
	word[len] = '\0';
	if (target_find(&t, word))
		verdict_bad("on_trace: %s: there is no such command", word);
	else
		verdict_good("on_trace: %s is run for each file", t.path);
}

void command_options(const struct config *c, const struct target *t, bool python)
{
	look_at_on_trace(c);
	if (look_at_stages(c, t, python))
		return;
	look_at_marker(c, t);
	if (config_marker_is(c, MARKER_BY_PYTHON))
		look_at_function(c, t, python);
}

/* ---- what would be recorded ---- */

static const char *recorded;

void command_will_record(const char *what)
{
	recorded = what;
}

const char *command_summary(void)
{
	return recorded;
}

const char *command_of_torch(const struct config *c)
{
	return c->activities == ACTIVITIES_CUDA ? "what PyTorch does on the GPU"
						: "the operators of PyTorch";
}

/* Only the markers of PyTorch wait for it: `auto` makes one window of a program
 * without. */
static bool waits_for_torch(const struct config *c)
{
	return config_marker_is(c, MARKER_BY_TORCH);
}

bool command_heap_alone(const struct config *c)
{
	return c->malloc && !waits_for_torch(c);
}

/* Judges a program without PyTorch and CUDA: only its heap can be recorded. */
static void judge_without(const struct config *c, const struct target *t)
{
	if (step_symbol_may_change(t)) {
		verdict_note(
			"PyTorch: %s does not link libtorch, nor CUDA; when it loads one of them later, or starts a program that does, that is recorded",
			t->image);
		command_will_record("");
	} else if (!c->malloc) {
		verdict_bad(
			"nothing would be recorded: %s uses neither PyTorch nor CUDA, and cannot load them later; --malloc all records its heap",
			t->image);
	} else if (waits_for_torch(c)) {
		verdict_bad(
			"nothing would be recorded: %s has no PyTorch, which the marker %s waits for; --marker none records its heap from start to end, --marker time:1000 in steps of a second",
			t->image, c->marker);
	} else {
		verdict_good("heap: what %s allocates is recorded", t->image);
		command_will_record("the program's heap");
	}
}

void command_records(const struct config *c, const struct target *t, const char *loaded)
{
	const char *torch = strstr(loaded, "libtorch_cpu.so");
	bool cuda = strstr(loaded, "libcudart.so") || strstr(loaded, "libcuda.so");

	if (!torch)
		torch = strstr(loaded, "libtorch.so");
	if (torch) {
		verdict_good("PyTorch: %.*s", (int)strcspn(torch, "\n"), torch);
		command_will_record(command_of_torch(c));
	} else if (cuda && c->activities != ACTIVITIES_CPU) {
		verdict_note("PyTorch: %s does not link libtorch", t->image);
		command_will_record("the program's CUDA calls and what runs on the GPU");
	} else {
		judge_without(c, t);
	}
}
