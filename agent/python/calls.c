/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamo exchanges the same pointer around each compiled call, and may put ours back when
 * we have left: then the next call takes it away again. */
#include "agent/python/calls.h"
#include "agent/python/walk.h"

#define MOST 1000000u
/* Since 3.11 each takes 0.5 KiB of the stack, of which a thread may have 64 KiB. */
#define DEEPEST 40u
/* 3.8 has no functions for it: PyThreadState and PyInterpreterState (Include/internal/
 * pycore_pystate.h), and no argument for the state. */
#define OLD        8
#define OLD_OFFSET 568

typedef void *evaluate(void *a, void *b, void *c); /* 3.9: state, frame, throwing */

static struct {
	evaluate *plain;
	void *(*interpreter)(void);
	evaluate *(*get)(void *interpreter);
	void (*set)(void *interpreter, evaluate *to);
} api;

static const struct calls_listener *listener; /* NULL: nobody is told */
static const struct calls_listener *later; /* told again when nested calls have ended */
static unsigned count;
static __thread unsigned depth __attribute__((tls_model("initial-exec")));
static __thread bool deep __attribute__((tls_model("initial-exec"))); /* left for it */

bool calls_find(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "_PyEval_EvalFrameDefault", &api.plain, false },
		{ "PyInterpreterState_Main", &api.interpreter, false },
		{ "_PyInterpreterState_GetEvalFrameFunc", &api.get, true },
		{ "_PyInterpreterState_SetEvalFrameFunc", &api.set, true },
	};

	return interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols)) &&
	       (interpreter.layout->minor == OLD || (api.get && api.set));
}

static void put_instead(evaluate *from, evaluate *to)
{
	char *of = api.interpreter();

	if (interpreter.layout->minor != OLD) {
		if (api.get(of) == from)
			api.set(of, to);
	} else if (layout_at(of, OLD_OFFSET) == (const void *)from) {
		__atomic_store_n((evaluate **)(void *)(of + OLD_OFFSET), to,
				 __ATOMIC_RELEASE);
	}
}

static void leave_for_now(void)
{
	const struct calls_listener *to = listener;

	calls_leave();
	later = to;
	deep = true;
}

/* Half of them have ended, so that who goes up and down there does not make us come and
 * go each time. */
static void come_again(void)
{
	deep = false;
	if (later)
		calls_watch(later);
}

/* Include/internal/pycore_frame.h; to 3.10 a frame does not have it. Compared alone. */
static const void *function_of(const void *frame)
{
	unsigned minor = interpreter.layout->minor;

	if (minor < 11)
		return NULL;
	return (const void *)((uintptr_t)layout_at(frame, minor == 11 ? 0 : 16) &
			      ~(uintptr_t)7);
}

/* A call of slot.h's kind, whose arguments are those of the interpreter's function. */
static void *run_frame(void *function, void *const *args, size_t n, void *names)
{
	(void)function;
	(void)n;
	(void)names;
	return api.plain(args[0], args[1], args[2]);
}

static void *watch_call(void *a, void *b, void *c)
{
	bool old = interpreter.layout->minor == OLD;
	void *result, *frame = old ? a : b, *args[] = { a, b, c };
	bool throwing = (int)(intptr_t)(old ? b : c);
	const struct calls_listener *to = listener;
	uint64_t what = 0;

	if (!to || ++count > MOST)
		calls_leave();
	else if (depth >= DEEPEST)
		leave_for_now();
	else if (!throwing)
		what = to->look(function_of(frame), walk_code(interpreter.layout, frame));
	depth++;
	result = what ? to->around(what, run_frame, NULL, args, 0, NULL)
		      : api.plain(a, b, c);
	if (--depth == DEEPEST / 2 && deep)
		come_again();
	return result;
}

void calls_watch(const struct calls_listener *to)
{
	if (count > MOST)
		return;
	listener = to;
	later = NULL;
	put_instead(api.plain, watch_call);
}

void calls_leave(void)
{
	listener = later = NULL;
	put_instead(watch_call, api.plain);
}
