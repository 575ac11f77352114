/* SPDX-License-Identifier: Apache-2.0 */
/* Adds functions up by their names, "file(line): function" and the built-in ones. */
#include "report/figures/functions.h"
#include "base/array.h"
#include "base/frame_text.h"
#include "base/order.h"
#include "base/text.h"
#include "report/figures/function_names.h"
#include "report/figures/module_tree.h"
#include "report/figures/self_time.h"
#include "report/figures/sum.h"
#include "report/lines.h"

#include <stdio.h>
#include <stdlib.h>

struct adding {
	struct functions *f;
	struct model *m;
	int64_t from, to;
	uint32_t *row_of; /* by text; NO_ROW = none yet */
	size_t texts_n;
	uint32_t *names; /* by text: its function's; NULL where lines are added */
	uint32_t *python; /* by slice: the innermost function around */
	bool *called; /* by slice: an operator lies between that function and it */
	struct outermost { /* by row: the call that no other of it is around */
		int64_t end;
		uint32_t thread;
	} * open;
	size_t open_n;
};

/* ---- names ---- */

const char *functions_whose(enum function_whose whose)
{
	static const char *const words[] = { [WHOSE_PROGRAM] = "yours",
					     [WHOSE_TORCH] = "torch",
					     [WHOSE_LIBRARY] = "library",
					     [WHOSE_BUILTIN] = "built-in" };

	return words[whose];
}

/* torch writes its own files from "torch/" on, and others without the folder that Python
 * found them in: of Python's own the usual ones are known by their names. */
static enum function_whose whose_is(const char *name, const char *line)
{
	static const char *const places[] = { "site-packages/", "dist-packages/",
					      "lib/python3", NULL };
	static const char *const usual[] = {
		"<frozen ",   "numpy/",        "threading.py(",  "contextlib.py(",
		"queue.py(",  "selectors.py(", "functools.py(",  "multiprocessing/",
		"random.py(", "copy.py(",      "concurrent/",    "asyncio/",
		"pickle.py(", "collections/",  "importlib/",     "logging/",
		"enum.py(",   "weakref.py(",   "typing.py(",     "tempfile.py(",
		"socket.py(", "json/",         "subprocess.py(", "runpy.py(",
		NULL
	};

	if (text_starts_with(name, "torch/") || text_has(name, "/torch/") ||
	    text_starts_with(name, "nn.Module: "))
		return WHOSE_TORCH;
	if (!line)
		return WHOSE_BUILTIN;
	for (const char *const *place = places; *place; place++)
		if (text_has(name, *place))
			return WHOSE_LIBRARY;
	for (const char *const *file = usual; *file; file++)
		if (text_starts_with(name, *file))
			return WHOSE_LIBRARY;
	return WHOSE_PROGRAM;
}

/* "mm of Tensor" is what "<built-in method mm of Tensor object>" says: whose it is has a
 * column. Without a sign of a built-in all of a name stays. */
static uint32_t name_builtin(struct model *m, const char *name)
{
	const char *inner = text_after(name, "<built-in method ")
				    ?: text_after(name, "<built-in function ");
	size_t len = strlen(name);

	if (!inner || name[len - 1] != '>')
		return texts_add(&m->texts, name, len);
	len -= (size_t)(inner - name) + 1;
	if (len > 7 && !memcmp(inner + len - 7, " object", 7))
		len -= 7;
	return texts_add(&m->texts, inner, len);
}

/* Gives a row its function, and "file:line" where its name says them. */
static bool name_row(struct adding *a, struct function_figures *r, const char *name)
{
	const char *line = frame_place(name, strlen(name)), *function;
	char place[4096 + 32];
	int n;

	r->whose = whose_is(name, line);
	r->place = TEXT_NONE;
	if (!line) {
		r->name = name_builtin(a->m, name);
	} else {
		function = strchr(line, ' ') + 1;
		r->name = texts_add(&a->m->texts, function, strlen(function));
		n = snprintf(place, sizeof(place), "%.*s:%llu",
			     (int)(line - name < 4096 ? line - name : 4096), name,
			     (unsigned long long)text_number(line + 1));
		r->place = texts_add(&a->m->texts, place, (size_t)n);
		if (r->place == TEXT_NONE)
			return false;
	}
	return r->name != TEXT_NONE;
}

