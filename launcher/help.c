/* SPDX-License-Identifier: Apache-2.0 */
/* --help and profile.conf.example, from the rows of config.def: no option, choice or
 * default is written here a second time. Only the words that are no options are written
 * here: verbs, short forms, metadata. */
#include "launcher/help.h"
#include "launcher/say.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 88

/* Prints text in lines of at most WIDTH bytes, each after `prefix`; the first is
 * begun. */
static void wrap(const char *prefix, size_t column, const char *text)
{
	size_t at = column;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > column && at + 1 + len > WIDTH) {
			printf("\n%s", prefix);
			at = column;
		} else if (at > column) {
			putchar(' ');
			at++;
		}
		printf("%.*s", (int)len, text);
		at += len;
		text += len + strspn(text + len, " ");
	}
	putchar('\n');
}

static const char *value_of(const struct config_option *o)
{
	static char
		any[sizeof(o->values)]; /* a set's choices stand with commas between */

	if (o->type == CFG_flag)
		return "on|off";
	if (o->type != CFG_set)
		return *o->values ? o->values : o->unit;
	memcpy(any, o->values, sizeof(any));
	for (char *p = any; *p; p++)
		if (*p == '|')
			*p = ',';
	return any;
}

static void print_spelling(const struct config_option *o)
{
	char name[64], left[128];

	snprintf(name, sizeof(name), "%s", o->name);
	for (char *p = name; *p; p++)
		if (*p == '_')
			*p = '-';
	snprintf(left, sizeof(left), config_is_switch(o) ? "  --%s [%s]" : "  --%s %s",
		 name, value_of(o));
	printf("%-30s", left);
	if (strlen(left) >= 30)
		printf("\n%-30s", "");
}

static void print_option(const struct config_option *o)
{
	char text[1024];

	print_spelling(o);
	if (*o->def)
		snprintf(text, sizeof(text), "%s (default %s)", config_help(o), o->def);
	else
		snprintf(text, sizeof(text), "%s", config_help(o));
	wrap("                              ", 30, text);
}

#define USAGE                                                                    \
	"usage: proflaunch [options] [--] command [arguments]\n"                 \
	"       proflaunch report [options] [trace|directory]\n"                 \
	"       proflaunch diff A B, proflaunch gate --baseline A B\n"           \
	"       proflaunch ranks DIRECTORY\n"                                    \
	"       proflaunch memory|export [options] trace|directory ...\n"        \
	"       proflaunch recover [--output directory] [directory|trace ...]\n" \
	"       proflaunch doctor [options] [--] command [arguments]\n"          \
	"       proflaunch bottleneck [options] [--] command [arguments]\n"      \
	"       proflaunch help\n"

/* A few lines, for a user who types the name alone. */
void help_usage(void)
{
	static const char text[] = USAGE
		"\n"
		"proflaunch python3 train.py              records the training steps of train.py into ./log\n"
		"  -o directory, --logdir directory       where the files go\n"
		"  -s plan, --schedule plan               which steps, as wait=5,warmup=1,active=3\n"
		"proflaunch help                          lists all options\n";

	say_text(text, strlen(text));
}

