/* SPDX-License-Identifier: Apache-2.0 */
/* Hands a view's rows to a format's printer. */
#include "report/view/view.h"
#include "report/figures/functions.h"
#include "report/view/document.h"
#include "report/view/overview.h"
#include "report/view/torch_table.h"
#include "report/view/trust.h"

#include <stdio.h>
#include <string.h>

#define ROWS 20u /* of a view for people */

const char *const view_names[VIEWS] = {
	[VIEW_OVERVIEW] = "overview",       [VIEW_OPS] = "ops",
	[VIEW_KERNELS] = "kernels",         [VIEW_STEPS] = "steps",
	[VIEW_MEMORY] = "memory",           [VIEW_MODULES] = "modules",
	[VIEW_PYTHON] = "python",           [VIEW_WORKERS] = "workers",
	[VIEW_DISTRIBUTED] = "distributed", [VIEW_COLLECTIVES] = "collectives",
	[VIEW_THREADS] = "threads",         [VIEW_TRACE] = "trace",
};

const char *const view_formats[VIEW_FORMATS] = { [VIEW_TABLE] = "table",
						 [VIEW_CSV] = "csv",
						 [VIEW_JSON] = "json",
						 [VIEW_MARKDOWN] = "md" };

static const struct {
	bool (*rows)(struct table *t, struct subject *s);
	const char *title; /* what the numbers are of */
	const char *empty; /* why there are none */
} views[VIEWS] = {
	[VIEW_OVERVIEW] = { rows_shares, "", "it has no steps" },
	[VIEW_OPS] = { rows_operators, "Operators; own: without what is inside of them",
		       "it has no operators there" },
	[VIEW_KERNELS] = { rows_kernels, "Kernels, copies and sets on the GPU",
			   "it has no GPU work there: record where there is a GPU; "
			   "proflaunch doctor says whether it would be recorded" },
	[VIEW_STEPS] = { rows_steps,
			 "Steps; each moment is of the first column that "
			 "was busy then",
			 "it has no steps" },
	[VIEW_MEMORY] = { rows_memory,
			  "Memory in the window; proflaunch memory has the call sites",
			  "it has no memory events: record with proflaunch "
			  "--profile-memory on, or torch.profiler(profile_memory=True)" },
	[VIEW_MODULES] = { rows_modules,
			   "Modules; own CPU: without the operators and modules inside; "
			   "own GPU: of the operators that a module calls itself",
			   "it has no modules there: record with proflaunch "
			   "--with-modules, or torch.profiler(with_stack=True)" },
	[VIEW_PYTHON] = { rows_python,
			  "Functions of Python; own: without the functions inside",
			  "it has no Python there: record with proflaunch "
			  "--with-stack=full, or torch.profiler(with_stack=True)" },
	[VIEW_WORKERS] = { rows_workers,
			   "Child processes in these steps; busy: in operators, as plain "
			   "Python is not recorded",
			   "it has no files of child processes beside it: record with "
			   "proflaunch a DataLoader that has num_workers" },
	[VIEW_DISTRIBUTED] = { rows_distributed,
			       "Steps of the ranks: computation and communication alone, "
			       "and both at once",
			       "it has no steps" },
	[VIEW_COLLECTIVES] = { rows_collectives,
			       "Collectives; transfer: without waiting for other ranks",
			       "it has no collectives of NCCL or gloo there" },
	[VIEW_THREADS] = { rows_threads, "Threads and streams, with times of their own",
			   "no thread did anything there" },
	[VIEW_TRACE] = { rows_trace, "", "" },
};

const char *view_title(const struct subject *s, enum view view)
{
	if (view == VIEW_PYTHON && !functions_are_there(&s->model))
		return "Lines of Python that called operators, with the operators' time; "
		       "functions were not recorded";
	return views[view].title;
}

bool view_rows(enum view view, struct table *t, struct subject *s)
{
	return views[view].rows(t, s);
}

const char *view_empty(enum view view)
{
	return views[view].empty;
}

static void print_title(const struct subject *s, const struct view_order *o,
			const struct screen *to)
{
	const char *title = view_title(s, o->view);
	struct trust trust;
	char text[256], steps[128];

	trust_make(&trust, s);
	trust_print(&trust, to);
	overview_steps(s, steps, sizeof(steps));
	snprintf(text, sizeof(text), "%s (%s)", title, steps);
	screen_wrap(to, SCREEN_PLAIN, text, 0, 2);
	putc('\n', to->out);
}

