/* SPDX-License-Identifier: Apache-2.0 */
/* The manual pages of what tells where the time of one run, or of two, went. Options come
 * from the tables that the parsers read. */
#include "launcher/man_runs.h"
#include "launcher/roff.h"

#include <stdio.h>

/* ---- report ---- */

static const char report_synopsis[] =
	"\\fBproflaunch report\\fR [\\fIoptions\\fR] [\\fItrace\\fR|\\fIdirectory\\fR]\n";

static const char report_description[] =
	"Says where the time of a trace went, and what to fix first. It reads files of \\fBproflaunch\\fR\n"
	"and of torch.profiler, plain or packed by gzip. Of a directory it takes the newest run, and of that\n"
	"the newest finished file of the lowest rank; a line says which one, and how another is chosen.\n"
	"Without \\fItrace\\fR or \\fIdirectory\\fR it looks into \\fI./log\\fR, or where \\fBPROF_LOGDIR\\fR or\n"
	"\\fIprofile.conf\\fR says.\n"
	".PP\n"
	"The overview begins with what makes its numbers doubtful: records that were lost, a process that\n"
	"ended inside the window, a recording that cost more than 10 % of it. Then a sentence, where the time\n"
	"of a step goes, what to fix first with the time that a step would gain (\\fIat most\\fR where that\n"
	"cannot be known), and the largest operators. What was not recorded is named with the option that\n"
	"records it.\n"
	".PP\n"
	"\\fB\\-\\-format csv\\fR has a view's rows, \\fBjson\\fR all that is known in one object, \\fBmd\\fR the overview in\n"
	"60 lines of Markdown. In both first times are microseconds, in any locale; names of operators' columns\n"
	"are torch's.\n"
	".PP\n"
	"A report that is longer than the terminal goes through \\fBPAGER\\fR (\\fBless\\fR with \\fILESS=FRX\\fR; empty or\n"
	"\\fIcat\\fR: none). \\fBCOLUMNS\\fR is its width, from 80 to 200. There is no colour with \\fBNO_COLOR\\fR or\n"
	"\\fITERM=dumb\\fR, and ASCII alone where the locale is not UTF-8.\n";

static const char report_status[] =
	".TP\n\\fB0\\fR\nThe report was written.\n"
	".TP\n\\fB2\\fR\nThe options are wrong, the file is no trace, or there is nothing to report: a line says\n"
	"why.\n";

static const char report_examples[] =
	"What to fix first in the run that has just ended:\n"
	".PP\n.nf\nproflaunch report log\n.fi\n"
	".PP\nThe operators of steps 3 to 5 by input shape, the largest memory first:\n"
	".PP\n.nf\nproflaunch report \\-\\-view ops \\-\\-steps 3\\-5 \\-\\-group\\-by shape \\-\\-sort self_cpu_memory_usage log\n.fi\n"
	".PP\nAs a comment for an issue, and as numbers for a script:\n"
	".PP\n.nf\nproflaunch report \\-\\-format md log\n"
	"proflaunch report \\-\\-format json \\-o report.json trace.pt.trace.json\n.fi\n";

void man_runs_report(void)
{
	roff_head("proflaunch\\-report", "1");
	roff_section(
		"NAME",
		"proflaunch\\-report \\- where the time went, and what to fix first\n");
	roff_section("SYNOPSIS", report_synopsis);
	roff_section("DESCRIPTION", report_description);
	roff_section("OPTIONS", "");
#define OPTION(name, value, text) roff_row(name, value, text);
#include "launcher/report.def"
#undef OPTION
	roff_section("EXIT STATUS", report_status);
	roff_section("EXAMPLES", report_examples);
	roff_section(
		"SEE ALSO",
		"\\fBproflaunch\\fR(1), \\fBproflaunch\\-diff\\fR(1), \\fBproflaunch\\-memory\\fR(1)\n");
}

/* ---- diff ---- */

static const char diff_synopsis[] =
	"\\fBproflaunch diff\\fR [\\fIoptions\\fR] \\fIA B\\fR\n";

static const char diff_description[] =
	"Says what takes longer in run \\fIB\\fR than in run \\fIA\\fR: a step, the shares of a step, operators by\n"
	"their own time, kernels, the most memory. Each is a trace file of \\fBproflaunch\\fR or of\n"
	"torch.profiler, or a directory: then it is the newest run below it, all windows of one process.\n"
	".PP\n"
	"A step is a sample. The difference is the median of all differences between a step of \\fIB\\fR and\n"
	"one of \\fIA\\fR; the interval around it holds the true one in 95 of 100 cases, as far as steps are\n"
	"independent of each other. A row is \\fIsure\\fR when its interval leaves out 0 and, of all rows\n"
	"together, at most one in twenty that are called so is chance. Where both have several windows, their\n"
	"medians count as well. Another run of the same program may differ by more than steps do.\n";

static const char diff_status[] =
	".TP\n\\fB0\\fR\nBoth were compared, whatever came out.\n"
	".TP\n\\fB2\\fR\nThe options are wrong, a file is no trace, or there is nothing to compare.\n";

static const char diff_examples[] =
	"What a change of the program did:\n"
	".PP\n.nf\nproflaunch \\-o before \\-\\- python3 train.py\n"
	"proflaunch \\-o after \\-\\- python3 train.py\nproflaunch diff before after\n.fi\n"
	".PP\nTo record the program \\fBdiff\\fR(1) itself:\n"
	".PP\n.nf\nproflaunch \\-\\- diff a b\n.fi\n";

