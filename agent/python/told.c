/* SPDX-License-Identifier: Apache-2.0 */
/* The C function behind sys.setprofile, in its module's table, is ours meanwhile. */
#include "agent/python/told.h"

#include <string.h>

#define ROW     16 /* of a builtin: its PyMethodDef */
#define SETTERS 2

struct row { /* PyMethodDef */
	const char *name;
	void *(*_Atomic call)(void *module, void *argument);
};

static struct {
	void *(*system)(const char *name); /* borrowed */
	const void *builtin; /* PyCFunction_Type */
} api;

static struct setter {
	struct row *row;
	void *(*real)(void *module, void *argument);
} setters[SETTERS];
static const struct told_listener *listener;
static __thread told_function *theirs __attribute__((tls_model("initial-exec")));

unsigned told_at(void)
{
	unsigned minor = interpreter.layout->minor;

	return minor < 11 ? 56 : minor < 13 ? 64 : 80;
}

told_function *told_of(const void *state)
{
	return (told_function *)(uintptr_t)layout_at(state, told_at());
}

void told_put(void *state, told_function *to)
{
	memcpy((char *)state + told_at(), &to, sizeof(to));
}

/* ---- the setter ---- */

static bool is_setters_end(int what, const void *argument)
{
	const void *row =
		argument && (what == TOLD_C_RETURN || what == TOLD_C_EXCEPTION) &&
				layout_at(argument, LAYOUT_TYPE) == api.builtin
			? layout_at(argument, ROW)
			: NULL;

	return row && (row == setters[0].row || row == setters[1].row);
}

/* In the place of theirs until the first event. */
static int pass_by(void *self, void *frame, int what, void *argument)
{
	told_put(interpreter.thread_state(), theirs);
	return is_setters_end(what, argument) ? 0 : theirs(self, frame, what, argument);
}

static void *call_setter(const struct setter *s, void *module, void *argument)
{
	void *state = interpreter.thread_state(), *result;
	const struct told_listener *to = listener;
	bool will = to->will(state, s->row);

	result = s->real(module, argument);
	if (!result || !will || !to->changed(state))
		return result;
	theirs = told_of(state);
	if (theirs)
		told_put(state, pass_by);
	return result;
}

static void *on_setter(void *module, void *argument)
{
	return call_setter(&setters[0], module, argument);
}

static void *on_setter_of_all(void *module, void *argument)
{
	return call_setter(&setters[1], module, argument);
}

static void *(*const ours[SETTERS])(void *, void *) = { on_setter, on_setter_of_all };

bool told_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PySys_GetObject", &api.system, false },
		{ "PyCFunction_Type", &api.builtin, false },
	};

	return api.builtin ||
	       interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols));
}

static void find_setter(struct setter *s, const char *name)
{
	void *function = s->row ? NULL : api.system(name);

	if (!function || layout_at(function, LAYOUT_TYPE) != api.builtin)
		return;
	s->row = (struct row *)(uintptr_t)layout_at(function, ROW);
	s->real = atomic_load(&s->row->call);
}

void told_watch(const struct told_listener *to)
{
	listener = to;
	find_setter(&setters[0], "setprofile");
	find_setter(&setters[1], "_setprofileallthreads"); /* since 3.12 */
	for (unsigned i = 0; i < SETTERS; i++)
		if (setters[i].row &&
		    atomic_load(&setters[i].row->call) == setters[i].real)
			atomic_store(&setters[i].row->call, ours[i]);
}

void told_leave(void)
{
	for (unsigned i = 0; i < SETTERS; i++)
		if (setters[i].row && atomic_load(&setters[i].row->call) == ours[i])
			atomic_store(&setters[i].row->call, setters[i].real);
}
