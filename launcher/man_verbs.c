/* SPDX-License-Identifier: Apache-2.0 */
/* The manual pages of the subcommands. Their own options come from the tables that their
 * parsers read; options that a run has, too, from the table of a run's options. */
#include "launcher/man_verbs.h"
#include "launcher/roff.h"
#include "report/memory/category.h"

#include <stdio.h>

static void put_run_option(const char *name)
{
	const struct config_option *o = config_find(name);

	fputs(".TP\n", stdout);
	roff_option(o);
	putchar('\n');
	roff_help(o);
}

/* ---- recover ---- */

static const char recover_synopsis[] =
	"\\fBproflaunch recover\\fR [\\fIoptions\\fR] [\\fIdirectory\\fR|\\fItrace ...\\fR]\n";

static const char recover_description[] =
	"Finishes what a run could not: the trace files of programs that were killed together with\n"
	"\\fBproflaunch\\fR, for example by the end of a batch job or by the kernel for want of memory.\n"
	"\\fIdirectory\\fR is the log directory of that run; without one it is \\fI./log\\fR, or what\n"
	"\\fBPROF_LOGDIR\\fR or \\fIprofile.conf\\fR says.\n"
	".PP\n"
	"Records lie in \\fI<logdir>/.proflaunch/\\fR until a file has been made of them. What a live\n"
	"process owns, here or on another host, is left alone, so that recover may run at any time, and\n"
	"again. The path of each new file goes to standard output, one on a line.\n"
	".PP\n"
	"Call stacks of finished traces that are module and offset (\\fI?? (libx.so+0x12)\\fR) get the names\n"
	"of functions and their lines, as far as the modules lie where they did. A \\fItrace\\fR may be\n"
	"named alone.\n";

static const char recover_status[] =
	".TP\n\\fB0\\fR\nNothing is left to do.\n"
	".TP\n\\fB1\\fR\nSomething could not be finished; a line says what and why.\n"
	".TP\n\\fB2\\fR\nThe options are wrong; nothing was done.\n";

static const char recover_examples[] =
	"After a job that was killed:\n"
	".PP\n.nf\nproflaunch recover ./log\n.fi\n"
	".PP\nThe log directory belongs to somebody else, or its disk is full:\n"
	".PP\n.nf\nproflaunch recover \\-\\-output ~/traces /data/runs/17\n.fi\n"
	".PP\nOnly the names of functions in one file, on the machine where it was recorded:\n"
	".PP\n.nf\nproflaunch recover log/node7_4711.1795444658861934869.pt.trace.json\n.fi\n";

void man_verbs_recover(void)
{
	roff_head("proflaunch\\-recover", "1");
	roff_section("NAME",
		     "proflaunch\\-recover \\- finish the trace files of programs that "
		     "were killed\n");
	roff_section("SYNOPSIS", recover_synopsis);
	roff_section("DESCRIPTION", recover_description);
	roff_section("OPTIONS", "");
#define OPTION(name, value, text) roff_row(name, value, text);
#include "launcher/recover/recover.def"
#undef OPTION
	put_run_option("spool");
	put_run_option("config");
	put_run_option("on_trace");
	put_run_option("quiet");
	roff_section("EXIT STATUS", recover_status);
	roff_section("EXAMPLES", recover_examples);
	roff_section("SEE ALSO",
		     "\\fBproflaunch\\fR(1), \\fBproflaunch\\-memory\\fR(1)\n");
}

/* ---- memory ---- */

static const char memory_synopsis[] =
	"\\fBproflaunch memory\\fR [\\fIoptions\\fR] \\fItrace\\fR|\\fIdirectory ...\\fR\n"
	".br\n\\fBproflaunch memory \\-\\-leaks\\fR [\\fIoptions\\fR] \\fItrace\\fR|\\fIdirectory ...\\fR\n"
	".br\n\\fBproflaunch memory \\-\\-timeline\\fR \\fIfile trace\\fR\n";

static const char memory_description[] =
	"Says what ate the memory, when, and who asked for it. It reads trace files of\n"
	"\\fBproflaunch\\fR and of torch.profiler, plain or packed by gzip. A trace must have memory in it:\n"
	"tensors by \\fB\\-\\-profile\\-memory on\\fR (or torch.profiler's \\fIprofile_memory=True\\fR), the C and C++ heap by\n"
	"\\fB\\-\\-malloc all\\fR or \\fBsample\\fR; \\fB\\-\\-malloc count\\fR has totals, and no call sites.\n"
	".PP\n"
	"The words of the tables: a \\fIspace\\fR is what can be full: the tensors of one device (cpu, cuda:0), or\n"
	"the heap. A \\fIwindow\\fR is what one trace file holds, a \\fIstep\\fR a part of it: an iteration of the\n"
	"program's loop, or what its marker said (\\fBproflaunch\\fR(1)). A \\fIcall site\\fR is who asked: the innermost functions that are not\n"
	"the allocator's own. \\fILive\\fR is what was allocated in the window and is not freed yet.\n";

