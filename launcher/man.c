/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Text as roff: a backslash, a dash and a leading dot mean themselves. */
static void put(const char *text)
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
		/* A long plan may be broken after a comma, without a hyphen. */
		if (*p == ',' && p[1] && p[1] != ' ')
			fputs("\\:", stdout);
	}
}

static void put_dashed(const char *name)
{
	for (; *name; name++)
		fputs(*name == '_' ? "\\-" : (char[]){ *name, 0 }, stdout);
}

static void put_upper(const char *name)
{
	for (; *name; name++)
		putchar(toupper((unsigned char)*name));
}

static void head(const char *page, const char *section)
{
	printf(".\\\" Generated from the option table: proflaunch --print-man %s.%s\n"
	       ".TH %s %s \"2026-11-21\" \"proflaunch %s\"\n"
	       ".nh\n.ad l\n",
	       page, section, page, section, VERSION);
}

static void section(const char *name)
{
	printf(".SH %s\n", name);
}

static void print_value(const struct config_option *o)
{
	if (*o->values) {
		for (const char *p = o->values; *p; p++)
			fputs(*p == '|' ? "\\fR|\\fB" : (char[]){ *p, 0 }, stdout);
	} else {
		fputs("\\fI", stdout);
		put(o->unit);
	}
}

static void print_help(const struct config_option *o)
{
	printf("\n%c", toupper((unsigned char)o->help[0]));
	put(o->help + 1);
	fputs(".\n", stdout);
	if (o->type == CFG_u32)
		printf("A number from %u to %u.\n", o->low, o->high);
	if (*o->def) {
		fputs("Default: ", stdout);
		put(o->def);
		fputs(".\n", stdout);
	}
}

static void command_options(void)
{
	for (const struct config_option *o = config_options; o->name; o++) {
		fputs(".TP\n\\fB\\-\\-", stdout);
		put_dashed(o->name);
		fputs("\\fR ", stdout);
		if (o->type == CFG_flag) {
			fputs("[\\fBon\\fR|\\fBoff\\fR]", stdout);
		} else {
			fputs("\\fB", stdout);
			print_value(o);
			fputs("\\fR", stdout);
		}
		print_help(o);
	}
	fputs(".TP\n\\fB\\-\\-metadata.\\fIkey value\\fR\nGoes into every trace file as it is.\n"
	      ".TP\n\\fB\\-q\\fR\nThe same as \\fB\\-\\-quiet\\fR.\n"
	      ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nA short text with all options.\n"
	      ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR\nThe version.\n"
	      ".TP\n\\fB\\-\\-print\\-config\\fR\nA commented \\fIprofile.conf\\fR with all defaults.\n"
	      ".TP\n\\fB\\-\\-print\\-man\\fR \\fIpage\\fR\n"
	      "A manual page: \\fBproflaunch.1\\fR or \\fBprofile.conf.5\\fR.\n",
	      stdout);
}

static void environment(void)
{
	for (const struct config_option *o = config_options; o->name; o++) {
		fputs(".TP\n\\fBPROF_", stdout);
		put_upper(o->name);
		fputs("\\fR\nThe option \\fB\\-\\-", stdout);
		put_dashed(o->name);
		fputs("\\fR.\n", stdout);
	}
	fputs(".TP\n\\fBPROF_METADATA_\\fIkey\\fR\nThe option \\fB\\-\\-metadata.\\fIkey\\fR.\n"
	      ".TP\n\\fBPROF_JOB\\fR\nSet by \\fBproflaunch\\fR for the program: "
	      "the page that all processes of one run share.\n"
	      ".TP\n\\fBCUDA_INJECTION64_PATH\\fR\nSet to the agent for the program, so that the CUDA "
	      "driver loads it there; a value that is set already is left alone, and the GPU to the "
	      "tool that it names.\n"
	      ".TP\n\\fBTMPDIR\\fR\nWhere records lie while the program runs, "
	      "if the log directory is not on a local disk.\n"
	      ".TP\n\\fBNO_COLOR\\fR\nWhen set, no line is coloured.\n",
	      stdout);
}

static const char files[] =
	".TP\n\\fI<logdir>/<host>_<pid>.<time>.pt.trace.json\\fR[\\fI.gz\\fR]\n"
	"A trace file, one for each window.\n"
	".TP\n\\fI<logdir>/children/\\fR\n"
	"Trace files of processes that follow the windows of another one (DataLoader workers).\n"
	".TP\n\\fI<logdir>/.proflaunch/\\fR\n"
	"Records while the program runs; gone when it has been finished.\n"
	".TP\n\\fIprofile.conf\\fR\nOptions, see \\fBprofile.conf\\fR(5).\n";

static const char description[] =
	"Runs an unmodified program under an agent that is preloaded into it, and writes one trace\n"
	"file for each recording window: the operators of PyTorch, its annotations and, on demand,\n"
	"shapes and tensor memory; CUDA calls, and the kernels, copies and sets on the GPU that they\n"
	"launch; in the format of torch.profiler. TensorBoard, Perfetto and chrome://tracing open\n"
	"them.\n"
	".PP\n"
	"The GPU is recorded by NVIDIA's CUPTI, as PyTorch brings it or as it lies beside the\n"
	"program's CUDA. A profiler inside the program (torch.profiler) gets what it gets without us;\n"
	"where both cannot share CUPTI it goes first, and the trace says how long that was.\n"
	".PP\n"
	"Standard input, output and error belong to the program; a few closing lines go to standard\n"
	"error. Signals are handed on. A program that cannot be profiled (linked statically, setuid,\n"
	"built with a sanitizer) runs all the same, and a line says why.\n"
	".PP\n"
	"\\fBproflaunch recover\\fR \\fIdirectory\\fR finishes the traces of killed programs in this log\n"
	"directory. What a live process owns, here or on another host, is left alone. Call stacks of\n"
	"finished traces that are module and offset still get names and lines, as far as the\n"
	"modules lie where they did; a trace may be named alone.\n"
	".PP\n"
	"\\fBproflaunch memory\\fR \\fItrace ...\\fR says what ate the memory, when, and who asked for it;\n"
	"with \\fB\\-\\-leaks\\fR it ends with status 1 when memory grows with each step\n"
	"(\\fBproflaunch memory \\-\\-help\\fR has its options).\n"
	".PP\n"
	"\\fBproflaunch doctor \\-\\-\\fR \\fIcommand\\fR says whether profiling would work for a command,\n"
	"and what to do if not.\n";

