/* SPDX-License-Identifier: Apache-2.0 */
/* The manual pages, from the table of options. */
#include "agent/sched/schedule.h"
#include "launcher/help.h"
#include "launcher/man_runs.h"
#include "launcher/man_verbs.h"
#include "launcher/roff.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define STAGE_KEYS                                                                                                       \
	"\\fBmarker\\fR says where a step ends: auto, torch:<glob> or python:[module.]name, the latter two\n"            \
	"with @begin or @end. The stage is on during calls of the function \\fBwithin\\fR, or from a call of\n"          \
	"\\fBenter\\fR to one of \\fBleave\\fR; with neither, calls of its marker begin it. A function may have\n"       \
	"several names, python:a.f|b.f. \\fBschedule\\fR and \\fBfile\\fR, which its files have behind the process in\n" \
	"their names (default: a dot and its name), are its own. At most 8 stages.\n"

static const char more_environment[] =
	".TP\n\\fBPROF_STAGE_\\fIname\\fB_\\fIkey\\fR\n"
	"One key of a stage, as \\fB\\-\\-stage.\\fIname\\fB.\\fIkey\\fR.\n"
	".TP\n\\fBPROF_METADATA_\\fIkey\\fR\n"
	"Goes into every trace file as it is, as \\fB\\-\\-metadata.\\fIkey\\fR.\n"
	".TP\n\\fBPROF_JOB\\fR\n"
	"Set by \\fBproflaunch\\fR for the program: the page that all processes of one run share.\n"
	".TP\n\\fBLD_PRELOAD\\fR\n"
	"\\fBproflaunch\\fR puts \\fIlibproflaunch.so\\fR before what is there. A program that is started\n"
	"with an empty environment (env \\-i, sudo) is not recorded. Set by hand, with the options in\n"
	"\\fBPROF_\\fIOPTION\\fR, it profiles without the launcher.\n"
	".TP\n\\fBCUDA_INJECTION64_PATH\\fR\n"
	"Set to the agent for the program, so that the CUDA driver loads it there; a value that is\n"
	"set already is left alone, and the GPU to the tool that it names.\n"
	".TP\n\\fBTMPDIR\\fR\n"
	"Where records lie while the program runs, if the log directory is not on a local disk.\n"
	".TP\n\\fBPATH\\fR\n"
	"Where the command is looked for.\n"
	".TP\n\\fBRANK\\fR, \\fBOMPI_COMM_WORLD_RANK\\fR, \\fBPMI_RANK\\fR, \\fBSLURM_PROCID\\fR\n"
	"Which rank this is, of how many (their companions say): the first that is a number counts,\n"
	"Slurm's within srun alone. It goes into names and contents of trace files.\n"
	".TP\n\\fBNO_COLOR\\fR, \\fBTERM\\fR\n"
	"When NO_COLOR is set, or TERM is \\fIdumb\\fR, no line is coloured.\n";

static void put_upper(const char *name)
{
	for (; *name; name++)
		putchar(toupper((unsigned char)*name));
}

static void command_options(void)
{
	for (const struct config_option *o = config_options; *o->name; o++) {
		fputs(".TP\n", stdout);
		roff_option(o);
		putchar('\n');
		roff_help(o);
	}
	fputs(".TP\n\\fB\\-\\-stage \\fIname\\fB=\\fImarker\\fR\n"
	      "A part of the run, as validation, with steps, windows and files of its own; may be given several\n"
	      "times. The same as \\fB\\-\\-stage.\\fIname\\fB.marker \\fImarker\\fR.\n"
	      ".TP\n\\fB\\-\\-stage.\\fIname\\fB.\\fIkey value\\fR\n" STAGE_KEYS
	      ".TP\n\\fB\\-\\-metadata.\\fIkey value\\fR\nGoes into every trace file as it is.\n"
	      ".TP\n\\fB\\-o\\fR \\fIdirectory\\fR\nThe same as \\fB\\-\\-logdir\\fR; of \\fBrecover\\fR: \\fB\\-\\-output\\fR.\n"
	      ".TP\n\\fB\\-s\\fR \\fIplan\\fR\nThe same as \\fB\\-\\-schedule\\fR.\n"
	      ".TP\n\\fB\\-q\\fR\nThe same as \\fB\\-\\-quiet\\fR.\n"
	      ".TP\n\\fB\\-\\-no\\-linger\\fR\nThe same as \\fB\\-\\-linger off\\fR.\n"
	      ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nA short text with all options.\n"
	      ".TP\n\\fB\\-V\\fR, \\fB\\-\\-version\\fR [\\fB\\-\\-verbose\\fR]\nThe version; with what it is built of and finds here.\n"
	      ".TP\n\\fB\\-\\-print\\-config\\fR\nA commented \\fIprofile.conf\\fR with all defaults.\n"
	      ".TP\n\\fB\\-\\-print\\-man\\fR \\fIpage\\fR\n"
	      "A manual page on standard output: ",
	      stdout);
	roff_sentence(HELP_PAGES(", "));
	fputs(".TP\n\\fB\\-\\-print\\-completion\\fR \\fIshell\\fR\n"
	      "What bash, zsh or fish reads to complete the command line: in bash\n"
	      "\\fBeval \"$(proflaunch \\-\\-print\\-completion bash)\"\\fR.\n",
	      stdout);
}