static const char memory_examples[] =
	"What was there at the peak, and what grows:\n"
	".PP\n.nf\nproflaunch \\-\\-malloc all \\-\\- ./server\nproflaunch memory log/*.pt.trace.json\n.fi\n"
	".PP\nIn a check that fails when memory grows with each step:\n"
	".PP\n.nf\nproflaunch memory \\-\\-leaks \\-\\-max\\-growth 65536 trace.pt.trace.json\n.fi\n"
	".PP\nTensors over time, as a page for a browser:\n"
	".PP\n.nf\nproflaunch memory \\-\\-timeline memory.html trace.pt.trace.json\n.fi\n"
	".PP\nThe five largest call sites of the heap in steps 10 to 20, as numbers for a script:\n"
	".PP\n.nf\nproflaunch memory \\-\\-device heap \\-\\-top 5 \\-\\-step 10\\-20 \\-\\-json trace.pt.trace.json\n.fi\n";

static const char memory_status[] =
	".TP\n\\fB0\\fR\nTables or a timeline were written; with \\fB\\-\\-leaks\\fR: there is none.\n"
	".TP\n\\fB1\\fR\nWith \\fB\\-\\-leaks\\fR: there are some, and they are listed.\n"
	".TP\n\\fB2\\fR\nThe options are wrong, a file is no trace, or the trace cannot say: a line says why.\n";

void man_verbs_memory(void)
{
	roff_head("proflaunch\\-memory", "1");
	roff_section(
		"NAME",
		"proflaunch\\-memory \\- what ate the memory, and who asked for it\n");
	roff_section("SYNOPSIS", memory_synopsis);
	roff_section("DESCRIPTION", memory_description);
	roff_section("OPTIONS", "");
#define OPTION(name, value, text) roff_row(name, value, text);
#include "launcher/memory.def"
#undef OPTION
	roff_section("CATEGORIES OF A TIMELINE", "");
	for (unsigned i = 0; i < CATEGORIES; i++) {
		printf(".TP\n\\fB%s\\fR\n", category_names[i]);
		roff_sentence(category_rules[i]);
	}
	roff_section("EXIT STATUS", memory_status);
	roff_section("EXAMPLES", memory_examples);
	roff_section("SEE ALSO",
		     "\\fBproflaunch\\fR(1), \\fBproflaunch\\-recover\\fR(1)\n");
}

/* ---- export ---- */

static const char export_synopsis[] =
	"\\fBproflaunch export \\-\\-\\fR\\fIformat\\fR [\\fIoptions\\fR] [\\fB\\-o\\fR \\fIfile\\fR]\n"
	"\\fItrace\\fR|\\fIdirectory ...\\fR\n";

static const char export_description[] =
	"Writes trace files in another form. It reads files of \\fBproflaunch\\fR and of torch.profiler, plain\n"
	"or packed by gzip; of a directory all that are below it.\n"
	".PP\n"
	"\\fB\\-\\-chrome\\fR is a trace file again, valid JSON whatever was read: whole, or cut to steps and\n"
	"threads. \\fBproflaunch report\\fR has the same numbers of a cut as of these steps of the whole file. Of\n"
	"several traces it is one file for viewers, each with processes of its own.\n"
	".PP\n"
	"\\fB\\-\\-sqlite\\fR is a database, \\fB\\-\\-events\\fR are JSON lines: a row or a line for each slice and memory\n"
	"event, with its step, what is around it, and who launched it. \\fB\\-\\-sqlite\\fR needs the library\n"
	"\\fIlibsqlite3.so.0\\fR.\n"
	".PP\n"
	"\\fB\\-\\-csv\\fR and \\fB\\-\\-md\\fR are a view of \\fBproflaunch report\\fR, of all traces in one table.\n"
	".PP\n"
	"\\fB\\-\\-folded\\fR, \\fB\\-\\-speedscope\\fR and \\fB\\-\\-stacks\\fR are for flame graphs. Lines of Python are there with\n"
	"\\fB\\-\\-with\\-stack\\fR (torch.profiler: \\fIwith_stack=True\\fR); without, stacks are operators alone.\n"
	"A stack is, outermost first: the lines of Python that called the operator; the operators and\n"
	"annotations around it on its thread; the operator; with \\fB\\-\\-by cuda\\fR the kernel, with bytes the\n"
	"device or \\fI[heap]\\fR. A backward operator has the lines of its forward operator, and\n"
	"\\fI(backward)\\fR behind them. All steps are \\fIProfilerStep*\\fR. The values of all stacks are together\n"
	"the self times of all slices.\n"
	".PP\n"
	"\\fB\\-\\-stacks\\fR is as torch has it instead: Python alone, a line for each event whose value is a\n"
	"microsecond or more.\n"
	".PP\n"
	"\\fB\\-\\-pstats\\fR is a file as cProfile saves it, of traces whose calls of functions of Python are events\n"
	"(torch.profiler: \\fIwith_stack=True\\fR): \\fBpython3 \\-m pstats\\fR and snakeviz open it. Threads and traces\n"
	"are added up.\n"
	".PP\n"
	"Bytes are those of tensors (\\fB\\-\\-profile\\-memory on\\fR) and of the heap's call sites\n"
	"(\\fB\\-\\-malloc all\\fR or \\fBsample\\fR) within the window. Tensors of the CPU lie in the heap, too.\n";

