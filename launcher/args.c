/* SPDX-License-Identifier: Apache-2.0 */
/* The command line is read twice: first for --config, for the file that it names counts
 * less than the environment, and that less than the command line; then, over both, for
 * all options. The second reading finds all that the first one complains about, so only
 * its complaints are kept. An option of the table is spelt with dashes on the command
 * line, and needs no code of its own. */
#include "launcher/args.h"
#include "agent/sched/marker.h"
#include "agent/sched/schedule.h"
#include "base/near.h"
#include "base/text.h"
#include "config/c_modules.h"
#include "config/config_file.h"
#include "config/config_near.h"
#include "config/several.h"
#include "config/stages.h"
#include "launcher/bottleneck.h"

#include <stdio.h>
#include <string.h>

#define NAME_MOST 128
#define NEGATION  "--no-"

/* Words that take the place of a command. */
const char *const args_verbs[] = { "recover",    "report", "diff",   "gate",
				   "ranks",      "memory", "export", "doctor",
				   "bottleneck", "help",   NULL };
const char *const args_own_verbs[] = { "report", "diff",   "gate", "ranks",
				       "memory", "export", NULL };
static const char *const flags[] = {
	"--help", "--version", "--print-config", "--print-man", "--print-completion", NULL
};

static void add_complaint(const char *where, const char *why, void *arg)
{
	struct args *a = arg;
	size_t used = strlen(a->bad);

	snprintf(a->bad + used, sizeof(a->bad) - used, "%s: %s\n", where, why);
	a->wrong++;
}

static const char *check_pattern(const char *p)
{
	static char why[64];

	for (; *p; p++) {
		if (*p != '%')
			continue;
		p++;
		if (*p == 'q' && p[1] == '{' && strchr(p, '}'))
			p = strchr(p, '}');
		else if (*p == 'q')
			return "%q needs {NAME} after it";
		else if (!*p || !strchr("hprt%", *p)) {
			snprintf(why, sizeof(why),
				 "%%%c is none of %%h %%p %%r %%t %%q{VAR} %%%%",
				 *p ? *p : ' ');
			return why;
		}
	}
	return NULL;
}

/* Checks what the option table cannot judge: schedule, marker, file, spool. The agent
 * parses these again; the launcher alone can still refuse them before the program
 * runs. */
static const char *check_text(const char *name, const char *value)
{
	struct schedule plan;
	struct marker marker;

	if (!strcmp(name, "schedule"))
		return schedule_parse(&plan, value);
	if (!strcmp(name, "marker"))
		return marker_parse(&marker, value);
	if (!strcmp(name, "c_calls"))
		return c_modules_check(value);
	if (!strcmp(name, "file"))
		return check_pattern(value);
	if (!strcmp(name, "spool") && strcmp(value, "auto") && strcmp(value, "memory") &&
	    !strchr(value, '/'))
		return "neither auto, memory, nor a directory with a slash in it";
	return NULL;
}

/* ---- the command line ---- */

/* "--record-shapes=on" → record_shapes and "on"; metadata keys keep their dashes. */
static const char *split_option(const char *arg, char *name, size_t size)
{
	const char *equals = strchr(arg, '=');
	size_t len = equals ? (size_t)(equals - arg) : strlen(arg);

	snprintf(name, size, "%.*s", (int)len, arg);
	for (char *p = name; *p && *p != '.'; p++)
		if (*p == '-')
			*p = '_';
	return equals ? equals + 1 : NULL;
}

/* After an option that may stand alone the next word is its value only if it can be one:
 * `--quiet on`, but not `--quiet -- on`. torch's own names (--with-stack), and texts,
 * take a value behind '=' alone. */
static bool is_word_of(const char *name, const char *word)
{
	const struct config_option *o = config_find(name);
	struct config scratch;

	scratch.native_stacks = 0; /* an option of old changes a bit of it */
	return word && *word && config_alias(name) == name && o->type != CFG_text &&
	       !config_set(&scratch, name, word);
}

/* cuda_stacks had no "on". */
static bool stands_alone(const struct config_option *o, const char *name)
{
	return config_is_switch(o) && strcmp(name, SEVERAL_CUDA_STACKS);
}

static bool is_verb(const struct args *a, const char *verb)
{
	return a->verb && !strcmp(a->verb, verb);
}

/* Names the option that a word with "no" before it is near to: what it takes instead.
 * NULL: there is none, or none that can be off. */