/* A fact has a line, or as many as it needs. */
static void print_facts(const struct table *t, const struct screen *to)
{
	for (size_t row = 0; row < t->n; row++) {
		screen_left(to, table_words(t, row, 0), 20);
		fputs("  ", to->out);
		screen_wrap(to, SCREEN_PLAIN, table_words(t, row, 1), 22, 22);
	}
}

static void print_table(struct subject *s, const struct table *t,
			const struct view_order *o, const struct screen *to)
{
	/* No fact about a trace, and no step, is one too many. */
	bool all = o->view == VIEW_TRACE || o->view == VIEW_STEPS;
	size_t few = o->limit ? o->limit : all ? TABLE_ALL : ROWS;

	if (o->format == VIEW_CSV) {
		table_csv(t, to->out, o->limit ? o->limit : TABLE_ALL);
		return;
	}
	if (o->format == VIEW_MARKDOWN) {
		table_markdown(t, to, few);
		return;
	}
	if (o->view == VIEW_TRACE) {
		print_facts(t, to);
		return;
	}
	print_title(s, o, to);
	table_text(t, to, few);
}

/* Lists the keys of a table's columns. */
static bool no_column(const struct table *t, const struct view_order *o, char *why,
		      size_t size)
{
	/* JSON has every view's rows: those of operators can be sorted. */
	enum view view = o->format == VIEW_JSON ? VIEW_OPS : o->view;
	size_t n = (size_t)snprintf(why, size, "--sort %s: the columns of %s are ",
				    o->sort, view_names[view]);

	for (unsigned i = 0; i < t->columns_n && n < size; i++)
		n += (size_t)snprintf(why + n, size - n, "%s%s", i ? ", " : "",
				      t->columns[i].key);
	return false;
}

static bool print_rows(struct subject *s, const struct view_order *o,
		       const struct screen *to, char *why, size_t size)
{
	struct table t;
	bool fine = views[o->view].rows(&t, s);
	int column = fine && o->sort ? table_column(&t, o->sort) : 0;

	if (column < 0)
		fine = no_column(&t, o, why, size);
	else if (!fine || (o->sort && !table_sort(&t, (unsigned)column)))
		fine = subject_no_memory(s, why, size);
	else if (!t.n)
		fine = (snprintf(why, size, "%s: %s", s->path, views[o->view].empty),
			false);
	else
		print_table(s, &t, o, to);
	table_free(&t);
	return fine;
}

/* Is the key a column of operators? */
static bool is_sortable(struct subject *s, const struct view_order *o, char *why,
			size_t size)
{
	struct table t;
	bool fine = true;

	if (o->sort && rows_operators(&t, s)) {
		fine = table_column(&t, o->sort) >= 0 || no_column(&t, o, why, size);
		table_free(&t);
	}
	return fine;
}

/* torch's own defaults, but for what was asked for. */
static bool print_like_torch(struct subject *s, const struct view_order *o,
			     const struct screen *to, char *why, size_t size)
{
	struct torch_table_options table = TORCH_TABLE_OPTIONS;
	const struct operators *rows = s->shown.n ? &s->shown : &s->operators;

	table.sort_by = o->sort;
	if (o->limit)
		table.row_limit = (int64_t)o->limit;
	if (o->sort && !torch_table_knows(o->sort)) {
		snprintf(why, size,
			 "--sort %s: none of torch's keys, such as "
			 "self_cpu_time_total, cpu_time_total or count",
			 o->sort);
		return false;
	}
	return torch_table_print(to->out, &s->model, rows, &table) ||
	       subject_no_memory(s, why, size);
}

bool view_print(struct subject *s, const struct view_order *o, const struct screen *to,
		char *why, size_t size)
{
	struct document_order json = { o->sort, o->limit ? o->limit : TABLE_ALL };

	if (o->like_torch)
		return print_like_torch(s, o, to, why, size);
	if (o->format == VIEW_JSON)
		return is_sortable(s, o, why, size) &&
		       (document_print(s, &json, to->out) ||
			subject_no_memory(s, why, size));
	if (o->view != VIEW_OVERVIEW || o->format == VIEW_CSV)
		return print_rows(s, o, to, why, size);
	if (o->format == VIEW_MARKDOWN)
		overview_markdown(s, to, o->limit);
	else
		overview_print(s, to, o->limit);
	return true;
}
