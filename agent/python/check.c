/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter's own answers come from its documented functions. They count references
 * and may make frame objects, so only a thread with the interpreter's lock asks. */
#include "agent/python/check.h"
#include "agent/python/interpreter.h"
#include "agent/python/text.h"

#include <string.h>

#define NAMED 16 /* frames whose names and tables are compared */

static struct {
	void *(*eval_frame)(void); /* borrowed */
	void *(*back)(void *frame), *(*code)(void *frame); /* 3.9 and later */
	int (*line)(void *frame), (*addr2line)(const void *code, int offset);
	int (*lasti)(void *frame); /* 3.11 and later */
	void *(*attribute)(const void *object, const char *name);
	const char *(*utf8)(void *str, long *len);
	long (*number)(void *number);
	void (*release)(void *object);
	void *(*error)(void); /* borrowed */
	void (*clear_error)(void);
	void *(*current)(void), *(*main)(void); /* interpreter; since 3.9 */
	int (*gc_off)(void), (*gc_on)(void); /* 3.10 and later */
} api;

bool check_start(void)
{
	static const struct interpreter_symbol functions[] = {
		{ "PyEval_GetFrame", &api.eval_frame, false },
		{ "PyFrame_GetBack", &api.back, true },
		{ "PyFrame_GetCode", &api.code, true },
		{ "PyFrame_GetLineNumber", &api.line, false },
		{ "PyCode_Addr2Line", &api.addr2line, false },
		{ "PyFrame_GetLasti", &api.lasti, true },
		{ "PyObject_GetAttrString", &api.attribute, false },
		{ "PyUnicode_AsUTF8AndSize", &api.utf8, false },
		{ "PyLong_AsLong", &api.number, false },
		{ "Py_DecRef", &api.release, false },
		{ "PyErr_Occurred", &api.error, false },
		{ "PyErr_Clear", &api.clear_error, false },
		{ "PyInterpreterState_Get", &api.current, true },
		{ "PyInterpreterState_Main", &api.main, true },
		{ "PyGC_Disable", &api.gc_off, true },
		{ "PyGC_Enable", &api.gc_on, true },
	};

	if (!interpreter_find(functions, sizeof(functions) / sizeof(*functions)))
		return false;
	/* Only to 3.8 is there none of them, and then frames are objects. */
	return interpreter.layout->minor == 8 || (api.back && api.code);
}

bool check_holds_lock(void)
{
	void *mine = interpreter.thread_state();

	return mine && interpreter.holder() == mine && !interpreter.finalizing() &&
	       (!api.current || api.current() == api.main()) && !api.error();
}

/* ---- one frame ---- */

static bool same_text(const void *code, const char *name, unsigned offset)
{
	void *str = api.attribute(code, name);
	char ours[CODES_TEXT];
	const char *theirs;
	long len = 0;
	size_t n;
	bool same;

	if (!str) {
		api.clear_error();
		return false;
	}
	same = str == layout_at(code, offset);
	theirs = same ? api.utf8(str, &len) : NULL;
	if (theirs) {
		n = python_text(interpreter.layout, str, ours, sizeof(ours));
		same = n <= (size_t)len && (n == (size_t)len || n + 4 > sizeof(ours)) &&
		       !memcmp(ours, theirs, n);
	} else {
		api.clear_error(); /* a lone surrogate has no UTF-8 */
	}
	api.release(str);
	return same;
}

static bool same_number(const void *code, const char *name, uint32_t ours)
{
	void *number = api.attribute(code, name);
	long theirs = number ? api.number(number) : -1;

	if (number)
		api.release(number);
	else
		api.clear_error();
	return number && theirs == (long)ours;
}

static bool same_table(const void *code)
{
	const struct python_layout *l = interpreter.layout;
	const char *name = l->minor < 10 ? "co_lnotab" : "co_linetable";
	void *table = api.attribute(code, name);
	bool same = table && table == layout_at(code, l->code_table);

	if (table)
		api.release(table);
	else
		api.clear_error();
	return same;
}

/* What is not right about the code object; NULL: nothing. */
static const char *compare_code(const void *code)
{
	const struct python_layout *l = interpreter.layout;

	if (!same_text(code, "co_filename", l->code_file) ||
	    !same_text(code, "co_name", l->code_name))
		return "its names are kept in another way than expected";
	if (!same_number(code, "co_firstlineno", layout_word(code, l->code_line)))
		return "its functions' lines are kept in another way than expected";
	return same_table(code) ? NULL
				: "its line tables are kept in another way than expected";
}

