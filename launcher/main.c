/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/log.h"
#include "launcher/args.h"
#include "launcher/doctor.h"
#include "launcher/help.h"
#include "launcher/memory.h"
#include "launcher/recover.h"
#include "launcher/run.h"
#include "launcher/say.h"
#include "launcher/symbolize.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int help_main(struct args *a)
{
	(void)a;
	help_print();
	return 0;
}

static int version_main(struct args *a)
{
	(void)a;
	printf("proflaunch %s\n", VERSION);
	return 0;
}

static int print_config_main(struct args *a)
{
	(void)a;
	help_print_config();
	return 0;
}

static int print_man_main(struct args *a)
{
	if (!help_print_man(a->operand[0]))
		return 0;
	say_warn("--print-man: the pages are proflaunch.1 and profile.conf.5");
	return 2;
}

static const struct {
	const char *name;
	int (*main)(struct args *a);
	bool whatever; /* works even when the options are wrong */
	bool command; /* takes a command after -- */
} verbs[] = {
	{ "recover", recover_main, false, false },
	{ "doctor", doctor_main, false, true },
	{ "--help", help_main, true, false },
	{ "--version", version_main, true, false },
	{ "--print-config", print_config_main, true, false },
	{ "--print-man", print_man_main, true, false },
};

static int usage(struct args *a)
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

static int no_command(const char *verb)
{
	say_warn("no command: proflaunch %s%s[options] -- command arguments ...",
		 verb ? verb : "", verb ? " " : "");
	return 2;
}

static int dispatch(struct args *a)
{
	for (size_t i = 0; a->verb && i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(a->verb, verbs[i].name))
			continue;
		if (a->wrong && !verbs[i].whatever)
			return usage(a);
		if (verbs[i].command && (!a->command || !a->command[0]))
			return no_command(a->verb);
		return verbs[i].main(a);
	}
	if (a->wrong)
		return usage(a);
	return !a->command || !a->command[0] ? no_command(NULL) : run_main(a, environ);
}

int main(int argc, char **argv)
{
	static struct args a;
	int status;

	/* Asked by the writer: no option and no file concerns it. */
	if (argc == 2 && !strcmp(argv[1], "symbolize"))
		return symbolize_main();
	if (argc > 1 && !strcmp(argv[1], "memory"))
		return memory_main(argv + 2);
	args_parse(&a, argv, environ);
	say_quiet = log_quiet = a.config.quiet;
	status = dispatch(&a);
	/* --help into a full disk or a closed pipe is a failure, too. */
	if (fflush(stdout) && !status)
		status = 1;
	return status;
}
