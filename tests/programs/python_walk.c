/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_walk.so - a Python program takes its own stack as an operator's callback does,
 * and reads it back: tests/python/walk.py loads it.
 *
 * It is the agent's own code, as in libproflaunch.so, with a spool and an open window in
 * private memory. ctypes.CDLL lets the interpreter's lock go around a call, as torch's
 * bindings do; ctypes.PyDLL keeps it.
 */
#include "agent/core/codes.h"
#include "agent/core/emit.h"
#include "agent/core/stacks.h"
#include "agent/hooks/hook.h"
#include "agent/python/interpreter.h"
#include "agent/python/last.h"
#include "agent/python/python.h"
#include "agent/python/snap.h"
#include "tests/unit/spool_open.h"
#include "writer/python/lines.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#define EXPORT     __attribute__((visibility("default")))
#define AHEAD      (1 << 20) /* bytes of the spool that are ready from the start */
#define WRONG_EXIT 9 /* of a thread that cannot come back to Python to say so */

typedef void callback(void);

void *(*hook_real_dlsym)(void *handle, const char *name) = dlsym;

/* ---- how often C called the interpreter, from the native frames ---- */

static ElfW(Sym) * loop; /* the function that executes Python's code */
static uintptr_t loop_at;

static void find_loop(void)
{
	void *at = dlsym(RTLD_DEFAULT, "_PyEval_EvalFrameDefault");
	Dl_info info;

	if (at && dladdr1(at, &info, (void **)&loop, RTLD_DL_SYMENT))
		loop_at = (uintptr_t)at;
}

static _Unwind_Reason_Code count_loop(struct _Unwind_Context *context, void *n)
{
	*(unsigned *)n += _Unwind_GetIP(context) - 1 - loop_at < loop->st_size;
	return _URC_NO_REASON;
}

static unsigned count_loops(void)
{
	unsigned n = 0;

	if (loop)
		_Unwind_Backtrace(count_loop, &n);
	return n;
}

/* ---- the spool, and a window in it ---- */

static uint64_t spool_cap;

static int open_window(void)
{
	int err = spool_open(NULL, spool_cap);
	struct cycle_info *info;
	uint64_t at;

	if (!err)
		err = spool_prepare(AHEAD);
	at = err ? 0 : chunk_take(CHUNK_CYCLE, CHUNK_SMALL, 1);
	if (!at)
		return err ? err : -ENOMEM;
	info = (struct cycle_info *)(chunk_at(at) + 1);
	memset(info, 0, sizeof(*info));
	info->number = 1;
	gate_set(1, at);
	return 0;
}

/* 1: stacks can be had; 0: they cannot, see walk_why; below 0: no spool. */
EXPORT int walk_start(uint64_t cap)
{
	int err;

	if (!spool_cap) {
		clock_start();
		spool_cap = cap;
		err = gate_start();
		if (!err)
			err = thread_start();
		if (!err)
			err = open_window();
		if (err)
			return err;
		find_loop();
	}
	return python_look();
}

EXPORT const char *walk_why(void)
{
	return interpreter_why();
}

/* In a fork's child, as agent/fork.c does. */
EXPORT int walk_child(void)
{
	spool_forget();
	thread_forget();
	gate_set(0, 0);
	return open_window();
}

/* What the window has counted. */
EXPORT uint64_t walk_count(enum python_count what)
{
	struct cycle_info *info = emit_info();

	return info ? atomic_load(&info->python[what]) : 0;
}

/* ---- an operator that begins, and ends ---- */

static uint32_t begin_op(struct rec_op *op, uint8_t *flags)
{
	struct thread *t = emit_enter(REC_OP);
	uint32_t id = 0;

	*flags = 0;
	if (!t)
		return 0;
	t->cycle = atomic_load(&t->emitting);
	memset(op, 0, sizeof(*op));
	if (atomic_load(&interpreter_on))
		id = snap_stack(t, &op->r, REC_OP, flags);
	emit_leave(t);
	return id;
}

static uint32_t take_stack(void)
{
	static __thread struct rec_op records[2]; /* the last one is still there */
	static __thread unsigned turn;
	struct rec_op *op = &records[turn++ % 2];
	uint8_t flags;
	uint32_t id = begin_op(op, &flags);

	op->r.end = 1;
	return id;
}

/* ---- a stack as text ---- */

/* "depth flags loops" in a line of its own, then each frame, innermost first: line,
 * whether C called it, and the bytes of its file's and its function's name, in a line,
 * and these two. -1: no room; 0: no stack. */
