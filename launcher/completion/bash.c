/* SPDX-License-Identifier: Apache-2.0 */
/* What bash completes, with its framework (bash-completion) or without. */
#include "launcher/completion/bash.h"
#include "launcher/args.h"
#include "launcher/completion/word.h"

#include <stdio.h>
#include <string.h>

static const char *listed;

static void bash_name(const struct word *w)
{
	if (!strcmp(w->verb, listed))
		printf(" --%s", w->name);
}

static void bash_value(const struct word *w)
{
	if (!word_takes_value(w))
		return;
	printf("\t%s--%s) may=%s", w->verb, w->name, w->alone ? "may" : "must");
	if (*w->choices) {
		printf(" values='");
		word_put_choices(w->choices);
		putchar('\'');
	} else if (!strcmp(w->unit, "file") || !strcmp(w->unit, "directory") ||
		   !strcmp(w->unit, "command")) {
		printf(" kind=%s", w->unit);
	}
	printf(" ;;\n");
}

static const char bash_rest[] =
	"\t-o) may=must kind=directory ;;\n"
	"\t-s) may=must ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# The words from $1 on are a command with its own words.\n"
	"_proflaunch_command() {\n"
	"\tif declare -F _command_offset > /dev/null; then\n"
	"\t\t_command_offset \"$1\"\n"
	"\telif [ \"$1\" = \"$COMP_CWORD\" ]; then\n"
	"\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	"\telse\n"
	"\t\tcompopt -o filenames 2> /dev/null\n"
	"\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	"\tfi\n"
	"}\n"
	"\n"
	"_proflaunch_values() {\n"
	"\tcase $kind in\n"
	"\tdirectory) compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -d -- \"$cur\")) ;;\n"
	"\tfile) compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	"\tcommand) COMPREPLY=($(compgen -c -- \"$cur\")) ;;\n"
	"\t*) COMPREPLY=($(compgen -W \"$values\" -- \"$cur\")) ;;\n"
	"\tesac\n"
	"}\n"
	"\n"
	"# bash takes an equals sign for a word: --name = value are three.\n"
	"_proflaunch() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} verb= i=1 word may kind values\n"
	"\tCOMPREPLY=()\n"
	"\twhile [ \"$i\" -lt \"$COMP_CWORD\" ]; do\n"
	"\t\tword=${COMP_WORDS[i]}\n"
	"\t\tcase $word in\n"
	"\t\t--) _proflaunch_command $((i + 1)); return ;;\n"
	"\t\t-*)\n"
	"\t\t\t_proflaunch_value \"$word\"\n"
	"\t\t\tif [ \"${COMP_WORDS[i + 1]}\" = = ]; then\n"
	"\t\t\t\t[ $((i + 1)) -eq \"$COMP_CWORD\" ] && { cur=; _proflaunch_values; return; }\n"
	"\t\t\t\t[ $((i + 2)) -eq \"$COMP_CWORD\" ] && { _proflaunch_values; return; }\n"
	"\t\t\t\ti=$((i + 2))\n"
	"\t\t\telif [ \"$may\" = must ] ||\n"
	"\t\t\t\t{ [ \"$may\" ] && [[ \" $values \" == *\" ${COMP_WORDS[i + 1]} \"* ]]; }; then\n"
	"\t\t\t\t[ $((i + 1)) -eq \"$COMP_CWORD\" ] && { _proflaunch_values; return; }\n"
	"\t\t\t\ti=$((i + 1))\n"
	"\t\t\tfi ;;\n"
	"\t\t*)\n"
	"\t\t\tcase \" $_proflaunch_verbs \" in\n"
	"\t\t\t*\" $word \"*) [ -z \"$verb\" ] && verb=$word ;;\n"
	"\t\t\tesac\n"
	"\t\t\tcase $verb in\n"
	"\t\t\t'' | doctor | bottleneck) [ \"$word\" = \"$verb\" ] || { _proflaunch_command \"$i\"; return; } ;;\n"
	"\t\t\tesac ;;\n"
	"\t\tesac\n"
	"\t\ti=$((i + 1))\n"
	"\tdone\n"
	"\tif [[ $cur == -* && $verb && \" $_proflaunch_own \" == *\" $verb \"* ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$(_proflaunch_options \"$verb\")\" -- \"$cur\"))\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tcase $cur,$verb in\n"
	"\t-*,) COMPREPLY=($(compgen -W \"$(_proflaunch_options '')\" -- \"$cur\")) ;;\n"
	"\t-*) COMPREPLY=($(compgen -W \"$(_proflaunch_options '') $(_proflaunch_options \"$verb\")\" -- \"$cur\")) ;;\n"
	"\t*,) COMPREPLY=($(compgen -W \"$_proflaunch_verbs\" -c -- \"$cur\")) ;;\n"
	"\t*,doctor | *,bottleneck) COMPREPLY=($(compgen -c -- \"$cur\")) ;;\n"
	"\t*) compopt -o filenames 2> /dev/null; COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	"\tesac\n"
	"}\n"
	"complete -F _proflaunch proflaunch\n";

/* The options of each verb of a list, for _proflaunch_options. */
static void put_options(const char *const *verbs)
{
	for (; *verbs; verbs++) {
		printf("\t'%s') echo '", *verbs);
		listed = *verbs;
		word_each(bash_name);
		printf("' ;;\n");
	}
}

void bash_print(void)
{
	static const char *const shared[] = { "", "recover", "bottleneck", NULL };

	fputs("# bash completion of proflaunch: proflaunch --print-completion bash\n"
	      "_proflaunch_verbs='",
	      stdout);
	word_put_verbs();
	printf("'\n_proflaunch_own='");
	word_put_own();
	printf("'\n\n_proflaunch_options() {\n\tcase $1 in\n");
	put_options(shared);
	put_options(args_own_verbs);
	printf("\tesac\n}\n\n"
	       "# may: must the option $1 have a value, or may it; kind, values: of which sort.\n"
	       "_proflaunch_value() {\n\tmay= kind= values=\n\tcase $verb$1 in\n");
	word_each(bash_value);
	fputs(bash_rest, stdout);
}