/* Prints for each option of the environment what it means, and its range. */
static void print_environment(void)
{
	for (const struct config_option *o = config_options; *o->name; o++) {
		fputs(".TP\n\\fBPROF_", stdout);
		put_upper(o->name);
		fputs("\\fR=", stdout);
		roff_value(o);
		putchar('\n');
		roff_help(o);
	}
	fputs(more_environment, stdout);
}

static const char files[] =
	".TP\n\\fI<logdir>/<host>_<pid>.\\fR[\\fIrank<rank>.\\fR]\\fI<time>.pt.trace.json\\fR[\\fI.gz\\fR]\n"
	"A trace file, one for each window; \\fB\\-\\-file\\fR names it otherwise.\n"
	".TP\n\\fI<logdir>/children/\\fR\n"
	"Trace files of processes that follow the windows of another one (DataLoader workers), and\n"
	"one with a row for each process that lived for milliseconds.\n"
	".TP\n\\fI<logdir>/.<name>.on_trace\\fR\n"
	"The mark of a trace file for which the command of \\fB\\-\\-on\\-trace\\fR was started.\n"
	".TP\n\\fI<logdir>/proflaunch.log\\fR\n"
	"What was said after the command had ended.\n"
	".TP\n\\fI<logdir>/.proflaunch/\\fR\n"
	"Records while the program runs; gone when it has been finished.\n"
	".TP\n\\fIprofile.conf\\fR\nOptions, see \\fBprofile.conf\\fR(5).\n";

static const char terms[] =
	".TP\n\\fBstep\\fR\n"
	"One turn of the program's main loop: a training iteration, a request of a server. It is a\n"
	"slice \\fIProfilerStep#N\\fR in the trace.\n"
	".TP\n\\fBmarker\\fR\n"
	"How \\fBproflaunch\\fR knows that a step ends, since the program says nothing: a function, an operator or\n"
	"an annotation that comes once in each turn. \\fIauto\\fR takes the DataLoader and the optimizer of\n"
	"PyTorch.\n"
	".TP\n\\fBwindow\\fR\n"
	"Steps that are recorded one after the other. Each window of each process becomes one trace file.\n"
	".TP\n\\fBschedule\\fR\n"
	"Which steps are windows. \\fIskip_first\\fR steps are left out once; then \\fIwait\\fR steps are let pass,\n"
	"\\fIwarmup\\fR steps are let pass with all made ready, and \\fIactive\\fR steps are recorded, \\fIrepeat\\fR times over\n"
	"(0: to the end). Without a schedule it is " SCHEDULE_DEFAULT ".\n"
	"A program that ends before the first window leaves some of its last steps.\n"
	".TP\n\\fBcall stack\\fR, \\fBstack_depth\\fR\n"
	"The functions that were being called when memory was allocated or a kernel was launched, innermost first.\n"
	"Of more than \\fIstack_depth\\fR of them the outermost are cut off.\n";