static const char *unknown_negation(const char *typed)
{
	static char told[96];
	const char *option = text_after(typed, NEGATION), *name;
	const struct config_option *o;

	name = option ? config_nearest(option) : NULL;
	o = name ? config_find(name) : NULL;
	if (!o || !config_is_switch(o))
		return NULL;
	snprintf(told, sizeof(told), "no such option (did you mean --%s=off?)", name);
	for (char *p = strstr(told, "--"); *p; p++)
		if (*p == '_')
			*p = '-';
	return told;
}

/* Names the option that is nearest to what was typed: options first, then the words
 * without a value. */
static const char *unknown_option(const struct args *a, const char *arg)
{
	static char told[64], typed[NAME_MOST];
	const char *negated;
	struct near near;

	snprintf(typed, sizeof(typed), "%.*s", (int)strcspn(arg, "="), arg);
	negated = unknown_negation(typed);
	if (negated)
		return negated;
	near = near_begin(typed);
	if (is_verb(a, "recover"))
		near_try(&near, "--output");
	if (is_verb(a, "bottleneck"))
		near_try(&near, "--limit");
	for (const char *const *flag = flags; *flag && !config_nearest(typed + 2); flag++)
		near_try(&near, *flag);
	if (!near.best)
		return config_unknown(typed + 2, CONFIG_WORD);
	snprintf(told, sizeof(told), "no such option (did you mean %s?)", near.best);
	return told;
}

/* One --option with its value. Returns how many arguments it took. */
static int take_option(struct args *a, char **argv)
{
	char name[NAME_MOST], shown[NAME_MOST + 8];
	const char *value = split_option(argv[0] + 2, name, sizeof(name)), *why;
	const struct config_option *o = config_find(name);
	bool known = o || config_is_keyed(name);
	int took = 1;

	a->options++;
	a->quiet_said |= !strcmp(name, "quiet");
	if (!value && o && stands_alone(o, name) && !is_word_of(name, argv[1])) {
		value = "on";
		a->flag = argv[0];
	}
	/* An unknown option takes no word: the next one may be the command. */
	if (!value && known && argv[1] && strncmp(argv[1], "--", 2)) {
		value = argv[1];
		took = 2;
	}
	if (!known)
		why = unknown_option(a, argv[0]);
	else if (!value)
		why = strcmp(name, SEVERAL_CUDA_STACKS)
			      ? "its value is missing"
			      : "its value is missing: off or native";
	else
		why = config_set(&a->config, name, value);
	if (why) {
		snprintf(shown, sizeof(shown), "%.*s", (int)strcspn(argv[0], "="),
			 argv[0]);
		add_complaint(shown, why, a);
	}
	return took;
}

/* Verbs behind whose options there is a command. */
static bool takes_command(const struct args *a)
{
	return is_verb(a, "doctor") || is_verb(a, "bottleneck");
}

/* Takes a word. Returns false where the rest of the line is a command with its
 * options. */
static bool take_word(struct args *a, char **argv)
{
	bool first = !a->verb && text_is_in(*argv, args_verbs);

	if (first)
		a->verb = *argv;
	else if (a->verb && !takes_command(a) && a->operands < ARGS_OPERANDS)
		a->operand[a->operands++] = *argv;
	else if (a->verb && !takes_command(a))
		add_complaint(*argv, "no more than 16 words can be given", a);
	else
		a->command = argv;
	if (first && text_is_in(*argv, args_own_verbs))
		a->command = argv + 1;
	a->bare = a->command != NULL;
	return !a->bare;
}

/* Takes an option with a short form; for `recover`, -o is its --output. Returns how many
 * arguments it took. */
static int take_short(struct args *a, char **argv)
{
	static const struct {
		char letter;
		const char *option;
	} shorts[] = { { 'o', "logdir" }, { 's', "schedule" } };
	const char *arg = *argv, *value = argv[1], *why;
	char shown[3] = { '-', arg[1], '\0' };
	bool joined = arg[1] && arg[2];
	size_t i = 0;

	while (i < 2 && shorts[i].letter != arg[1])
		i++;
	if (arg[0] != '-' || i == 2)
		return 0;
	if (joined)
		value = arg + 2 + (arg[2] == '=');
	if (!value || (!joined && !strncmp(value, "--", 2))) {
		add_complaint(shown, "its value is missing", a);
		return 1;
	}
	if (is_verb(a, "recover") && arg[1] == 'o') {
		a->output = value;
		why = *value ? NULL : "the value is empty";
	} else {
		why = config_set(&a->config, shorts[i].option, value);
	}
	if (why)
		add_complaint(shown, why, a);
	return joined ? 1 : 2;
}

