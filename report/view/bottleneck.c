/* SPDX-License-Identifier: Apache-2.0 */
/* The file is read twice: functions are counted as `export --pstats` does it, where no
 * operator lies between them. */
#include "report/view/bottleneck.h"
#include "report/figures/functions.h"
#include "report/view/caveats.h"
#include "report/view/pstats_table.h"
#include "report/view/torch_table.h"

#include <stdlib.h>
#include <string.h>

struct tables {
	const struct bottleneck_order *o;
	const struct subject *s;
	struct callers functions;
	uint32_t *order; /* of functions */
	struct operators operators; /* without functions of Python */
	bool device; /* GPU work has time */
};

/* ---- what is read ---- */

/* A file with modules alone has no functions. False: `why` says it. */
static bool count_functions(struct tables *t, const char *path, char *why, size_t size)
{
	struct model m;
	bool fine;

	if (model_read(&m, path, WANT(SLICE_PYTHON), why, size))
		return false;
	fine = !functions_are_there(&m) || callers_add(&t->functions, &m, NULL);
	model_free(&m);
	t->order = fine ? pstats_table_order(&t->functions) : NULL;
	if (t->order)
		return true;
	snprintf(why, size, "%s: not enough memory", path);
	return false;
}

/* Keeps the operators' rows in their order: torch's tables are of operators alone. */
static bool take_operators(struct tables *t)
{
	const struct operators *all = &t->s->operators;
	struct operators *to = &t->operators;

	*to = *all;
	to->n = 0;
	to->room = all->n;
	to->row = malloc((all->n + 1) * sizeof(*to->row));
	for (size_t i = 0; to->row && i < all->n; i++) {
		if (all->row[i].kind == SLICE_PYTHON)
			continue;
		t->device |= all->row[i].torch.self_device > 0;
		to->row[to->n++] = all->row[i];
	}
	return to->row;
}

/* ---- sections ---- */

static void print_head(const struct screen *to, const char *head)
{
	putc('\n', to->out);
	screen_wrap(to, SCREEN_BOLD, head, 0, 0);
	putc('\n', to->out);
}

static const char *no_functions(const struct model *m)
{
	const struct interpreter *i = &m->whose.python;

	if (i->version == TEXT_NONE && !i->seen)
		return "none: no Python ran in this process";
	if (i->away)
		return "none: another tool (cProfile, coverage, a debugger) had the "
		       "profile function; run without it";
	if (!i->seen)
		return "none: calls of this Python could not be recorded; the lines "
		       "above say why";
	return "none: no function was called while it was recorded";
}

static void print_functions(const struct tables *t, const struct screen *to)
{
	print_head(to, "Functions of Python, by the time of their own");
	if (t->functions.n)
		pstats_table_print(&t->functions, t->order, t->o->limit, to);
	else
		screen_wrap(to, SCREEN_PLAIN, no_functions(&t->s->model), 0, 2);
}

static bool print_operators(const struct tables *t, const char *sort_by,
			    const struct screen *to)
{
	struct torch_table_options options = TORCH_TABLE_OPTIONS;

	options.sort_by = sort_by;
	options.row_limit = (int64_t)t->o->limit;
	return torch_table_print(to->out, &t->s->model, &t->operators, &options);
}

static bool print_cpu(const struct tables *t, const struct screen *to)
{
	print_head(to, "Operators, by CPU time total");
	if (t->operators.n)
		return print_operators(t, "cpu_time_total", to);
	screen_wrap(to, SCREEN_PLAIN,
		    t->s->model.whose.torch
			    ? "none: PyTorch is there, and no operator was called"
			    : "none: this process did not load PyTorch",
		    0, 2);
	return true;
}

static bool print_gpu(const struct tables *t, const struct screen *to)
{
	print_head(to, "Operators, by CUDA time total");
	if (t->device)
		return print_operators(t, "cuda_time_total", to);
	screen_wrap(to, SCREEN_PLAIN,
		    t->o->no_gpu ? "none: the GPU was not recorded (--activities cpu)"
				 : "none: no work of a GPU is in the trace; where there "
				   "should be some, proflaunch doctor -- COMMAND says "
				   "whether it can be recorded",
		    0, 2);
	return true;
}

static bool print_all(const struct tables *t, const struct screen *to)
{
	const struct caveats caveats = { .s = t->s,
					 .functions = &t->functions,
					 .order = t->order,
					 .shown = t->o->limit,
					 .choice = t->o->choice };

	print_head(to, "Environment");
	setting_print(&t->o->setting, t->s, to);
	print_functions(t, to);
	/* Without operators there is nothing to say of a GPU. */
	if (!print_cpu(t, to) || (t->operators.n && !print_gpu(t, to)))
		return false;
	print_head(to, "Warnings");
	caveats_print(&caveats, to);
	putc('\n', to->out);
	return true;
}

bool bottleneck_print(const char *path, const struct bottleneck_order *o,
		      const struct screen *to, char *why, size_t size)
{
	static struct subject s; /* its parts point at one another */
	const struct subject_options all = { .first = INT64_MIN,
					     .last = INT64_MAX,
					     .whole = true };
	struct tables t = { .o = o, .s = &s };
	bool fine = count_functions(&t, path, why, size) &&
		    subject_make(&s, path, &all, why, size);

	if (fine) {
		fine = (take_operators(&t) && print_all(&t, to)) ||
		       subject_no_memory(&s, why, size);
		free(t.operators.row);
		subject_free(&s);
	}
	callers_free(&t.functions);
	free(t.order);
	return fine;
}