static const char description[] =
	"Runs an unmodified program under an agent that is preloaded into it, and writes trace\n"
	"files of some of its steps (see TERMS): the operators of PyTorch, its annotations and, on demand,\n"
	"shapes and tensor memory; CUDA calls, and the kernels, copies and sets on the GPU that they\n"
	"launch; in the format of torch.profiler. TensorBoard, Perfetto and chrome://tracing open\n"
	"them.\n"
	".PP\n"
	"The GPU is recorded by NVIDIA's CUPTI, as PyTorch brings it or as it lies beside the\n"
	"program's CUDA. A profiler inside the program (torch.profiler) gets what it gets without us;\n"
	"where both cannot share CUPTI it goes first, and the trace says how long that was.\n"
	".PP\n"
	"Standard input, output and error belong to the program; a few closing lines go to standard\n"
	"error. Signals are handed on. When \\fBproflaunch\\fR is killed by SIGKILL, so is the command,\n"
	"but for \\fB\\-\\-outlive\\fR; its own children, setuid programs, and those that changed their\n"
	"user are not reached. As process 1 of a container \\fBproflaunch\\fR reaps orphans. A program\n"
	"that cannot be profiled (linked statically or to musl, setuid, built with a sanitizer) runs all the\n"
	"same, and a line says why; those that a profiled program starts are counted at the end. A\n"
	"proflaunch inside has a job of its own.\n"
	".PP\n"
	"\\fBproflaunch recover\\fR finishes the traces of killed programs, \\fBproflaunch report\\fR says\n"
	"where the time went, \\fBproflaunch diff\\fR what takes longer in another run, \\fBproflaunch gate\\fR\n"
	"fails a check when a run is slower, \\fBproflaunch ranks\\fR which rank holds up the others,\n"
	"\\fBproflaunch memory\\fR says what ate the memory, and\n"
	"\\fBproflaunch export\\fR writes traces in other forms: databases, tables, stacks for flame graphs. Each subcommand\n"
	"has a page of its own:\n"
	"\\fBproflaunch\\-recover\\fR(1), \\fBproflaunch\\-report\\fR(1), \\fBproflaunch\\-diff\\fR(1),\n"
	"\\fBproflaunch\\-gate\\fR(1), \\fBproflaunch\\-ranks\\fR(1), \\fBproflaunch\\-memory\\fR(1),\n"
	"\\fBproflaunch\\-export\\fR(1), \\fBproflaunch\\-doctor\\fR(1), \\fBproflaunch\\-bottleneck\\fR(1).\n"
	".PP\n"
	"\\fBproflaunch doctor \\-\\-\\fR \\fIcommand\\fR says whether profiling would work for a command,\n"
	"and what to do if not. \\fBproflaunch bottleneck \\-\\-\\fR \\fIcommand\\fR runs one, and shows\n"
	"functions of Python and operators in tables when it has ended.\n"
	".PP\n"
	"The first word that is no option is \\fBrecover\\fR, \\fBreport\\fR, \\fBdiff\\fR, \\fBgate\\fR, \\fBranks\\fR, \\fBmemory\\fR, \\fBexport\\fR,\n"
	"\\fBdoctor\\fR, \\fBbottleneck\\fR, \\fBhelp\\fR,\n"
	"or else a command: one in PATH, or a file; a file that ends in \\fI.py\\fR, and that the kernel would not run,\n"
	"is run by PATH's \\fBpython3\\fR, and a line says so. Behind \\fB\\-\\-\\fR there is always a command, looked\n"
	"up as without us. What follows a command belongs to it.\n";

static const char on_trace[] =
	"Where \\fB\\-\\-on\\-trace\\fR names a command it is run for every finished file, at most once: a mark\n"
	"beside the file, \\fI.<name>.on_trace\\fR, is made before it starts. It holds the file's trace_id:\n"
	"a file that comes later, under the name of one that has been moved away, is another one.\n"
	".PP\n"
	"Blanks part its words, and no shell reads them unless one of the characters\n"
	"\\fB\\(dq \\(aq \\e \\(ga $ & | ; < > ( ) * ? [ ] { } # \\(ti !\\fR, a new line, or, in the first word, \\fB=\\fR\n"
	"is in it: then it is run by \\fB/bin/sh \\-c\\fR, with the path quoted. Each \\fB{}\\fR is the path, and\n"
	"without one the path is its last word. It runs in the directory and with the environment of\n"
	"\\fBproflaunch\\fR, without what is there for the program alone (PROF_*, the agent in\n"
	"LD_PRELOAD); its input is empty, both its outputs go to standard error, or, after\n"
	"\\fBproflaunch\\fR, to \\fIproflaunch.log\\fR. As many run at a time as there are processors, four at\n"
	"most. \\fBproflaunch\\fR waits for the last of them when the program has ended, for 55 seconds at\n"
	"most and until ^C, and says what could not be started or ended with another status than 0. What\n"
	"it has not come to by then runs after it where processes of the program go on, or is left to\n"
	"\\fBproflaunch recover\\fR.\n"
	".PP\n"
	"\\fBproflaunch recover \\-\\-on\\-trace\\fR \\fIcommand directory\\fR runs it for all files there that have no\n"
	"mark, one after the other: what was not run for when all was killed, and the files of programs\n"
	"that were started without \\fBproflaunch\\fR (LD_PRELOAD), which start no command. Options from a\n"
	"file or the environment count for nothing there. To run it for a file again remove its mark.\n";

