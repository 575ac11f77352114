/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_malloc.so - what the agent reads of Python's frames from within malloc, whatever
 * the interpreter is doing: LD_PRELOAD it into any Python program.
 *
 * At each allocation the calling thread's frames are walked. Each has to execute a code
 * object, at an instruction of it, and the interpreter has to say the same as far as it
 * can without allocating. At the end a line of counts goes to $PYTHON_MALLOC_OUT, and
 * each of the first differences before it.
 */
#include "agent/hooks/hook.h"
#include "agent/python/walk.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define TOLD   20 /* differences */
#define UNITS  16 /* of a code object since 3.11: how many instructions, as any size */

void *(*hook_real_dlsym)(void *handle, const char *name) = dlsym;

static struct {
	void *code, *frame; /* types */
	int (*line)(void *frame), (*addr2line)(const void *code, int offset);
	int (*lasti)(const void *frame); /* of 3.12 and later: by reading alone */
} api;

enum { NOT_YET, READY, NEVER };
static _Atomic int state;
static _Atomic uint64_t walks, locked, frames, early, wrong;
static __thread bool busy __attribute__((tls_model("initial-exec")));

static void *find(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

static int look_for_python(void)
{
	int (*begun)(void) = (int (*)(void))find("Py_IsInitialized");
	const char *(*version)(void) = (const char *(*)(void))find("Py_GetVersion");
	const char *why;

	if (!begun || !version)
		return NEVER;
	if (!begun())
		return NOT_YET;
	interpreter.layout = python_layout(version(), &why);
	interpreter.thread_state = (void *(*)(void))find("PyGILState_GetThisThreadState");
	interpreter.holder = (void *(*)(void))find("PyThreadState_GetUnchecked");
	if (!interpreter.holder)
		interpreter.holder = (void *(*)(void))find("_PyThreadState_UncheckedGet");
	interpreter.finalizing = (int (*)(void))find("Py_IsFinalizing");
	if (!interpreter.finalizing)
		interpreter.finalizing = (int (*)(void))find("_Py_IsFinalizing");
	api.code = find("PyCode_Type");
	api.frame = find("PyFrame_Type");
	api.line = (int (*)(void *))find("PyFrame_GetLineNumber");
	api.addr2line = (int (*)(const void *, int))find("PyCode_Addr2Line");
	api.lasti = (int (*)(const void *))find("PyUnstable_InterpreterFrame_GetLasti");
	return interpreter.layout ? READY : NEVER;
}

/* ---- one frame ---- */

static void tell(const char *text)
{
	const char *path = getenv("PYTHON_MALLOC_OUT");
	int fd = open(path ? path : "/dev/stderr", O_WRONLY | O_APPEND | O_CREAT, 0600);
	ssize_t n = write(fd, text, strlen(text));

	(void)n;
	close(fd);
}

static void differs(const char *what, const void *frame, const void *code)
{
	char text[128];

	if (atomic_fetch_add(&wrong, 1) >= TOLD)
		return;
	snprintf(text, sizeof(text), "differs %d: %s, frame %p, code %p\n", getpid(),
		 what, frame, code);
	tell(text);
}

/* To 3.10 a frame is an object, and can be asked. */
static void ask_object(void *frame, const void *code, int offset)
{
	if (layout_at(frame, LAYOUT_TYPE) != api.frame)
		differs("no frame object", frame, code);
	else if (api.line(frame) != api.addr2line(code, offset) &&
		 interpreter.layout->minor == 10) /* before, a traced one says the line
						   * of its last event */
		differs("another line", frame, code);
}

static void look_at(const void *frame)
{
	const struct python_layout *l = interpreter.layout;
	const void *code = walk_code(l, frame);
	int64_t offset;

	if (layout_at(code, LAYOUT_TYPE) != api.code) {
		differs("no code object", frame, code);
		return;
	}
	offset = walk_offset(l, frame, code);
	if (walk_is_early(l, frame, code, offset))
		atomic_fetch_add(&early, 1);
	else if (l->kind == PYTHON_INDEX)
		ask_object((void *)(uintptr_t)frame, code, (int)offset);
	else if (offset >= 2 * (int64_t)layout_at(code, UNITS))
		differs("no instruction of its code", frame, code);
	else if (api.lasti && api.lasti(frame) != offset)
		differs("another instruction", frame, code);
}

/* ---- malloc ---- */

static void look_at_all(void)
{
	static __thread struct walk w __attribute__((tls_model("initial-exec")));
	const void *innermost = walk_innermost(interpreter.layout);

	if (!innermost)
		return;
	walk_frames(&w, innermost);
	atomic_fetch_add(&walks, 1);
	atomic_fetch_add(&frames, w.n);
	if (interpreter.holder() == interpreter.thread_state())
		atomic_fetch_add(&locked, 1);
	for (unsigned i = 0; i < w.n; i++)
		look_at(w.frame[i]);
}

static void look(void)
{
	int saved = errno, now = atomic_load(&state);

	if (busy)
		return;
	busy = true;
	if (now == NOT_YET)
		atomic_store(&state, now = look_for_python());
	if (now == READY)
		look_at_all();
	busy = false;
	errno = saved;
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

EXPORT void *malloc(size_t size)
{
	look();
	return __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	look();
	return __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t size)
{
	look();
	return __libc_realloc(p, size);
}

static __attribute__((destructor)) void tell_counts(void)
{
	char text[256];

	busy = true;
	if (!atomic_load(&walks))
		return;
	snprintf(text, sizeof(text),
		 "walks %lu locked %lu frames %lu early %lu differ %lu\n",
		 (unsigned long)walks, (unsigned long)locked, (unsigned long)frames,
		 (unsigned long)early, (unsigned long)wrong);
	tell(text);
}