/* ---- all frames ---- */

/* The frames that the walk found and the interpreter shows. */
static unsigned next_shown(const struct walk *w, unsigned i)
{
	const struct python_layout *l = interpreter.layout;

	for (; i < w->n; i++) {
		const void *code = walk_code(l, w->frame[i]);

		if (!walk_is_early(l, w->frame[i], code,
				   walk_offset(l, w->frame[i], code)))
			break;
	}
	return i;
}

/* A new reference; NULL at the end. `frame` is given back, but for the first, which is
 * borrowed. */
static void *caller_of(void *frame, bool first)
{
	void *back = api.back ? api.back(frame)
			      : (void *)(uintptr_t)layout_at(frame,
							     interpreter.layout->caller);

	if (!first && api.back)
		api.release(frame);
	return back;
}

static bool same_code(void *frame, const void *code)
{
	void *theirs = api.code ? api.code(frame) : (void *)(uintptr_t)code;

	if (api.code)
		api.release(theirs); /* the frame has it still */
	return theirs == code;
}

/* How two frames are compared; NULL: they are the same. */
typedef const char *compare_frame(void *frame, const void *code, int offset,
				  unsigned nth);

static const char *compare_all(const struct walk *w, compare_frame *compare,
			       unsigned *frames)
{
	const struct python_layout *l = interpreter.layout;
	void *frame = api.eval_frame();
	const char *why = NULL;
	unsigned i = next_shown(w, 0);
	bool first = true;

	*frames = 0;
	while (frame && !why && i < w->n) {
		const void *code = walk_code(l, w->frame[i]);

		if (same_code(frame, code))
			why = compare(frame, code, (int)walk_offset(l, w->frame[i], code),
				      *frames);
		else
			why = "its frames are laid out in another way than expected";
		++*frames;
		i = next_shown(w, i + 1);
		frame = caller_of(frame, first);
		first = false;
	}
	if (!why && !w->cut && (frame || i < w->n))
		why = "it has other frames than expected";
	if (frame && !first && api.back)
		api.release(frame);
	return why;
}

static const char *compare_wholly(void *frame, const void *code, int offset, unsigned nth)
{
	if (api.addr2line(code, offset) != api.line(frame))
		return "its lines are found in another way than expected";
	return nth < NAMED ? compare_code(code) : NULL;
}

static const char *compare_place(void *frame, const void *code, int offset, unsigned nth)
{
	if (api.lasti)
		return api.lasti(frame) == offset
			       ? NULL
			       : "its instructions are counted in another way than expected";
	return nth || api.addr2line(code, offset) == api.line(frame)
		       ? NULL
		       : "its lines are found in another way than expected";
}

const char *check_all(const struct walk *w, unsigned *frames)
{
	return compare_all(w, compare_wholly, frames);
}

static bool is_module(const void *code)
{
	static const char name[] = "<module>";
	char text[CODES_TEXT];
	size_t n = python_text(interpreter.layout,
			       layout_at(code, interpreter.layout->code_name), text,
			       sizeof(text));

	return n == sizeof(name) - 1 && !memcmp(text, name, n);
}

/* No function of the interpreter's tells. But a thread's outermost frame was called by C,
 * and so was each module's, by exec(). */
bool check_entries(const struct walk *w)
{
	const struct python_layout *l = interpreter.layout;

	for (unsigned i = 0; i < w->n; i++) {
		unsigned entry = ((const uint8_t *)w->frame[i])[l->entry];
		bool by_c = is_module(walk_code(l, w->frame[i])) ||
			    (i + 1 == w->n && !w->cut);

		if (entry > 1 || (by_c && !entry))
			return false;
	}
	return w->n;
}

/* A frame object may be made for each frame, and no garbage may be collected for that:
 * it would run the program's code inside of an operator. */
bool check_frames(const struct walk *w)
{
	bool collects = api.gc_off && api.gc_off();
	unsigned frames;
	bool same = !compare_all(w, compare_place, &frames);

	if (collects)
		api.gc_on();
	return same;
}