static const char status[] =
	"That of the command; when a signal ended it, \\fBproflaunch\\fR ends by the same signal.\n"
	".TP\n\\fB2\\fR\nThe options are wrong, nothing can be written into the log directory, no function fits\n"
	"the marker, or there is less memory than \\fB\\-\\-buffer\\-mb\\fR; the command was not started.\n"
	".TP\n\\fB126\\fR\nThe command was found, but cannot be run.\n"
	".TP\n\\fB127\\fR\nThe command was not found.\n"
	".PP\n"
	"The subcommands have statuses of their own; see their pages.\n";

static const char examples[] =
	"Three steps of a training, without a word more:\n"
	".PP\n.nf\nproflaunch \\-\\- python3 train.py\ntensorboard \\-\\-logdir ./log\n.fi\n"
	".PP\nOther steps, with the shapes of tensors, of every rank:\n"
	".PP\n.nf\n"
	"proflaunch \\-\\-schedule wait=5,warmup=1,active=3 \\-\\-record\\-shapes \\-\\- torchrun train.py\n"
	".fi\n"
	".PP\nA C++ program whose step ends where it calls serve():\n"
	".PP\n.nf\n"
	"PROF_LOGDIR=/data/runs proflaunch \\-\\-marker symbol:serve \\-\\- ./server\n"
	".fi\n"
	".PP\nThe heap of any program, from its start to its end:\n"
	".PP\n.nf\n"
	"proflaunch \\-\\-malloc all \\-\\-marker none \\-\\- ./server\n"
	"proflaunch memory log/*.pt.trace.json\n"
	".fi\n"
	".PP\nWhat a job left that was killed:\n"
	".PP\n.nf\nproflaunch recover ./log\n.fi\n";

static void print_command_page(void)
{
	roff_head("proflaunch", "1");
	roff_section(
		"NAME",
		"proflaunch \\- record what a PyTorch program does, without changing it\n");
	roff_section(
		"SYNOPSIS",
		"\\fBproflaunch\\fR [\\fIoptions\\fR] [\\fB\\-\\-\\fR] \\fIcommand\\fR [\\fIarguments\\fR]\n"
		".br\n\\fBproflaunch recover\\fR [\\fB\\-\\-output\\fR \\fIdirectory\\fR] [\\fB\\-\\-on\\-trace\\fR \\fIcommand\\fR] [\\fIdirectory\\fR|\\fItrace ...\\fR]\n"
		".br\n\\fBproflaunch report\\fR [\\fIoptions\\fR] [\\fItrace\\fR|\\fIdirectory\\fR]\n"
		".br\n\\fBproflaunch diff\\fR [\\fIoptions\\fR] \\fIA B\\fR\n"
		".br\n\\fBproflaunch gate \\-\\-baseline\\fR \\fIA\\fR [\\fIoptions\\fR] \\fIB\\fR\n"
		".br\n\\fBproflaunch ranks\\fR [\\fIoptions\\fR] \\fIdirectory\\fR|\\fItrace ...\\fR\n"
		".br\n\\fBproflaunch memory\\fR [\\fIoptions\\fR] \\fItrace\\fR|\\fIdirectory ...\\fR\n"
		".br\n\\fBproflaunch export\\fR [\\fIoptions\\fR] \\fItrace\\fR|\\fIdirectory ...\\fR\n"
		".br\n\\fBproflaunch doctor\\fR [\\fIoptions\\fR] [\\fB\\-\\-\\fR] \\fIcommand\\fR\n"
		".br\n\\fBproflaunch bottleneck\\fR [\\fIoptions\\fR] [\\fB\\-\\-\\fR] \\fIcommand\\fR\n"
		".br\n\\fBproflaunch help\\fR\n");
	roff_section("DESCRIPTION", description);
	roff_section("TERMS", terms);
	roff_section(
		"OPTIONS",
		"Dashes and underscores are equal. Later ones win over earlier ones, and all of them\n"
		"over the environment, which wins over \\fBprofile.conf\\fR(5).\n");
	command_options();
	roff_section("ON_TRACE", on_trace);
	roff_section("ENVIRONMENT",
		     "Each option can be set here, too; the command line wins.\n");
	print_environment();
	roff_section("FILES", files);
	roff_section("EXIT STATUS", status);
	roff_section("EXAMPLES", examples);
	roff_section(
		"SEE ALSO",
		"\\fBproflaunch\\-recover\\fR(1), \\fBproflaunch\\-report\\fR(1), \\fBproflaunch\\-diff\\fR(1), "
		"\\fBproflaunch\\-gate\\fR(1), \\fBproflaunch\\-ranks\\fR(1),\n\\fBproflaunch\\-memory\\fR(1), "
		"\\fBproflaunch\\-export\\fR(1),\n\\fBproflaunch\\-doctor\\fR(1), \\fBproflaunch\\-bottleneck\\fR(1),\n\\fBprofile.conf\\fR(5)\n");
}

