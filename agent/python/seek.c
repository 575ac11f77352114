/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where to look, and when. A module has all of its functions when its import returns, and
 * nobody outside of it can call them before: so we look after each import. The script's
 * are there when the interpreter has come past them: so between imports we look at each
 * call, whatever is called, until the function is found.
 *
 * The first moment of all is first.h's; where that cannot be had the first module of C's
 * that is imported brings us here.
 */
#include "agent/python/seek.h"
#include "agent/python/calls.h"
#include "agent/python/check.h"
#include "agent/python/first.h"
#include "agent/python/goodbye.h"
#include "agent/python/imported.h"
#include "agent/python/interpreter.h"
#include "agent/python/kin.h"
#include "agent/python/named.h"
#include "agent/python/pending.h"
#include "agent/python/python.h"
#include "agent/python/slot.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

static const char *name; /* NULL: nobody wants one */
static const struct seek_listener *listener;
static bool found_all; /* of the interpreter's functions */

static struct slot imports, marked;
static enum named how;
static const char *why; /* not NULL: it is not looked for any more */
static bool why_said;
static const char *missing; /* what was found out at the end */
static _Atomic bool met, called;
static __thread unsigned importing __attribute__((tls_model("initial-exec")));

/* So many calls of the function within each other are seen: they count nothing, and in
 * 3.11 and later each takes from the stack of C, and in 3.12 from what limits that. */
#define DEEPEST 100u
static unsigned deep; /* threads that have more: then the function is left alone */
static __thread struct {
	unsigned open; /* calls */
	bool deep;
} mine __attribute__((tls_model("initial-exec")));

/* ---- a call ---- */

static uint32_t begin_call(void)
{
	int saved = errno;
	uint32_t token = listener->begin();

	if (!atomic_load_explicit(&called, memory_order_relaxed))
		atomic_store(&called, true);
	errno = saved;
	return token;
}

static void end_call(uint32_t token)
{
	int saved = errno;

	listener->end(token);
	errno = saved;
}

static void take_away(void)
{
	kin_unset(marked.function);
	slot_unset(&marked);
}

static void put_back(void)
{
	if (slot_set_locked(&marked)) {
		kin_set(marked.function);
	} else if (!why) {
		why = "another tool stands in front of it";
		log_warn("marker python:%s: its calls are not seen any more: %s", name,
			 why);
	}
}

/* Other threads' calls are not seen either, and only one thread's end steps. */
static void leave_for_now(void)
{
	static bool said;

	deep++;
	mine.deep = true;
	take_away();
	if (said || !listener->elsewhere())
		return;
	said = true;
	log_warn("marker python:%s: another thread than the steps' calls it more than "
		 "%u times within itself: steps that end meanwhile are not counted",
		 name, DEEPEST);
}

static void come_again(void)
{
	mine.deep = false;
	if (!--deep)
		put_back();
}

/* The child has none of its parent's other threads. */
void seek_fork_child(void)
{
	if (!deep)
		return;
	deep = mine.deep;
	if (!deep && check_holds_lock())
		put_back();
}

static void *call_marked(void *function, void *const *args, size_t count, void *names)
{
	slot_call *next = slot_next(&marked);
	uint32_t token = begin_call();
	void *result;

	if (++mine.open >= DEEPEST && !mine.deep)
		leave_for_now();
	result = next(function, args, count, names);
	if (!--mine.open && mine.deep)
		come_again();
	if (token)
		end_call(token);
	return result;
}

/* ---- found ---- */

static void leave_function(void)
{
	if (marked.function)
		take_away();
}

/* Another one has that name now, or it is the first. */
static void take_function(void *function)
{
	const char *failed;

	leave_function();
	failed = slot_find(&marked, function, call_marked);
	if (!failed && !slot_set_locked(&marked))
		failed = "another tool stands in front of it";
	if (!failed && !kin_set(function)) {
		slot_unset(&marked);
		failed = "functions are laid out in another way than expected";
	}
	why = failed;
	calls_leave();
}