/* The row of a text that is known to the model. NULL: no memory. */
static struct function_figures *row_named(struct adding *a, uint32_t text)
{
	struct functions *f = a->f;
	uint32_t *row = &a->row_of[text];

	if (*row != NO_ROW)
		return &f->row[*row];
	if (f->n >= NO_ROW || !GROW(f->row, f->room, f->n))
		return NULL;
	f->row[f->n] = (struct function_figures){ 0 };
	if (!name_row(a, &f->row[f->n], texts_get(&a->m->texts, text)))
		return NULL;
	*row = (uint32_t)f->n++;
	return &f->row[*row];
}

/* ---- functions ---- */

/* How much of a slice lies in the times that count. */
static int64_t length_within(const struct adding *a, const struct slice *s)
{
	int64_t begin = s->begin > a->from ? s->begin : a->from;
	int64_t end = s->end < a->to ? s->end : a->to;

	return end > begin ? end - begin : 0;
}

/* A function that takes no time counts where it begins. */
static bool counts_within(const struct adding *a, const struct slice *s)
{
	return length_within(a, s) > 0 ||
	       (s->begin == s->end && s->begin >= a->from && s->begin < a->to);
}

/* Slices are nested by the model: what is around one was seen before it. */
static void find_around(struct adding *a, uint32_t i)
{
	uint32_t parent = a->m->slices[i].parent;
	unsigned kind = parent == NO_ROW ? SLICE_KINDS : a->m->slices[parent].kind;

	a->python[i] = parent == NO_ROW       ? NO_ROW
		       : kind == SLICE_PYTHON ? parent
					      : a->python[parent];
	a->called[i] = parent != NO_ROW &&
		       (kind == SLICE_OP || (kind != SLICE_PYTHON && a->called[parent]));
}

/* Is no call of the same row around this one? */
static bool is_outermost(struct adding *a, size_t row, const struct slice *s)
{
	struct outermost *open = &a->open[row];

	if (open->thread == s->thread && s->begin < open->end)
		return false;
	*open = (struct outermost){ s->end, s->thread };
	return true;
}

/* Adds a call to its function. Rows may move meanwhile: what is open has an array of its
 * own, which grows with theirs. */
static bool add_function(struct adding *a, uint32_t i)
{
	const struct slice *s = &a->m->slices[i];
	struct function_figures *r = row_named(a, a->names[s->name]);
	int64_t length = length_within(a, s);

	if (!r)
		return false;
	while (a->open_n < a->f->room) {
		size_t n = a->f->room * sizeof(*a->open);
		void *open = realloc(a->open, n);

		if (!open)
			return false;
		a->open = open;
		while (a->open_n < a->f->room)
			a->open[a->open_n++] = (struct outermost){ 0, NO_ROW };
	}
	r->count += !s->continued;
	sum_add(&r->own, length);
	if (is_outermost(a, (size_t)(r - a->f->row), s)) {
		r->outermost += !s->continued;
		sum_add(&r->total, length);
	}
	return true;
}

/* Takes what is inside a function off its own time, and counts its operators. */
static void tell_around(struct adding *a, uint32_t i)
{
	const struct slice *s = &a->m->slices[i];
	uint32_t around = a->python[i], row;
	struct function_figures *r;

	row = around == NO_ROW ? NO_ROW : a->row_of[a->names[a->m->slices[around].name]];
	if (row == NO_ROW)
		return;
	r = &a->f->row[row];
	if (s->kind == SLICE_PYTHON)
		sum_take(&r->own, length_within(a, s));
	if (s->kind == SLICE_PYTHON && a->called[i])
		sum_take(&r->operators, length_within(a, s));
	if (s->kind == SLICE_OP && !a->called[i])
		sum_add(&r->operators, length_within(a, s));
}

/* One pass: a function is added before what is inside of it is taken off again. */
static bool add_functions(struct adding *a)
{
	for (uint32_t i = 0; i < a->m->slices_n; i++) {
		const struct slice *s = &a->m->slices[i];

		find_around(a, i);
		if (!counts_within(a, s))
			continue;
		if (s->kind == SLICE_PYTHON && !add_function(a, i))
			return false;
		tell_around(a, i);
	}
	return true;
}

/* ---- lines that called operators ---- */

