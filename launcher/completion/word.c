/* SPDX-License-Identifier: Apache-2.0 */
/* The words that may stand behind proflaunch, out of the tables of options. */
#include "launcher/completion/word.h"
#include "config/config.h"
#include "launcher/args.h"
#include "launcher/completion/completion.h"
#include "launcher/help.h"

#include <stdio.h>
#include <string.h>

/* A shell offers one word; who wants two types the comma. */
static const char *choices_of(const struct config_option *o)
{
	static char any[sizeof(o->values) + sizeof("off|")];

	if (o->type == CFG_flag)
		return "on|off";
	if (o->type != CFG_set)
		return o->values;
	snprintf(any, sizeof(any), "off|%s", o->values);
	return any;
}

static void put_option(const struct config_option *o, word_put *put)
{
	struct word w = { .verb = "",
			  .choices = choices_of(o),
			  .unit = o->unit,
			  .alone = config_is_switch(o),
			  .text = config_help(o) };

	snprintf(w.name, sizeof(w.name), "%s", o->name);
	for (char *p = w.name; *p; p++)
		if (*p == '_')
			*p = '-';
	put(&w);
}

static void put_row(word_put *put, const char *verb, const char *name,
		    const char *choices, const char *value, const char *text)
{
	struct word w = { .verb = verb, .choices = choices, .unit = value, .text = text };

	snprintf(w.name, sizeof(w.name), "%s", name);
	if (!strcmp(value, "FILE") || !strcmp(value, "TRACE|DIRECTORY"))
		w.unit = "file";
	put(&w);
}

/* The words that an option of a verb of its own takes; "" = any. */
static const char *own_choices(const char *verb, const char *name)
{
	static const char *const rows[][3] = {
		{ "report", "view",
		  "overview|ops|kernels|steps|memory|modules|python|workers|distributed|collectives|threads|trace" },
		{ "report", "format", "table|csv|json|md" },
		{ "report", "group-by", "name|shape|stack:1|module|phase" },
		{ "diff", "format", "table|csv|json|md" },
		{ "gate", "format", "text|json|junit|github|md" },
		{ "gate", "metric", "step|gpu|peak-memory" },
		{ "ranks", "format", "table|csv|json|md" },
		{ "export", "view",
		  "overview|ops|kernels|steps|memory|modules|python|workers|distributed|collectives|threads|trace" },
		{ "export", "by", "cpu|cuda|allocated|live" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (!strcmp(verb, rows[i][0]) && !strcmp(name, rows[i][1]))
			return rows[i][2];
	return "";
}

/* Each option of each verb. */
void word_each(word_put *put)
{
	for (const struct config_option *o = config_options; *o->name; o++)
		put_option(o, put);
	put_row(put, "", "stage", "", "name=marker",
		"a part of the run with steps and files of its own");
	put_row(put, "", "with-stack", "", "", "record which line of Python called");
	put_row(put, "", "with-modules", "", "", "record each call of a module");
	put_row(put, "", "with-flops", "", "", "compute floating-point operations");
	put_row(put, "", "no-linger", "", "", "the same as --linger off");
	put_row(put, "", "help", "", "", "all options");
	put_row(put, "", "version", "", "", "the version");
	put_row(put, "", "verbose", "", "", "with --version: what it is built of");
	put_row(put, "", "print-config", "", "",
		"a commented profile.conf with all defaults");
	put_row(put, "", "print-man", HELP_PAGES("|"), "page", "a manual page");
	put_row(put, "", "print-completion", COMPLETION_SHELLS, "shell",
		"what a shell completes");
	put_row(put, "recover", "output", "", "directory", "where the files go");
#define OPTION(name, value, text) put_row(put, "bottleneck", name, "", value, text);
#include "launcher/bottleneck.def"
#undef OPTION
#define OPTION(name, value, text) \
	put_row(put, "report", name, own_choices("report", name), value, text);
#include "launcher/report.def"
#undef OPTION
#define OPTION(name, value, text) \
	put_row(put, "diff", name, own_choices("diff", name), value, text);
#include "launcher/diff.def"
#undef OPTION
#define OPTION(name, value, text) \
	put_row(put, "gate", name, own_choices("gate", name), value, text);
#include "launcher/gate.def"
#undef OPTION
#define OPTION(name, value, text) \
	put_row(put, "ranks", name, own_choices("ranks", name), value, text);
#include "launcher/ranks.def"
#undef OPTION
#define OPTION(name, value, text) \
	put_row(put, "memory", name, own_choices("memory", name), value, text);
#include "launcher/memory.def"
#undef OPTION
#define OPTION(name, value, text) \
	put_row(put, "export", name, own_choices("export", name), value, text);
#include "launcher/export.def"
#undef OPTION
}

bool word_takes_value(const struct word *w)
{
	return *w->choices || *w->unit;
}

/* "a|b" with blanks between. */
void word_put_choices(const char *choices)
{
	for (; *choices; choices++)
		putchar(*choices == '|' ? ' ' : *choices);
}

/* Within '...' of a shell; `before`: characters that need a backslash. */
void word_put_text(const char *text, const char *quote, const char *before)
{
	for (; *text; text++)
		if (*text == '\'') {
			fputs(quote, stdout);
		} else {
			if (strchr(before, *text))
				putchar('\\');
			putchar(*text);
		}
}

void word_put_verbs(void)
{
	for (const char *const *verb = args_verbs; *verb; verb++)
		printf("%s%s", verb == args_verbs ? "" : " ", *verb);
}

void word_put_own(void)
{
	for (const char *const *verb = args_own_verbs; *verb; verb++)
		printf("%s%s", verb == args_own_verbs ? "" : " ", *verb);
}
