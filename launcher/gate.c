/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `proflaunch gate`; report/compare judges, report/view prints. */
#include "launcher/gate.h"
#include "launcher/new_file.h"
#include "launcher/result.h"
#include "launcher/say.h"
#include "launcher/side.h"
#include "launcher/verb_options.h"
#include "report/view/gate_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT 0.03

struct request {
	const char *baseline, *metric, *output;
	double limit;
	enum gate_format format;
	int64_t rank;
	const char *stage; /* NULL = the first one */
	char **places;
	unsigned places_n;
	bool strict, help;
};

static void print_help(const struct verb_options *o)
{
	printf("usage: proflaunch gate --baseline TRACE|DIRECTORY [options] TRACE|DIRECTORY\n"
	       "\n"
	       "Fails when a run is slower than its baseline: for checks that run by themselves. It is\n"
	       "a regression when all of the interval of 95 %% lies above the limit. Of a directory it\n"
	       "takes the newest run below it, all windows of one process.\n"
	       "\n");
	verb_options_print(o);
	printf("\nExit status: 0: no regression beyond the limit; 1: a regression; 2: nobody can tell\n"
	       "(too few steps, other GPUs or stages, a broken file, records are missing, no trace), or wrong\n"
	       "options.\n");
}

/* ---- the command line ---- */

/* Takes "3", "3.5" or "3%". */
static const char *take_limit(struct request *r, const char *value)
{
	char *end;
	double percent = strtod(value, &end);

	if (end == value || (strcmp(end, "") != 0 && strcmp(end, "%") != 0) ||
	    !isfinite(percent) || percent <= 0)
		return "not a percentage above 0, such as 3%";
	r->limit = percent / 100;
	return NULL;
}

static const struct verb_option gate_options[] = {
#define OPTION(name, value, text) { name, value, text },
#include "launcher/gate.def"
#undef OPTION
	{ NULL, NULL, NULL },
};

static const char *take_format(struct request *r, const char *value)
{
	int i = verb_options_word(gate_formats, GATE_FORMATS, value);

	r->format = (enum gate_format)i;
	return i < 0 ? "none of text, json, junit, github, md" : NULL;
}

static const char *take_option(void *arg, const char *name, const char *value)
{
	struct request *r = arg;

	if (!strcmp(name, "max-regression"))
		return take_limit(r, value);
	if (!strcmp(name, "format"))
		return take_format(r, value);
	if (!strcmp(name, "metric")) {
		r->metric = value;
		return gate_is_metric(value) ? NULL
					     : "none of step, gpu, peak-memory, ops/NAME";
	}
	if (!strcmp(name, "rank"))
		return verb_options_number(value, 0, INT64_MAX, &r->rank)
			       ? NULL
			       : "not a number from 0 on";
	if (!strcmp(name, "stage"))
		r->stage = value;
	else if (!strcmp(name, "baseline"))
		r->baseline = value;
	else if (!strcmp(name, "output"))
		r->output = value;
	else if (!strcmp(name, "strict"))
		r->strict = true;
	else
		r->help = true;
	return NULL;
}

static bool names_both_runs(const struct request *r)
{
	if (!r->baseline)
		say_warn("no baseline: proflaunch gate --baseline TRACE|DIRECTORY "
			 "TRACE|DIRECTORY");
	else if (r->places_n != 1)
		say_warn("%s: proflaunch gate --baseline %s TRACE|DIRECTORY",
			 r->places_n ? "one run at a time" : "no run", r->baseline);
	else
		return result_may_go_to(
			r->output, (char *[]){ (char *)r->baseline, r->places[0] }, 2);
	return false;
}

/* ---- the verdict ---- */

/* What makes a comparison of times void: then nobody can tell. */
static void doubt_verdict(struct gate *g, const struct profile *a,
			  const struct profile *b)
{
	const char *why = NULL;

	if (strcmp(a->stage, b->stage) != 0)
		why = "the runs are of different stages";
	else if (*a->gpu && *b->gpu && strcmp(a->gpu, b->gpu) != 0)
		why = "the runs are of different GPUs";
	else if (a->damaged || b->damaged)
		why = "part of a file could not be read: proflaunch report says where";
	else if (a->dropped || b->dropped)
		why = "records are missing: the buffer was too small (--buffer-mb)";
	if (!why)
		return;
	g->verdict = GATE_UNSURE;
	g->steps = 0;
	snprintf(g->why, sizeof(g->why), "%s", why);
}

static int show_verdict(const struct request *r, mode_t most, const struct gate *g,
			const struct difference *d)
{
	static const int statuses[] = {
		[GATE_FINE] = 0, [GATE_REGRESSION] = 1, [GATE_UNSURE] = 2
	};
	const struct gate_view v = { g, d, r->metric, r->limit, r->strict };
	struct result text;

	if (!result_begin(&text))
		return 2;
	text.most = most;
	gate_view_print(&v, r->format, text.out);
	return result_show(&text, r->output, true) ? statuses[g->verdict] : 2;
}

static int judge_sides(const struct request *r, const struct side *a,
		       const struct side *b)
{
	const struct difference_side left = side_named(a), right = side_named(b);
	struct difference d;
	struct gate g;
	int status = 2;

	if (!difference_make(&d, &left, &right)) {
		say_warn("not enough memory");
		return 2;
	}
	if (!gate_judge(&g, &a->profile, &b->profile, r->metric, r->limit, r->strict)) {
		say_warn("not enough memory");
	} else {
		doubt_verdict(&g, &a->profile, &b->profile);
		status = show_verdict(r, side_most(a, b), &g, &d);
	}
	difference_free(&d);
	return status;
}

static int gate_sides(const struct request *r)
{
	static struct side a, b;
	int status = 2;

	if (side_read(&a, r->baseline, r->rank, r->stage) &&
	    side_read(&b, r->places[0], r->rank, r->stage))
		status = judge_sides(r, &a, &b);
	side_free(&a);
	side_free(&b);
	return status;
}

int gate_main(char **argv)
{
	struct request r = {
		.metric = "step", .limit = LIMIT, .rank = CHOICE_ANY, .places = argv
	};
	const struct verb_options o = { "gate", gate_options, take_option, &r };

	if (!verb_options_read(&o, argv, &r.places_n))
		return 2;
	if (!r.help)
		return names_both_runs(&r) ? gate_sides(&r) : 2;
	print_help(&o);
	return verb_options_printed();
}
