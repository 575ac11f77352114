/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/args.h"
#include "agent/core/config_file.h"
#include "agent/sched/marker.h"
#include "agent/sched/schedule.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_MOST 128

/* Words that take the place of a command. */
static const char *const verbs[] = { "recover", "doctor", NULL };
static const char *const flags[] = { "--help", "--version", "--print-config",
				     "--print-man", NULL };

static void complain(struct args *a, const char *where, const char *why)
{
	size_t used = strlen(a->bad);

	snprintf(a->bad + used, sizeof(a->bad) - used, "%s: %s\n", where, why);
	a->wrong++;
}

static void complain_fn(const char *where, const char *why, void *arg)
{
	complain(arg, where, why);
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

const char *args_check(const char *name, const char *value)
{
	struct schedule plan;
	struct marker marker;

	if (!strcmp(name, "schedule"))
		return schedule_parse(&plan, value);
	if (!strcmp(name, "marker"))
		return marker_parse(&marker, value);
	if (!strcmp(name, "file"))
		return check_pattern(value);
	if (!strcmp(name, "spool") && strcmp(value, "auto") && strcmp(value, "memory") &&
	    !strchr(value, '/'))
		return "neither auto, memory, nor a directory with a slash in it";
	return NULL;
}

/* ---- the command line ---- */

static bool is_in(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

static const struct config_option *option(const char *name)
{
	for (const struct config_option *o = config_options; o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

/* "--record-shapes=on" → record_shapes and "on"; metadata keys keep their dashes. */
static const char *split(const char *arg, char *name, size_t size)
{
	const char *equals = strchr(arg, '=');
	size_t len = equals ? (size_t)(equals - arg) : strlen(arg);

	snprintf(name, size, "%.*s", (int)len, arg);
	for (char *p = name; *p && *p != '.'; p++)
		if (*p == '-')
			*p = '_';
	return equals ? equals + 1 : NULL;
}

static bool is_flag_word(const char *word)
{
	struct config scratch;

	return word && *word && !config_set(&scratch, "quiet", word);
}

/* One --option with its value. Returns how many arguments it took. */
static int take_option(struct args *a, char **argv)
{
	char name[NAME_MOST], shown[NAME_MOST + 8];
	const char *value = split(argv[0] + 2, name, sizeof(name)), *why;
	const struct config_option *o = option(name);
	bool known = o || !strncmp(name, "metadata.", 9);
	int took = 1;

	if (!value && o && o->type == CFG_flag && !is_flag_word(argv[1]))
		value = "on";
	/* For an unknown option nothing is taken: what follows may be the command. */
	if (!value && known && argv[1] && strncmp(argv[1], "--", 2)) {
		value = argv[1];
		took = 2;
	}
	if (!value && known)
		why = "its value is missing";
	else
		why = config_set(&a->config, name, value ? value : "");
	if (why) {
		snprintf(shown, sizeof(shown), "%.*s", (int)strcspn(argv[0], "="),
			 argv[0]);
		complain(a, shown, why);
	}
	return took;
}

/* Returns false when the rest of the line cannot be ours. */
static bool take_word(struct args *a, const char *word)
{
	char hint[256];

	if (!a->verb && is_in(word, verbs)) {
		a->verb = word;
		return true;
	}
	if (a->verb && a->operands < ARGS_OPERANDS) {
		a->operand[a->operands++] = word;
		return true;
	}
	snprintf(hint, sizeof(hint),
		 "put -- before the command: proflaunch [options] -- %s ...", word);
	complain(a, word, hint);
	return false;
}

/* One argument that is not an option of the table. Returns false for others. */
static bool take_flag(struct args *a, const char *arg)
{
	if (!strcmp(arg, "-h"))
		arg = "--help";
	else if (!strcmp(arg, "-V"))
		arg = "--version";
	else if (!strcmp(arg, "-q")) {
		config_set(&a->config, "quiet", "on");
		return true;
	}
	if (is_in(arg, flags)) {
		if (!a->verb || strcmp(a->verb, "--help"))
			a->verb = arg;
		return true;
	}
	if (arg[0] == '-' && arg[1] && arg[1] != '-') {
		complain(a, arg, "no such option (short ones are -h, -q and -V)");
		return true;
	}
	return false;
}

static void take_all(struct args *a, char **argv)
{
	while (*argv) {
		if (!strcmp(*argv, "--")) {
			a->command = argv + 1;
			return;
		}
		if (take_flag(a, *argv))
			argv++;
		else if (!strncmp(*argv, "--", 2))
			argv += take_option(a, argv);
		else if (!take_word(a, *argv++))
			return;
	}
}

int args_parse(struct args *a, char **argv, char *const *env)
{
	struct args first = { 0 };

	config_check = args_check;
	config_defaults(&first.config);
	take_all(&first, argv + 1);
	*a = (struct args){ 0 };
	/* The command line says which file to read, and wins over what it says. */
	config_load(&a->config, first.config.config, env, complain_fn, a);
	take_all(a, argv + 1);
	return (int)a->wrong;
}