static const char file_description[] =
	"One option on each line, \\fIname \\fB=\\fI value\\fR; dashes in a name are underscores. Blank lines are\n"
	"ignored, and what follows a \\fB#\\fR that begins a line or stands behind a blank. A value may stand in\n"
	"single or double quotes, which keep blanks at its ends and a \\fB#\\fR. An empty value is a mistake, but\n"
	"for \\fBschedule\\fR, \\fBfile\\fR and \\fBon_trace\\fR, and keys of a stage: it takes back what was set\n"
	"before. A variable of the environment that is set to nothing is as one that is not set, but for these\n"
	"three options.\n"
	".PP\n"
	"The file is named by \\fB\\-\\-config\\fR, else by \\fBPROF_CONFIG\\fR, else it is\n"
	"\\fI./profile.conf\\fR if there is one. The latter is ignored whole, with a line, when another\n"
	"user may have written it: the file and its directory must belong to the user or to root,\n"
	"nobody else may be able to write them, and the file must be no link. Programs with raised\n"
	"rights read no file and no environment.\n"
	".PP\n"
	"Steps, markers, windows and call stacks are explained in \\fBproflaunch\\fR(1), TERMS.\n";

static void print_file(void)
{
	roff_head("profile.conf", "5");
	roff_section("NAME", "profile.conf \\- options of proflaunch\n");
	roff_section("DESCRIPTION", file_description);
	roff_section("OPTIONS", "");
	for (const struct config_option *o = config_options; *o->name; o++) {
		if (!strcmp(o->name, "config"))
			continue;
		printf(".TP\n\\fB%s\\fR = ", o->name);
		roff_value(o);
		putchar('\n');
		roff_help(o);
	}
	fputs(".TP\n\\fBstage.\\fIname\\fB.\\fIkey\\fR = \\fIvalue\\fR\n"
	      "Of a part of the run, as validation, with steps, windows and files of its own. Below a line\n"
	      "\\fB[stage \\fIname\\fB]\\fR, to the next one or the end, the key alone is enough.\n" STAGE_KEYS
	      ".TP\n\\fBmetadata.\\fIkey\\fR = \\fIvalue\\fR\nGoes into every trace file as it is.\n",
	      stdout);
	roff_section(
		"EXAMPLES",
		".nf\nlogdir = /data/runs\nschedule = wait=5,warmup=1,active=3,repeat=2\n"
		"record_shapes = on\nmetadata.team = vision\n\n[stage validation]\n"
		"marker = python:train.validate_batch\nwithin = python:train.validate\n.fi\n");
	roff_section("SEE ALSO", "\\fBproflaunch\\fR(1)\n");
}

static const struct {
	const char *name;
	void (*print)(void);
} pages[] = {
	{ "proflaunch.1", print_command_page },
	{ "proflaunch-recover.1", man_verbs_recover },
	{ "proflaunch-report.1", man_runs_report },
	{ "proflaunch-diff.1", man_runs_diff },
	{ "proflaunch-gate.1", man_runs_gate },
	{ "proflaunch-ranks.1", man_runs_ranks },
	{ "proflaunch-memory.1", man_verbs_memory },
	{ "proflaunch-export.1", man_verbs_export },
	{ "proflaunch-doctor.1", man_verbs_doctor },
	{ "proflaunch-bottleneck.1", man_verbs_bottleneck },
	{ "profile.conf.5", print_file },
};

int man_print(const char *page)
{
	for (size_t i = 0; page && i < sizeof(pages) / sizeof(*pages); i++) {
		if (strcmp(page, pages[i].name))
			continue;
		pages[i].print();
		return 0;
	}
	return 2;
}
