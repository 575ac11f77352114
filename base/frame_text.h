/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_text - which frames of a call stack never are the one that asked for memory, and
 * which are Python or execute it, by their text.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none.
 * Units    none.
 */
#ifndef BASE_FRAME_TEXT_H
#define BASE_FRAME_TEXT_H

#include <stdbool.h>
#include <string.h>

/* Inside of allocators and containers. */
static inline bool frame_allocates(const char *text)
{
	static const char *const begins[] = { "malloc",
					      "calloc",
					      "realloc",
					      "posix_memalign",
					      "aligned_alloc",
					      "memalign",
					      "valloc",
					      "pvalloc",
					      "__libc_",
					      "__GI___",
					      "_int_malloc",
					      "operator new",
					      "std::",
					      "void std::",
					      "__gnu_cxx::",
					      "_PyMem_",
					      "_PyObject_Malloc",
					      "_PyObject_Calloc",
					      "_PyObject_Realloc",
					      "PyMem_",
					      "PyObject_Malloc",
					      "PyObject_Calloc",
					      "PyObject_Realloc",
					      "c10::alloc_cpu",
					      "c10::(anonymous",
					      "c10::DefaultCPUAllocator",
					      "c10::StorageImpl",
					      "at::detail::empty_",
					      "at::detail::make_",
					      "strdup",
					      "strndup",
					      "??" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(text, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* Is it the interpreter's loop that executes Python? CPython 3.14 may have a function for
 * each instruction: these lie inside of the loop's own frame. */
enum frame_loop { FRAME_NO_LOOP, FRAME_LOOP, FRAME_LOOP_TAIL };
static inline enum frame_loop frame_loop(const char *text)
{
	static const char name[] = "_PyEval_EvalFrameDefault", tail[] = "_TAIL_CALL_";

	if (!strncmp(text, tail, sizeof(tail) - 1))
		return FRAME_LOOP_TAIL;
	if (strncmp(text, name, sizeof(name) - 1))
		return FRAME_NO_LOOP;
	text += sizeof(name) - 1; /* behind it ".cold", "()" or the place may follow */
	return !*text || strchr(" .(", *text) ? FRAME_LOOP : FRAME_NO_LOOP;
}

/* The "(12): f" of "a.py(12): f", a frame of Python's; NULL: it is none. */
static inline const char *frame_place(const char *frame, size_t len)
{
	const char *end = frame + len, *at = frame, *open;

	while ((at = memmem(at, (size_t)(end - at), "): ", 3))) {
		for (open = at++; open > frame && open[-1] >= '0' && open[-1] <= '9';)
			open--;
		if (open < at - 1 && open > frame && open[-1] == '(')
			return open - 1;
	}
	return NULL;
}

/* Is it torch's way of calling an operator? Such frames lie between all others. */
static inline bool frame_dispatches(const char *text)
{
	return !strncmp(text, "c10::impl::", 11) || strstr(text, "c10::Dispatcher::");
}

#endif