void man_runs_diff(void)
{
	roff_head("proflaunch\\-diff", "1");
	roff_section("NAME", "proflaunch\\-diff \\- what two runs differ in\n");
	roff_section("SYNOPSIS", diff_synopsis);
	roff_section("DESCRIPTION", diff_description);
	roff_section("OPTIONS", "");
#define OPTION(name, value, text) roff_row(name, value, text);
#include "launcher/diff.def"
#undef OPTION
	roff_section("EXIT STATUS", diff_status);
	roff_section("EXAMPLES", diff_examples);
	roff_section(
		"SEE ALSO",
		"\\fBproflaunch\\fR(1), \\fBproflaunch\\-report\\fR(1), \\fBproflaunch\\-gate\\fR(1)\n");
}

/* ---- gate ---- */

static const char gate_synopsis[] =
	"\\fBproflaunch gate \\-\\-baseline\\fR \\fItrace\\fR|\\fIdirectory\\fR [\\fIoptions\\fR] \\fItrace\\fR|\\fIdirectory\\fR\n";

static const char gate_description[] =
	"Fails when a run is slower than its baseline, for checks that run by themselves. What is compared,\n"
	"and how, is as in \\fBproflaunch\\-diff\\fR(1).\n"
	".PP\n"
	"It is a \\fIregression\\fR when the whole interval lies above the limit: the run is sure to be worse by\n"
	"more than is allowed. It is \\fIfine\\fR when the interval ends below the limit, or holds it and is so\n"
	"narrow that a change of that size would have shown; with \\fB\\-\\-strict\\fR only the former. Else nobody can\n"
	"tell, and how many steps would is said. Runs on different GPUs are not judged, nor are\n"
	"those whose records are missing.\n";

static const char gate_status[] =
	".TP\n\\fB0\\fR\nNo regression beyond the limit.\n"
	".TP\n\\fB1\\fR\nA regression: the operators and kernels that explain most of it are named.\n"
	".TP\n\\fB2\\fR\nNobody can tell, or the options are wrong: a line says why.\n";

static const char gate_examples[] =
	"A step may be 5 % longer than in the run of the main branch:\n"
	".PP\n.nf\nproflaunch \\-o run \\-\\- python3 train.py\n"
	"proflaunch gate \\-\\-baseline main \\-\\-max\\-regression 5% run\n.fi\n"
	".PP\nThe most memory, as a line for GitHub's checks:\n"
	".PP\n.nf\nproflaunch gate \\-\\-baseline main \\-\\-metric peak\\-memory \\-\\-format github run\n.fi\n";

void man_runs_gate(void)
{
	roff_head("proflaunch\\-gate", "1");
	roff_section(
		"NAME",
		"proflaunch\\-gate \\- fail when a run is slower than its baseline\n");
	roff_section("SYNOPSIS", gate_synopsis);
	roff_section("DESCRIPTION", gate_description);
	roff_section("OPTIONS", "");
#define OPTION(name, value, text) roff_row(name, value, text);
#include "launcher/gate.def"
#undef OPTION
	roff_section("EXIT STATUS", gate_status);
	roff_section("EXAMPLES", gate_examples);
	roff_section("SEE ALSO", "\\fBproflaunch\\fR(1), \\fBproflaunch\\-diff\\fR(1)\n");
}

/* ---- ranks ---- */

static const char ranks_synopsis[] =
	"\\fBproflaunch ranks\\fR [\\fIoptions\\fR] \\fIdirectory\\fR|\\fItrace ...\\fR\n";

static const char ranks_description[] =
	"Puts the ranks of a distributed program beside one another: how long a step takes, how long it\n"
	"computes and communicates, how much of that nothing computes beside, how long it waits in\n"
	"collectives for other ranks, and how long all others wait for it alone. A rank is a straggler where\n"
	"it computes more than 1.1 times as long as the median rank, in two thirds of the steps.\n"
	".PP\n"
	"Of a \\fIdirectory\\fR it takes the newest run, a file for each rank, all of one window. The n\\-th\n"
	"collective of a name in a step is the same on all ranks, if all have as many there. No rank leaves\n"
	"one before the last has come: from that follows how far clocks of different hosts are apart, which\n"
	"is taken off, and said.\n";

static const char ranks_status[] =
	".TP\n\\fB0\\fR\nThey were compared, whatever came out.\n"
	".TP\n\\fB2\\fR\nThe options are wrong, a file is no trace, or there is nothing to compare.\n";

static const char ranks_examples[] =
	".nf\nproflaunch \\-\\- torchrun \\-\\-nproc\\-per\\-node 8 train.py\nproflaunch ranks log\n.fi\n";

void man_runs_ranks(void)
{
	roff_head("proflaunch\\-ranks", "1");
	roff_section("NAME", "proflaunch\\-ranks \\- which rank holds up the others\n");
	roff_section("SYNOPSIS", ranks_synopsis);
	roff_section("DESCRIPTION", ranks_description);
	roff_section("OPTIONS", "");
#define OPTION(name, value, text) roff_row(name, value, text);
#include "launcher/ranks.def"
#undef OPTION
	roff_section("EXIT STATUS", ranks_status);
	roff_section("EXAMPLES", ranks_examples);
	roff_section("SEE ALSO",
		     "\\fBproflaunch\\fR(1), \\fBproflaunch\\-report\\fR(1)\n");
}
