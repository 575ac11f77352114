/* SPDX-License-Identifier: Apache-2.0 */
/* The command: calls the part that the command line asks for. */
#include "agent/core/ranks.h"
#include "base/log.h"
#include "launcher/args.h"
#include "launcher/completion/completion.h"
#include "launcher/diff.h"
#include "launcher/doctor/doctor.h"
#include "launcher/export.h"
#include "launcher/gate.h"
#include "launcher/help.h"
#include "launcher/memory.h"
#include "launcher/ranks.h"
#include "launcher/recover/recover.h"
#include "launcher/release.h"
#include "launcher/report.h"
#include "launcher/room.h"
#include "launcher/run.h"
#include "launcher/say.h"
#include "launcher/symbols/symbolize.h"
#include "launcher/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int version_main(struct args *a)
{
	version_print(a->verbose);
	return 0;
}

static int print_man_main(struct args *a)
{
	if (!man_print(a->operand[0]))
		return 0;
	say_warn("--print-man: the pages are " HELP_PAGES(", "));
	return 2;
}

static int print_completion_main(struct args *a)
{
	if (!completion_print(a->operand[0]))
		return 0;
	say_warn("--print-completion: the shells are bash, zsh and fish");
	return 2;
}

static int report_of_words(char **words)
{
	return report_main(words, NULL);
}

typedef int own_main(char **words);

/* The main of a verb with options of its own (args_own_verbs); NULL: it is none. */
static own_main *find_own(const char *verb)
{
	static const struct {
		const char *name;
		own_main *main;
	} own[] = { { "report", report_of_words }, { "diff", diff_main },
		    { "gate", gate_main },         { "ranks", ranks_main },
		    { "memory", memory_main },     { "export", export_main } };

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(verb, own[i].name))
			return own[i].main;
	return NULL;
}

/* Options may stand before the verb: only report has a use for one, the log directory. */
static int own_of_args(struct args *a)
{
	if (!strcmp(a->verb, "report"))
		return report_main(a->command, a->config.logdir);
	return find_own(a->verb)(a->command);
}

/* `help memory`, `help report`: these have options of their own. */
static int help_of_args(struct args *a)
{
	own_main *own = a->operands ? find_own(a->operand[0]) : NULL;
	char *words[] = { "--help", NULL };

	if (own)
		return own(words);
	help_print();
	return 0;
}

static bool exceeds_memory(const struct config *c)
{
	if (!room_exceeded(c))
		return false;
	say_warn(
		"buffer_mb = %u: each process may keep that many MiB of records, and this "
		"machine has %s MiB of memory",
		c->buffer_mb, say_number(room_memory()));
	return true;
}

static int run_of_args(struct args *a)
{
	return exceeds_memory(&a->config) ? 2 : run_main(a, environ);
}

static const struct {
	const char *name;
	int (*main)(struct args *a);
	void (*print)(void); /* called in place of main */
	bool whatever; /* works even where the options are wrong */
	bool command; /* takes a command after -- */
	bool alone; /* allows nothing else on the command line */
} verbs[] = {
	{ "recover", .main = recover_main },
	{ "report", .main = own_of_args },
	{ "diff", .main = own_of_args },
	{ "gate", .main = own_of_args },
	{ "ranks", .main = own_of_args },
	{ "memory", .main = own_of_args },
	{ "export", .main = own_of_args },
	{ "help", .main = help_of_args, .whatever = true },
	{ "doctor", .main = doctor_main, .command = true },
	{ "bottleneck", .main = run_of_args, .command = true },
	{ "--help", .print = help_print, .whatever = true },
	{ "--version", .main = version_main, .whatever = true },
	{ "--print-config", .print = help_print_config, .whatever = true, .alone = true },
	{ "--print-man", .main = print_man_main, .whatever = true },
	{ "--print-completion", .main = print_completion_main, .whatever = true },
};

static int say_misuse(struct args *a)
{
	for (char *line = a->bad, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		say_warn("%s", line);
	}
	say_warn("proflaunch --help lists the options");
	return 2;
}

static int say_alone(const char *verb)
{
	say_warn("%s prints all options with their defaults: no other word goes with it",
		 verb);
	return 2;
}

static int no_command(const char *verb)
{
	say_warn("no command: proflaunch %s%s[options] command [arguments]",
		 verb ? verb : "", verb ? " " : "");
	if (!verb)
		help_usage();
	return 2;
}

static int run_verb(struct args *a)
{
	for (size_t i = 0; a->verb && i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(a->verb, verbs[i].name))
			continue;
		if (a->wrong && !verbs[i].whatever)
			return say_misuse(a);
		if (verbs[i].alone && (a->options || a->operands || a->command))
			return say_alone(a->verb);
		if (verbs[i].command && (!a->command || !a->command[0]))
			return no_command(a->verb);
		if (verbs[i].main)
			return verbs[i].main(a);
		verbs[i].print();
		return 0;
	}
	if (a->wrong)
		return say_misuse(a);
	if (!a->command || !a->command[0])
		return no_command(NULL);
	return run_of_args(a);
}

/* Where each rank has a launcher of its own, only rank 0 says what all would say. */
static bool is_later_rank(const struct args *a)
{
	struct ranks r;

	return (!a->verb || a->limit) && !a->quiet_said && ranks_find(&r, environ) &&
	       strtoul(r.rank, NULL, 10);
}

int main(int argc, char **argv)
{
	static struct args a;
	int status;

	release_standard();
	/* The writer asks for `symbolize`: no option and no file concerns it. */
	if (argc == 2 && !strcmp(argv[1], "symbolize"))
		return symbolize_main();
	if (argc > 1 && find_own(argv[1]))
		return find_own(argv[1])(argv + 2);
	if (argc == 1) {
		help_usage();
		return 2;
	}
	args_parse(&a, argv, environ);
	if (is_later_rank(&a)) {
		a.config.quiet = true;
		a.limit = 0; /* no tables either */
	}
	say_quiet = log_quiet = a.config.quiet;
	status = run_verb(&a);
	/* --help into a full disk or a closed pipe is a failure, too. */
	if ((fflush(stdout) || ferror(stdout)) && !status)
		status = 1;
	return status;
}