void help_print(void)
{
	printf(USAGE
	       "\n"
	       "Runs an unmodified PyTorch program and writes trace files of its training steps,\n"
	       "as torch.profiler would. Each option can also be a line of profile.conf\n"
	       "(logdir = D) or an environment variable (PROF_LOGDIR=D).\n"
	       "\n"
	       "A step is one turn of the program's main loop, such as a training iteration; its marker\n"
	       "is what tells that a step ends. Steps recorded one after the other are a window, and a\n"
	       "window is one file. A call stack is the functions that were being called.\n"
	       "\n");
	for (const struct config_option *o = config_options; *o->name; o++)
		print_option(o);
	printf("  --stage name=marker         a part of the run with steps and files of its own\n"
	       "  --stage.<name>.<key> value  marker, within, enter, leave, schedule or file of it\n"
	       "  --metadata.<key> value      goes into every trace file as it is\n"
	       "  -o directory                the same as --logdir; of recover: --output\n"
	       "  -s plan                     the same as --schedule\n"
	       "  -q                          the same as --quiet\n"
	       "  --no-linger                 the same as --linger off\n"
	       "  -h, --help                  this text\n"
	       "  -V, --version [--verbose]   the version; with what it is built of and finds here\n"
	       "  --print-config              a commented profile.conf with all defaults\n"
	       "  --print-man page            a manual page: proflaunch.1, profile.conf.5, ...\n"
	       "  --print-completion shell    what completes the command line: bash, zsh or fish\n"
	       "\n"
	       "recover   finishes the traces of programs that were killed, and names the functions of\n"
	       "          call stacks that are module and offset still; its files go there, or to --output\n"
	       "report    says where the time went, and what to fix first (report --help)\n"
	       "diff      says what takes longer in one run than in another, and whether that is sure\n"
	       "gate      fails when a run is slower than its baseline, for automatic checks\n"
	       "ranks     says which rank of a distributed program holds up the others\n"
	       "memory    says what ate the memory, when, and who asked for it; finds leaks (memory --help)\n"
	       "export    writes traces in other forms: parts, databases, tables, stacks (export --help)\n"
	       "doctor    says whether profiling would work for a command, and what to do if not\n"
	       "bottleneck\n"
	       "          runs a command and shows where its time went, as torch.utils.bottleneck did: functions\n"
	       "          of Python, operators on the CPU and the GPU, --limit N rows of each (15)\n"
	       "\n"
	       "The first word that is no option is recover, report, diff, gate, ranks, memory, export,\n"
	       "doctor, bottleneck, help, or else a command; behind -- there is always a command. What\n"
	       "follows a command belongs to it. A .py file that is not executable is run by python3.\n"
	       "\n"
	       "proflaunch ends as the command ends: same exit status, or same signal.\n");
}

/* ---- profile.conf.example ---- */

static void print_range(const struct config_option *o)
{
	if (o->type == CFG_u32)
		printf("# A number from %u to %u (%s).\n", o->low, o->high, o->unit);
	else if (o->type == CFG_choice)
		printf("# One of: %s\n", o->values);
	else if (o->type == CFG_set)
		printf("# Any of, with commas between: %s; on is all of them, off none.\n",
		       value_of(o));
	else if (o->type == CFG_flag)
		printf("# on or off\n");
}

void help_print_config(void)
{
	char text[1024];

	printf("# profile.conf: options of proflaunch; every one is shown with its default.\n"
	       "#\n"
	       "# Read from --config FILE, else $PROF_CONFIG, else ./profile.conf if it is there.\n"
	       "# PROF_<OPTION> in the environment wins over this file, --<option> over both.\n");
	for (const struct config_option *o = config_options; *o->name; o++) {
		if (!strcmp(o->name, "config"))
			continue; /* a file cannot name another file */
		snprintf(text, sizeof(text), "%c%s.",
			 toupper((unsigned char)config_help(o)[0]), config_help(o) + 1);
		printf("\n# ");
		wrap("# ", 2, text);
		print_range(o);
		printf("#%s =%s%s\n", o->name, *o->def ? " " : "", o->def);
	}
	printf("\n# Goes into every trace file as it is; any key.\n"
	       "#metadata.team = vision\n"
	       "\n# ");
	wrap("# ", 2,
	     "Parts of the run with steps, windows and files of their own. The lines "
	     "below [stage name] are its own, to the next one or the end; no option of the "
	     "whole run follows. A stage is on during calls of the function within, or from "
	     "a call of enter to one of leave, or calls of its marker begin it.");
	printf("#[stage validation]\n"
	       "# marker = python:train.validate_batch\n"
	       "# within = python:train.validate\n"
	       "# schedule = wait=1,active=2\n"
	       "# file = .validation\n");
}