/* True: it was found just now. */
static bool look_again(void)
{
	void *function = named_look(&how);

	if (how == NAMED_MAKER) {
		why = named_why(how, false);
		why_said = true;
		calls_leave();
		log_warn("marker python:%s: %s", name, why);
	}
	if (!function || function == marked.function)
		return false;
	take_function(function);
	return !why;
}

/* ---- each call, until it is found ---- */

static uint32_t look_at_call(const void *function, const void *code)
{
	static long seen;
	void *before = marked.function;
	long size;

	/* When it ends the interpreter has no modules any more, and may still call. */
	if (why || interpreter.finalizing())
		return 0;
	size = named_script_size();
	if (size == seen || !check_holds_lock())
		return 0;
	seen = size;
	/* The call at hand may be of it. */
	if (marked.function != before || !look_again())
		return 0;
	return (function ? function == marked.function : named_is_code(code))
		       ? begin_call()
		       : 0;
}

static void watch_script(void)
{
	static const struct calls_listener to = { look_at_call, end_call };

	if (!importing && !why && !marked.function)
		calls_watch(&to);
}

/* ---- after each import ---- */

static void look_after_import(void)
{
	int saved = errno;

	if (!why && check_holds_lock()) {
		if (!interpreter_tells_end)
			goodbye_ask();
		look_again();
	}
	errno = saved;
}

static void *see_import(void *function, void *const *args, size_t count, void *names)
{
	void *result;

	if (!marked.function)
		calls_leave();
	importing++;
	result = slot_next(&imports)(function, args, count, names);
	importing--;
	if (result)
		look_after_import();
	watch_script();
	return result;
}

/* ---- the first moment ---- */

/* No interpreter may be here yet. */
static bool find_all(void)
{
	const char *failed = NULL;
	bool found = python_find(&failed);

	if (found && named_find() && imported_find() && kin_find() && calls_find())
		return true;
	why = found ? "the interpreter lacks functions that are needed" : failed;
	return false;
}

static void start_here(void)
{
	void *import;

	atomic_store(&met, true);
	import = imported_item("_frozen_importlib", "_find_and_load");
	if (!named_start(name))
		why = "the name has too many parts";
	else if (!import || slot_find(&imports, import, see_import))
		return;
	else if (slot_set_locked(&imports))
		kin_set(import); /* `from package import module` calls it by itself */
	else
		why = "another tool stands in front of the importer";
}

void seek_look(void)
{
	int saved = errno;

	/* Once imports are seen nothing is new here. */
	if (!name || why || imports.at || interpreter_ended() || sys_confined)
		return;
	if (!found_all)
		found_all = find_all();
	if (found_all && check_holds_lock()) {
		if (!met)
			start_here();
		look_after_import();
		watch_script();
	}
	errno = saved;
}

/* ---- the end ---- */

/* Before the interpreter is finalised: names can still be compared. */
static void see_end(void)
{
	if (!met || called)
		return;
	if (!why && check_holds_lock() && !marked.function) {
		named_look(&how);
		missing = named_why(how, true);
	}
}

const char *seek_missing(void)
{
	static char text[1100];

	if (called || why_said || !interpreter.version)
		return NULL;
	if (!why && !met)
		return "the interpreter was not met (with PYTHONMALLOC, or python -X dev, "
		       "it is when it imports a module of C's)";
	if (why)
		return why;
	if (missing)
		return missing;
	if (marked.function)
		return named_why(NAMED_FOUND, false);
	/* The last look may be older than the program's last names. */
	fmt(text, sizeof(text), "%s (when it was last looked for)",
	    named_why(how, false));
	return text;
}

/* ---- the interpreter starts ---- */

void seek_prepare(const char *wanted, const struct seek_listener *to)
{
	name = wanted;
	listener = to;
	goodbye_add(see_end);
	found_all = find_all();
	if (found_all && pending_find())
		first_ask(seek_look);
}