/* "--no-linger": the same as --linger off, for each option that is off or on. */
static bool take_negation(struct args *a, const char *arg)
{
	char name[NAME_MOST];
	const char *option = text_after(arg, NEGATION);
	const struct config_option *o = NULL;

	if (option && !split_option(option, name, sizeof(name)))
		o = config_find(name);
	if (!o || !config_is_switch(o))
		return false;
	a->quiet_said |= !strcmp(name, "quiet");
	return !config_set(&a->config, name, "off");
}

/* Takes an argument that is no option of the table. Returns false where it is another. */
static bool take_flag(struct args *a, const char *arg)
{
	if (!strcmp(arg, "-h"))
		arg = "--help";
	else if (!strcmp(arg, "-V"))
		arg = "--version";
	else if (!strcmp(arg, "-q"))
		return !config_set(&a->config, "quiet", "on");
	else if (!strcmp(arg, "--verbose"))
		return a->verbose = true;
	if (take_negation(a, arg))
		return true;
	if (text_is_in(arg, flags)) {
		if (!a->verb || strcmp(a->verb, "--help"))
			a->verb = arg;
		return true;
	}
	if (arg[0] == '-' && arg[1] && arg[1] != '-') {
		add_complaint(arg,
			      "no such option (short ones are -o, -s, -q, -h and -V)", a);
		return true;
	}
	return false;
}

/* `recover --output DIR`, `bottleneck --limit N`: an option of a verb that shares those
 * of a run. Returns how many arguments it took. */
static int take_own(struct args *a, char **argv)
{
	bool limit = is_verb(a, "bottleneck");
	const char *name = limit ? "--limit" : "--output";
	const char *value = argv[1], *rest = text_after(*argv, name);

	if ((!limit && !is_verb(a, "recover")) || !rest || (*rest && *rest != '='))
		return 0;
	if (*rest)
		value = rest + 1;
	if (!value || !*value)
		add_complaint(name, value ? "the value is empty" : "its value is missing",
			      a);
	else if (limit && !(a->limit = bottleneck_rows(value)))
		add_complaint(name, "not a number from 1 on", a);
	if (!limit)
		a->output = value;
	return *rest || !value ? 1 : 2;
}

static void take_all(struct args *a, char **argv)
{
	int took;

	while (*argv) {
		const char *flag = a->flag;

		if (!strcmp(*argv, "--") && is_verb(a, "recover")) {
			while (*++argv)
				take_word(a, argv);
			return;
		}
		if (!strcmp(*argv, "--")) {
			a->command = argv + 1;
			return;
		}
		if ((took = take_short(a, argv)) || (took = take_own(a, argv)))
			argv += took;
		else if (take_flag(a, *argv))
			argv++;
		else if (!strncmp(*argv, "--", 2))
			argv += take_option(a, argv);
		else if (!take_word(a, argv++))
			return;
		if (flag == a->flag)
			a->flag = NULL;
	}
}

/* A value that was refused is missing: one complaint is enough. */
static void judge_stages(struct args *a)
{
	const char *no = stages_check(&a->config);

	if (no)
		add_complaint("stages", no, a);
}

int args_parse(struct args *a, char **argv, char *const *env)
{
	static struct args first; /* the user's stack may be a few pages */

	first = (struct args){ 0 };
	config_check = check_text;
	config_defaults(&first.config);
	take_all(&first, argv + 1);
	*a = (struct args){ 0 };
	/* The command line names the file to be read, and wins over what the file
	 * says. */
	config_load(&a->config, first.config.config, env, add_complaint, a);
	if (is_verb(&first, "bottleneck")) {
		bottleneck_set(&a->config);
		a->limit = BOTTLENECK_ROWS;
	}
	take_all(a, argv + 1);
	if (is_verb(a, "bottleneck"))
		bottleneck_judge(&a->config, add_complaint, a);
	if (!a->wrong)
		judge_stages(a);
	if (a->verbose && !is_verb(a, "--version"))
		add_complaint("--verbose", "goes with --version", a);
	a->has_on_trace = first.config.on_trace[0];
	return (int)a->wrong;
}
