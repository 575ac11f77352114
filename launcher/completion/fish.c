/* SPDX-License-Identifier: Apache-2.0 */
/* What fish completes: a line for each option, and where it may stand. */
#include "launcher/completion/fish.h"
#include "launcher/completion/word.h"

#include <stdio.h>
#include <string.h>

static void fish_must(const struct word *w)
{
	if (word_takes_value(w) && !w->alone)
		printf(" %s--%s", w->verb, w->name);
}

static void fish_option(const struct word *w)
{
	printf("complete -c proflaunch -n \"__proflaunch_at '%s'\" -l %s", w->verb,
	       w->name);
	if (w->alone)
		fputs(" -f", stdout); /* --name=value has one, and --name none */
	else if (*w->choices)
		fputs(" -x", stdout);
	else if (!strcmp(w->unit, "directory"))
		fputs(" -x -a '(__fish_complete_directories)'", stdout);
	else if (!strcmp(w->unit, "file"))
		fputs(" -r", stdout);
	else if (*w->unit)
		fputs(" -x", stdout);
	if (*w->choices && !w->alone) {
		fputs(" -a '", stdout);
		word_put_choices(w->choices);
		putchar('\'');
	}
	fputs(" -d '", stdout);
	word_put_text(w->text, "\\'", "\\");
	puts("'");
}

static const char fish_rest[] =
	"\n"
	"# Where the word that is typed stands: 'command' and its words, or 'verb' and the verb.\n"
	"function __proflaunch_scan\n"
	"\tset -l words (commandline -opc)[2..-1]\n"
	"\tset -l verb ''\n"
	"\twhile set -q words[1]\n"
	"\t\tset -l word $words[1]\n"
	"\t\tset -e words[1]\n"
	"\t\tif test \"$word\" = --\n"
	"\t\t\tprintf '%s\\n' command $words\n"
	"\t\t\treturn\n"
	"\t\telse if contains -- \"$verb$word\" $__proflaunch_must\n"
	"\t\t\tset -e words[1]\n"
	"\t\telse if string match -q -- '-*' \"$word\"\n"
	"\t\t\tcontinue\n"
	"\t\telse if test -z \"$verb\"; and contains -- \"$word\" $__proflaunch_verbs\n"
	"\t\t\tset verb $word\n"
	"\t\telse if contains -- \"$verb\" '' doctor bottleneck\n"
	"\t\t\tprintf '%s\\n' command $word $words\n"
	"\t\t\treturn\n"
	"\t\tend\n"
	"\tend\n"
	"\tprintf '%s\\n' verb $verb\n"
	"end\n"
	"\n"
	"# Options of the verb $argv[1] may stand here; '' has those that verbs without options of their own share.\n"
	"function __proflaunch_at\n"
	"\tset -l at (__proflaunch_scan)\n"
	"\ttest \"$at[1]\" = verb; or return 1\n"
	"\ttest \"$at[2]\" = \"$argv[1]\"; and return 0\n"
	"\ttest -z \"$argv[1]\"; and not contains -- \"$at[2]\" $__proflaunch_own\n"
	"end\n"
	"\n"
	"function __proflaunch_command\n"
	"\tset -l at (__proflaunch_scan)\n"
	"\tif test \"$at[1]\" = command\n"
	"\t\tcomplete -C (string join -- ' ' (string escape -- $at[2..-1] (commandline -ct)))\n"
	"\telse if string match -q -- '-*' (commandline -ct)\n"
	"\t\treturn\n"
	"\telse if contains -- \"$at[2]\" '' doctor bottleneck\n"
	"\t\tcomplete -C (commandline -ct)\n"
	"\telse\n"
	"\t\t__fish_complete_path (commandline -ct)\n"
	"\tend\n"
	"end\n"
	"\n"
	"complete -c proflaunch -f -a '(__proflaunch_command)'\n"
	"complete -c proflaunch -n \"__proflaunch_at ''\" -f -a \"$__proflaunch_verbs\"\n"
	"complete -c proflaunch -n \"__proflaunch_at ''\" -s o -x -a '(__fish_complete_directories)' -d 'where trace files go'\n"
	"complete -c proflaunch -n \"__proflaunch_at ''\" -s s -x -d 'which steps to record'\n"
	"complete -c proflaunch -n \"__proflaunch_at ''\" -s q -d 'say nothing but warnings'\n";

void fish_print(void)
{
	fputs("# fish completion of proflaunch: proflaunch --print-completion fish\n"
	      "set -g __proflaunch_verbs ",
	      stdout);
	word_put_verbs();
	fputs("\nset -g __proflaunch_own ", stdout);
	word_put_own();
	fputs("\nset -g __proflaunch_must -o -s", stdout);
	word_each(fish_must);
	puts(fish_rest);
	word_each(fish_option);
}