static int print_stack(uint32_t id, char *to, size_t size)
{
	struct stack_frame frame[STACKS_MOST];
	struct spool_view v;
	unsigned flags, n;
	size_t at;

	if (!id || spool_view_init(&v, spool.base, spool.head->cap))
		return 0;
	n = stacks_get(&v, id, frame, STACKS_MOST, &flags);
	at = (size_t)snprintf(to, size, "%u %u %u\n", n, flags, count_loops());
	for (unsigned i = 0; i < n; i++, id = stacks_at(&v, id)->caller) {
		const struct code *c = codes_get(&v, frame[i].module);
		size_t file = c ? c->file_len : 1, name = c ? c->name_len : 1;

		if (size - at < 64 + file + name)
			return -1;
		at += (size_t)sprintf(to + at, "%u %d %zu %zu\n",
				      c ? lines_find(c, (uint32_t)frame[i].offset) : 0,
				      !!(stacks_at(&v, id)->flags & STACK_ENTRY), file,
				      name);
		memcpy(to + at, c ? code_file(c) : "?", file);
		memcpy(to + at + file, c ? code_name(c) : "?", name);
		at += file + name;
	}
	return (int)at;
}

EXPORT int walk_stack(char *to, size_t size)
{
	return print_stack(take_stack(), to, size);
}

/* The same by its id alone: equal stacks have equal ones. */
EXPORT uint32_t walk_id(void)
{
	return take_stack();
}

/* So many that one is compared by the agent itself: were all of them right? For a thread
 * with the interpreter's lock. */
EXPORT bool walk_prove(void)
{
	uint64_t before = walk_count(PYTHON_CHECKED);

	for (int i = 0; i < LAST_CHECK; i++)
		take_stack();
	return walk_count(PYTHON_CHECKED) > before && !interpreter_why();
}

/* ---- what a walk must leave as it is ---- */

EXPORT int walk_errno(int value)
{
	errno = value;
	take_stack();
	return errno;
}

/* With an exception set, as PyDLL finds it when the call is over. */
EXPORT uint32_t walk_pending(void)
{
	void **type = dlsym(RTLD_DEFAULT, "PyExc_KeyError");
	void (*set)(void *, const char *) =
		(void (*)(void *, const char *))dlsym(RTLD_DEFAULT, "PyErr_SetString");
	uint32_t id = 0;

	set(*type, "it is kept");
	for (int i = 0; i < 2 * LAST_CHECK; i++)
		id = take_stack();
	python_look();
	return id;
}

/* ---- operators around others ---- */

enum {
	FIRST_SAME = 1,
	SECOND_SAME = 2,
	FIRST_SHARES = 4,
	SECOND_SHARES = 8,
	OUTER_SHARES = 16
};

/* An operator begins, calls back, and two more begin inside of it, the second inside of
 * the first: whose stacks are the outer one's, and which are marked so. */
EXPORT int walk_around(callback *back)
{
	static __thread struct rec_op op[3];
	uint8_t flags[3];
	uint32_t id[3];

	for (int i = 0; i < 3; i++) {
		id[i] = begin_op(&op[i], &flags[i]);
		if (!i && back)
			back();
	}
	for (int i = 0; i < 3; i++)
		op[i].r.end = 1;
	return (id[0] && id[0] == id[1] ? FIRST_SAME : 0) +
	       (id[0] && id[0] == id[2] ? SECOND_SAME : 0) +
	       (flags[1] & OP_SHARES ? FIRST_SHARES : 0) +
	       (flags[2] & OP_SHARES ? SECOND_SHARES : 0) +
	       (flags[0] & OP_SHARES ? OUTER_SHARES : 0);
}

/* ---- threads that C begins ---- */

static void *run_bare(void *arg)
{
	callback *back = *(callback **)arg;
	uint32_t before = take_stack();

	if (back)
		back();
	*(uint32_t *)arg = before | take_stack();
	return NULL;
}

/* A thread that Python knows only while it calls back, if it does. Returns the ids of
 * before and after: 0. */
EXPORT uint32_t walk_bare(callback *back)
{
	union {
		callback *back;
		uint32_t ids;
	} arg = { back };
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_bare, &arg))
		return UINT32_MAX;
	pthread_join(thread, NULL);
	return arg.ids;
}

/* ---- walks while something else goes on, and the interpreter's end ---- */

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void say_wrong(const char *what)
{
	ssize_t n = write(2, what, strlen(what));

	(void)n;
	_exit(WRONG_EXIT);
}

/* Stands still in C for so long and takes the same stack over and over; ends the process
 * where one is another: a thread cannot come back to a Python that has ended. `nothing`:
 * no stack is right, too. Returns how many were taken. */
EXPORT uint64_t walk_for(unsigned ms, bool nothing)
{
	uint64_t until = now_ms() + ms, n = 0;
	uint32_t first = take_stack();

	while (now_ms() < until)
		for (int i = 0; i < 100; i++, n++) {
			uint32_t id = take_stack();

			if (id != first && !(nothing && !id))
				say_wrong("another stack\n");
		}
	return n;
}

static void walk_after_all(void)
{
	uint32_t id = take_stack();

	say_wrong(id ? "a stack after the interpreter's end\n" : "");
}

/* When the C library's exit runs, Python has ended: exit status WRONG_EXIT either way. */
EXPORT int walk_at_exit(void)
{
	return atexit(walk_after_all);
}