/* The innermost frame of Python's of a stack that has one, as a text of the model. */
static uint32_t innermost_frame(struct adding *a, uint32_t stack)
{
	size_t len = 0;
	const char *text = line_innermost(texts_get(&a->m->texts, stack), &len);
	uint32_t *rows, frame = texts_add(&a->m->texts, text, len);

	if (frame == TEXT_NONE || frame < a->texts_n)
		return frame;
	rows = reallocarray(a->row_of, 2 * (size_t)frame + 1, sizeof(*rows));
	if (!rows)
		return TEXT_NONE;
	a->row_of = rows;
	memset(rows + a->texts_n, 0xff,
	       (2 * (size_t)frame + 1 - a->texts_n) * sizeof(*rows));
	a->texts_n = 2 * (size_t)frame + 1;
	return frame;
}

/* Adds an operator, or a call, to the line of Python that it came from. */
static bool add_line(struct adding *a, uint32_t i, uint32_t stack, int64_t own)
{
	const struct slice *s = &a->m->slices[i];
	uint32_t frame = innermost_frame(a, stack);
	struct function_figures *r = frame == TEXT_NONE ? NULL : row_named(a, frame);

	if (!r)
		return false;
	r->count += s->kind == SLICE_OP && !a->called[i];
	sum_add(&r->own, own);
	r->total = r->operators = r->own;
	return true;
}

/* A stack may be a native one alone. */
static bool has_line(const struct model *m, uint32_t stack)
{
	size_t len;

	return stack != TEXT_NONE && line_innermost(texts_get(&m->texts, stack), &len);
}

/* An operator without a stack has that of what it lies in: `python` is where that is. */
static bool add_lines(struct adding *a)
{
	int64_t *self = self_time_make(a->m);
	bool fine = self != NULL;

	a->f->lines = true;
	for (uint32_t i = 0; fine && i < a->m->slices_n; i++) {
		const struct slice *s = &a->m->slices[i];
		uint32_t with = has_line(a->m, s->stack) ? i
				: s->parent == NO_ROW    ? NO_ROW
							 : a->python[s->parent];

		find_around(a, i);
		a->python[i] = with;
		if (with != NO_ROW && (s->kind == SLICE_OP || s->kind == SLICE_CALL) &&
		    s->begin >= a->from && s->begin < a->to)
			fine = add_line(a, i, a->m->slices[with].stack, self[i]);
	}
	free(self);
	return fine;
}

/* ---- the whole ---- */

/* Equal rows keep an order that does not hang on qsort. */
static int by_own_time(const void *left, const void *right)
{
	const struct function_figures *a = left, *b = right;

	return order_of(b->own, a->own) ?:
	       order_of((int64_t)b->count, (int64_t)a->count) ?:
	       order_of(a->name, b->name) ?: order_of(a->place, b->place);
}

bool functions_are_there(const struct model *m)
{
	for (uint32_t i = 0; i < m->slices_n; i++)
		if (m->slices[i].kind == SLICE_PYTHON && !module_tree_is_module(m, i))
			return true;
	return false;
}

bool functions_have_lines(const struct model *m)
{
	for (uint32_t i = 0; i < m->slices_n; i++)
		if (has_line(m, m->slices[i].stack))
			return true;
	return functions_are_there(m);
}

bool functions_make(struct functions *f, struct model *m, int64_t from, int64_t to)
{
	struct adding a = { .f = f, .m = m, .from = from, .to = to };
	bool named = functions_are_there(m), fine;

	*f = (struct functions){ 0 };
	a.names = named ? function_names_make(m) : NULL;
	a.texts_n = m->texts.n;
	a.row_of = malloc((a.texts_n + 1) * sizeof(*a.row_of));
	a.python = malloc((m->slices_n + 1) * sizeof(*a.python));
	a.called = calloc(m->slices_n + 1, sizeof(*a.called));
	fine = (a.names || !named) && a.row_of && a.python && a.called;
	if (fine) {
		memset(a.row_of, 0xff, (a.texts_n + 1) * sizeof(*a.row_of));
		fine = named ? add_functions(&a) : add_lines(&a);
	}
	for (size_t i = 0; i < f->n; i++)
		sum_add(&f->own, f->row[i].own);
	if (fine && f->n)
		qsort(f->row, f->n, sizeof(*f->row), by_own_time);
	if (!fine)
		functions_free(f);
	free(a.names);
	free(a.row_of);
	free(a.python);
	free(a.called);
	free(a.open);
	return fine;
}

void functions_free(struct functions *f)
{
	free(f->row);
	*f = (struct functions){ 0 };
}