static const char export_status[] =
	".TP\n\\fB0\\fR\nSomething was exported. What a trace lacks is said on standard error.\n"
	".TP\n\\fB2\\fR\nThe options are wrong, a file is no trace or cannot be written, or there was nothing to\n"
	"export: a line says why.\n";

static const char export_examples[] =
	"A flame graph of the time in Python and operators:\n"
	".PP\n.nf\nproflaunch \\-\\-with\\-stack \\-\\- python3 train.py\n"
	"proflaunch export \\-\\-folded log | flamegraph.pl > time.svg\n.fi\n"
	".PP\nSteps 3 and 4 alone, small enough to send:\n"
	".PP\n.nf\nproflaunch export \\-\\-chrome \\-\\-steps 3\\-4 \\-o cut.pt.trace.json trace.pt.trace.json\n.fi\n"
	".PP\nThe slowest operators, by a question of one's own:\n"
	".PP\n.nf\nproflaunch export \\-\\-sqlite \\-o run.db log\n"
	"sqlite3 run.db 'SELECT name, self_cpu_ns FROM op_summary ORDER BY 2 DESC LIMIT 5'\n.fi\n"
	".PP\nThe operators of all ranks, for a sheet:\n"
	".PP\n.nf\nproflaunch export \\-\\-csv \\-\\-view ops log > ops.csv\n.fi\n"
	".PP\nA flame graph for a browser, a profile for each process and window:\n"
	".PP\n.nf\nproflaunch export \\-\\-speedscope \\-o time.speedscope.json log\n.fi\n"
	".PP\nThe functions of Python, for pstats and snakeviz:\n"
	".PP\n.nf\nproflaunch export \\-\\-pstats \\-o train.prof trace.json\n"
	"printf 'sort tottime\\\\nstats 10\\\\n' | python3 \\-m pstats train.prof\n.fi\n"
	".PP\nWho allocated what is still there at the end:\n"
	".PP\n.nf\nproflaunch export \\-\\-folded \\-\\-by live trace.pt.trace.json\n.fi\n";

void man_verbs_export(void)
{
	roff_head("proflaunch\\-export", "1");
	roff_section("NAME", "proflaunch\\-export \\- traces in other forms\n");
	roff_section("SYNOPSIS", export_synopsis);
	roff_section("DESCRIPTION", export_description);
	roff_section("OPTIONS", "");
#define OPTION(name, value, text) roff_row(name, value, text);
#include "launcher/export.def"
#undef OPTION
	roff_section("EXIT STATUS", export_status);
	roff_section("EXAMPLES", export_examples);
	roff_section("SEE ALSO",
		     "\\fBproflaunch\\fR(1), \\fBproflaunch\\-memory\\fR(1)\n");
}

/* ---- doctor ---- */

static const char doctor_synopsis[] =
	"\\fBproflaunch doctor\\fR [\\fIoptions\\fR] \\fB\\-\\-\\fR \\fIcommand\\fR [\\fIarguments\\fR]\n";

static const char doctor_description[] =
	"Says whether profiling would work for a command, and what to do if not. The command is not\n"
	"started, and nothing is left behind; a Python that it names is asked in a process of its own\n"
	"which torch it has. The machine is looked at as a run would find it: the program and its C library, its\n"
	"allocator, the log directory and where records lie, the GPU and its CUPTI, the kernel.\n"
	".PP\n"
	"Each line begins with \\fBok\\fR, with \\fBnote\\fR (worth knowing, but no obstacle) or with\n"
	"\\fBOFF\\fR (it would not work: the line says what to do).\n";

static const char doctor_status[] =
	".TP\n\\fB0\\fR\nNothing is off.\n"
	".TP\n\\fB1\\fR\nSomething is off.\n"
	".TP\n\\fB2\\fR\nThe options are wrong, or there is no command.\n";

static const char doctor_examples[] =
	"On a new machine, before the first run:\n"
	".PP\n.nf\nproflaunch doctor \\-\\- python3 train.py\n.fi\n"
	".PP\nWith the options of the run that is meant:\n"
	".PP\n.nf\nproflaunch doctor \\-\\-logdir /data/runs \\-\\-malloc all \\-\\- ./server \\-\\-port 80\n.fi\n";