static const char status[] =
	"That of the command; when a signal ended it, \\fBproflaunch\\fR ends by the same signal.\n"
	".TP\n\\fB2\\fR\nThe options are wrong; the command was not started.\n"
	".TP\n\\fB126\\fR\nThe command was found, but cannot be run.\n"
	".TP\n\\fB127\\fR\nThe command was not found.\n"
	".PP\n"
	"\\fBrecover\\fR: 0 when nothing is left to do, 1 when something could not be finished.\n"
	"\\fBdoctor\\fR: 0 when all is well, 1 when something is off.\n";

static const char examples[] =
	".nf\n"
	"proflaunch \\-\\- python3 train.py\n"
	"proflaunch \\-\\-schedule wait=5,warmup=1,active=3 \\-\\-record\\-shapes \\-\\- torchrun train.py\n"
	"PROF_LOGDIR=/data/runs proflaunch \\-\\-marker torch:Optimizer.step* \\-\\- ./trainer\n"
	"proflaunch recover ./log\n"
	"tensorboard \\-\\-logdir ./log\n"
	".fi\n";

static void print_command(void)
{
	head("proflaunch", "1");
	section("NAME");
	fputs("proflaunch \\- record what a PyTorch program does, without changing it\n",
	      stdout);
	section("SYNOPSIS");
	fputs("\\fBproflaunch\\fR [\\fIoptions\\fR] \\fB\\-\\-\\fR \\fIcommand\\fR [\\fIarguments\\fR]\n"
	      ".br\n\\fBproflaunch recover\\fR [\\fIdirectory\\fR|\\fItrace ...\\fR]\n"
	      ".br\n\\fBproflaunch memory\\fR [\\fIoptions\\fR] \\fItrace ...\\fR\n"
	      ".br\n\\fBproflaunch doctor\\fR [\\fIoptions\\fR] \\fB\\-\\-\\fR \\fIcommand\\fR\n",
	      stdout);
	section("DESCRIPTION");
	fputs(description, stdout);
	section("OPTIONS");
	fputs("Dashes and underscores are equal. Later ones win over earlier ones, and all of them\n"
	      "over the environment, which wins over \\fBprofile.conf\\fR(5).\n",
	      stdout);
	command_options();
	section("ENVIRONMENT");
	environment();
	section("FILES");
	fputs(files, stdout);
	section("EXIT STATUS");
	fputs(status, stdout);
	section("EXAMPLES");
	fputs(examples, stdout);
	section("SEE ALSO");
	fputs("\\fBprofile.conf\\fR(5)\n", stdout);
}

static const char file_description[] =
	"One option on each line, \\fIname \\fB=\\fI value\\fR. Blank lines and lines that begin with\n"
	"\\fB#\\fR are ignored. A value may stand in double quotes, which keep blanks at its ends.\n"
	".PP\n"
	"The file is named by \\fB\\-\\-config\\fR, else by \\fBPROF_CONFIG\\fR, else it is\n"
	"\\fI./profile.conf\\fR if there is one. From the latter, \\fBon_trace\\fR, \\fBlogdir\\fR and\n"
	"\\fBspool\\fR count only when the file and its directory belong to the user and nobody else\n"
	"can write them. Programs with raised rights read no file and no environment.\n";

static void print_file(void)
{
	head("profile.conf", "5");
	section("NAME");
	fputs("profile.conf \\- options of proflaunch\n", stdout);
	section("DESCRIPTION");
	fputs(file_description, stdout);
	section("OPTIONS");
	for (const struct config_option *o = config_options; o->name; o++) {
		if (!strcmp(o->name, "config"))
			continue;
		printf(".TP\n\\fB%s\\fR = ", o->name);
		if (o->type == CFG_flag)
			fputs("\\fBon\\fR|\\fBoff\\fR", stdout);
		else {
			fputs("\\fB", stdout);
			print_value(o);
			fputs("\\fR", stdout);
		}
		print_help(o);
	}
	fputs(".TP\n\\fBmetadata.\\fIkey\\fR = \\fIvalue\\fR\nGoes into every trace file as it is.\n",
	      stdout);
	section("EXAMPLES");
	fputs(".nf\nlogdir = /data/runs\nschedule = wait=5,warmup=1,active=3,repeat=2\n"
	      "record_shapes = on\nmetadata.team = vision\n.fi\n",
	      stdout);
	section("SEE ALSO");
	fputs("\\fBproflaunch\\fR(1)\n", stdout);
}

int help_print_man(const char *page)
{
	if (page && !strcmp(page, "proflaunch.1"))
		print_command();
	else if (page && !strcmp(page, "profile.conf.5"))
		print_file();
	else
		return 2;
	return 0;
}
