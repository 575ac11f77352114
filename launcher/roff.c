/* SPDX-License-Identifier: Apache-2.0 */
/* Text in man(7) format, with roff's special characters escaped. */
#include "launcher/roff.h"

#include <ctype.h>
#include <stdio.h>

void roff_text(const char *text)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\\')
			fputs("\\e", stdout);
		else if (*p == '-')
			fputs("\\-", stdout);
		else if ((*p == '.' || *p == '\'') && (p == text || p[-1] == '\n'))
			printf("\\&%c", *p);
		else
			putchar(*p);
		/* A long schedule may be broken after a comma, without a hyphen. */
		if (*p == ',' && p[1] && p[1] != ' ')
			fputs("\\:", stdout);
	}
}

void roff_sentence(const char *text)
{
	putchar(toupper((unsigned char)*text));
	roff_text(text + 1);
	fputs(".\n", stdout);
}

void roff_head(const char *page, const char *section)
{
	printf(".\\\" Generated from the option tables: proflaunch --print-man %s.%s\n"
	       ".TH %s %s \"2026-11-23\" \"proflaunch %s\"\n"
	       ".nh\n.ad l\n",
	       page, section, page, section, VERSION);
}

void roff_section(const char *name, const char *body)
{
	printf(".SH %s\n%s", name, body);
}

void roff_value(const struct config_option *o)
{
	fputs("\\fB", stdout);
	if (o->type == CFG_flag) {
		fputs("on\\fR|\\fBoff", stdout);
	} else if (*o->values) {
		for (const char *p = o->values; *p; p++)
			fputs(*p != '|'            ? (char[]){ *p, 0 }
			      : o->type == CFG_set ? "\\fR,\\fB"
						   : "\\fR|\\fB",
			      stdout);
	} else {
		fputs("\\fI", stdout);
		roff_text(o->unit);
	}
	fputs("\\fR", stdout);
}

void roff_option(const struct config_option *o)
{
	fputs("\\fB\\-\\-", stdout);
	for (const char *name = o->name; *name; name++)
		fputs(*name == '_' ? "\\-" : (char[]){ *name, 0 }, stdout);
	fputs(config_is_switch(o) ? "\\fR [" : "\\fR ", stdout);
	roff_value(o);
	fputs(config_is_switch(o) ? "]" : "", stdout);
}

void roff_help(const struct config_option *o)
{
	roff_sentence(config_help(o));
	if (o->type == CFG_u32)
		printf("A number from %u to %u.\n", o->low, o->high);
	if (*o->def) {
		fputs("Default: ", stdout);
		roff_text(o->def);
		fputs(".\n", stdout);
	}
}

void roff_row(const char *name, const char *value, const char *text)
{
	fputs(".TP\n\\fB\\-\\-", stdout);
	roff_text(name);
	fputs(*value ? "\\fR \\fI" : "\\fR", stdout);
	roff_text(value);
	fputs(*value ? "\\fR\n" : "\n", stdout);
	roff_sentence(text);
}