void man_verbs_doctor(void)
{
	roff_head("proflaunch\\-doctor", "1");
	roff_section("NAME",
		     "proflaunch\\-doctor \\- would profiling work for a command?\n");
	roff_section("SYNOPSIS", doctor_synopsis);
	roff_section("DESCRIPTION", doctor_description);
	roff_section("OPTIONS", "Those of a run, as \\fBproflaunch\\fR(1) lists them.\n");
	roff_section("EXIT STATUS", doctor_status);
	roff_section("EXAMPLES", doctor_examples);
	roff_section("SEE ALSO", "\\fBproflaunch\\fR(1), \\fBprofile.conf\\fR(5)\n");
}

/* ---- bottleneck ---- */

static const char bottleneck_synopsis[] =
	"\\fBproflaunch bottleneck\\fR [\\fIoptions\\fR] [\\fB\\-\\-\\fR] \\fIcommand\\fR [\\fIarguments\\fR]\n";

static const char bottleneck_description[] =
	"Runs a command, with PyTorch or without, and shows where its time went when it has ended: what\n"
	"torch.utils.bottleneck did in three runs, in one. The program's input, output and exit status are its\n"
	"own; the tables go to standard error behind the closing lines, also when the program fails or ^C\n"
	"ends it.\n"
	".PP\n"
	"They are: in what it ran, as far as that is known; functions of Python, and of C that it calls, by the time of their own, as\n"
	"\\fBpstats\\fR prints them; operators by CPU time total, as torch's key_averages() prints them; where\n"
	"there is work of a GPU, the same by CUDA time total; and warnings: records that are missing, what recording\n"
	"cost and which of these functions it makes look slower, what threads and processes the sums are of.\n"
	"Numbers are those of \\fBproflaunch export \\-\\-pstats\\fR and of \\fBproflaunch report \\-\\-view ops \\-\\-like\\-torch\\fR\n"
	"for the same file, whose path is said; percentages of operators are of operators alone. Of several\n"
	"traces of the run it is the one that \\fBproflaunch report\\fR takes: the tables are of one process, and of\n"
	"all its threads. Processes that the program forks have traces where they call operators.\n"
	".PP\n"
	"It records all of the program (\\fB\\-\\-marker none\\fR) with each call of a Python function\n"
	"(\\fB\\-\\-with\\-stack=full\\fR) and of a C function by Python (\\fB\\-\\-c\\-calls=all\\fR), shapes, CPU and GPU, whatever a configuration file and the environment say of these\n"
	"and of a schedule. A trace of each call grows fast: a program that runs for long is better looked at\n"
	"in some steps, by \\fB\\-\\-schedule\\fR (its steps are found by \\fB\\-\\-marker auto\\fR unless that is given,\n"
	"too); the tables are of these steps then, and without the imports.\n";

static const char bottleneck_options[] =
	"Those of a run, as \\fBproflaunch\\fR(1) lists them, but for \\fB\\-\\-report\\fR, a \\fB\\-\\-with\\-stack\\fR that is\n"
	"not full, and \\fB\\-\\-activities cuda\\fR, which are refused; and\n";

static const char bottleneck_status[] =
	"That of \\fBproflaunch\\fR: the command's.\n"
	".TP\n\\fB2\\fR\nThe options are wrong, or there is no command.\n";

static const char bottleneck_examples[] =
	"Why is this script slow?\n"
	".PP\n.nf\nproflaunch bottleneck \\-\\- python3 script.py\n.fi\n"
	".PP\nFive steps of a training, thirty rows a table:\n"
	".PP\n.nf\nproflaunch bottleneck \\-\\-limit 30 \\-\\-schedule wait=2,warmup=1,active=5,repeat=1 \\-\\- python3 train.py\n.fi\n";

void man_verbs_bottleneck(void)
{
	roff_head("proflaunch\\-bottleneck", "1");
	roff_section("NAME",
		     "proflaunch\\-bottleneck \\- run a script, and say what was slow\n");
	roff_section("SYNOPSIS", bottleneck_synopsis);
	roff_section("DESCRIPTION", bottleneck_description);
	roff_section("OPTIONS", bottleneck_options);
#define OPTION(name, value, text) roff_row(name, value, text);
#include "launcher/bottleneck.def"
#undef OPTION
	roff_section("EXIT STATUS", bottleneck_status);
	roff_section("EXAMPLES", bottleneck_examples);
	roff_section("SEE ALSO", "\\fBproflaunch\\fR(1), \\fBproflaunch\\-report\\fR(1), "
				 "\\fBproflaunch\\-export\\fR(1)\n");
}
