/* SPDX-License-Identifier: Apache-2.0 */
/* What zsh completes: specifications for its _arguments. */
#include "launcher/completion/zsh.h"
#include "launcher/args.h"
#include "launcher/completion/word.h"

#include <stdio.h>
#include <string.h>

static const char *listed;

static void zsh_option(const struct word *w)
{
	if (strcmp(w->verb, listed))
		return;
	printf("\t\t'--%s%s[", w->name, w->alone ? "=-" : word_takes_value(w) ? "=" : "");
	word_put_text(w->text, "'\\''", "[]:\\");
	putchar(']');
	if (word_takes_value(w))
		printf("%s%s:", w->alone ? "::" : ":", *w->unit ? w->unit : "value");
	if (*w->choices) {
		putchar('(');
		word_put_choices(w->choices);
		putchar(')');
	} else if (!strcmp(w->unit, "directory")) {
		fputs("_files -/", stdout);
	} else if (!strcmp(w->unit, "file")) {
		fputs("_files", stdout);
	} else if (!strcmp(w->unit, "command")) {
		fputs("_command_names -e", stdout);
	}
	puts("'");
}

static void zsh_options(const char *name, const char *verb)
{
	printf("\t%s=(\n", name);
	listed = verb;
	word_each(zsh_option);
	puts("\t)");
}

void zsh_print(void)
{
	puts("#compdef proflaunch\n"
	     "# zsh completion of proflaunch: proflaunch --print-completion zsh\n"
	     "_proflaunch() {\n"
	     "\tlocal context state line\n"
	     "\tlocal -a options recover bottleneck");
	fputs("\tlocal -a ", stdout);
	word_put_own();
	putchar('\n');
	zsh_options("options", "");
	zsh_options("recover", "recover");
	zsh_options("bottleneck", "bottleneck");
	for (const char *const *verb = args_own_verbs; *verb; verb++)
		zsh_options(*verb, *verb);
	puts("\toptions+=('-o[where trace files go]:directory:_files -/' '-s[which steps to record]:plan:'\n"
	     "\t\t'-q[say nothing but warnings]' '-h[all options]' '-V[the version]')\n"
	     "\t_arguments -S -C $options '(-)1: :->first' '(-)*:: :->rest'\n"
	     "\tcase $state in\n"
	     "\tfirst)");
	fputs("\t\t_alternative 'verbs:verb:(", stdout);
	word_put_verbs();
	puts(")' 'commands:command:_command_names -e' ;;\n"
	     "\trest)\n"
	     "\t\tcase $words[1] in\n"
	     "\t\trecover) _arguments $recover $options '*:trace:_files' ;;");
	for (const char *const *verb = args_own_verbs; *verb; verb++)
		printf("\t\t%s) _arguments $%s '*:trace:_files' ;;\n", *verb, *verb);
	fputs("\t\thelp) _values verb ", stdout);
	word_put_own();
	puts(" ;;\n"
	     "\t\tdoctor) _arguments -S $options '(-)1:command:_command_names -e' '*::arguments:_normal' ;;\n"
	     "\t\tbottleneck) _arguments -S $bottleneck $options '(-)1:command:_command_names -e' '*::arguments:_normal' ;;\n"
	     "\t\t*) _normal ;;\n"
	     "\t\tesac ;;\n"
	     "\tesac\n"
	     "}\n"
	     "_proflaunch \"$@\"");
}
