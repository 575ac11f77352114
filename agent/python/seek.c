/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where to look, and when. A module has all of its functions when its import returns, and
 * nobody outside of it can call them before: so we look after each import. The script's
 * are there when the interpreter has come past them: so between imports we look at each
 * call, whatever is called, until there is a function for each number.
 *
 * The first moment of all is first.h's; where that cannot be had the first module of C's
 * that is imported brings us here.
 */
#include "agent/python/seek.h"
#include "agent/python/calls.h"
#include "agent/python/check.h"
#include "agent/python/first.h"
#include "agent/python/goodbye.h"
#include "agent/python/importer.h"
#include "agent/python/interpreter.h"
#include "agent/python/main_module.h"
#include "agent/python/marked.h"
#include "agent/python/named.h"
#include "agent/python/pending.h"
#include "agent/python/python.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/seldom.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

#define TEXT (SEEK_MOST * 256) /* bytes of all names together */

static SELDOM char text[TEXT];
static size_t text_n;

static SELDOM struct want {
	const char *name;
	unsigned which;
	struct named *named; /* NULL: no interpreter was met yet */
	struct marked *mark; /* NULL: it was not found yet */
	const char *why; /* not NULL: it is not looked for any more */
	bool why_said;
	bool looked_last; /* at the very end */
} wants[SEEK_MOST];
static unsigned wants_n; /* 0: nobody wants one */
static uint64_t lacking; /* numbers for which there is no function yet */

_Static_assert(SEEK_MOST == NAMED_MOST && SEEK_MOST == MARKED_MOST, "one of each");

static bool prepared;
static bool found_all; /* of the interpreter's functions */
static struct importer imports;
static const char *why; /* not NULL: none is looked for */
static _Atomic bool met;
static __thread unsigned importing __attribute__((tls_model("initial-exec")));

/* ---- wanted ---- */

static bool add_want(const char *name, size_t len, unsigned which)
{
	if (!len || wants_n == SEEK_MOST || len >= TEXT - text_n)
		return false;
	wants[wants_n++] = (struct want){ .name = text + text_n, .which = which };
	memcpy(text + text_n, name, len);
	text_n += len;
	text[text_n++] = 0;
	return true;
}

bool seek_want(const char *names, unsigned which)
{
	size_t text_before = text_n, len;
	unsigned before = wants_n;

	for (const char *at = names; which < SEEK_MOST; at += len + 1) {
		len = strcspn(at, "|");
		if (!add_want(at, len, which))
			break;
		if (!at[len])
			return true;
	}
	wants_n = before;
	text_n = text_before;
	return false;
}

/* A number has a function by one of its names, or is given up with the last one. */
static void count_lacking(void)
{
	uint64_t found = 0;

	lacking = 0;
	for (const struct want *w = wants; w < wants + wants_n; w++) {
		uint64_t bit = (uint64_t)1 << w->which;

		found |= w->mark ? bit : 0;
		lacking |= w->why ? 0 : bit;
	}
	lacking &= ~found;
}

/* ---- found ---- */

static uint64_t roles_of(const struct marked *m)
{
	uint64_t roles = 0;

	for (const struct want *w = wants; w < wants + wants_n; w++)
		roles |= w->mark == m ? (uint64_t)1 << w->which : 0;
	return roles;
}

static void leave_function(struct want *w)
{
	struct marked *before = w->mark;

	w->mark = NULL;
	if (before)
		marked_mean(before, roles_of(before));
}

/* Another one has that name now, or it is the first. */
static void take_function(struct want *w, void *function)
{
	leave_function(w);
	w->mark = marked_take(function, w->name, &w->why);
	if (w->mark)
		marked_mean(w->mark, roles_of(w->mark));
}

/* True: it was found just now. */
static bool look_for(struct want *w)
{
	void *function;

	if (w->mark && (w->why = marked_why(w->mark)))
		return false;
	function = named_look(w->named);
	if (named_state(w->named) == NAMED_MAKER) {
		w->why = named_why(w->named);
		w->why_said = true;
		log_warn("marker python:%s: %s", w->name, w->why);
	}
	if (!function || (w->mark && function == marked_function(w->mark)))
		return false;
	take_function(w, function);
	return w->mark;
}

/* The wants that were found just now, a bit each. */
static uint64_t look_again(void)
{
	uint64_t found = 0;

	named_round();
	for (unsigned i = 0; i < wants_n; i++)
		if (!wants[i].why && look_for(&wants[i]))
			found |= (uint64_t)1 << i;
	count_lacking();
	if (!lacking)
		calls_leave();
	return found;
}

/* ---- each call, until all are found ---- */

/* What the call at hand is of those that were found after it had begun. */
static uint64_t roles_at_call(uint64_t found, const void *function, const void *code)
{
	uint64_t roles = 0;

	for (unsigned i = 0; found >> i; i++) {
		const struct want *w = &wants[i];

		if ((found >> i & 1) && (function ? function == marked_function(w->mark)
						  : named_is_code(w->named, code)))
			roles |= (uint64_t)1 << w->which;
	}
	return roles;
}

static uint64_t look_at_call(const void *function, const void *code)
{
	static long seen;
	long size;

	/* When it ends the interpreter has no modules any more, and may still call. */
	if (why || interpreter.finalizing())
		return 0;
	size = main_module_size();
	if (size == seen || !check_holds_lock())
		return 0;
	seen = size;
	return lacking ? roles_at_call(look_again(), function, code) : 0;
}

static void watch_script(void)
{
	static const struct calls_listener to = { look_at_call, marked_around };

	if (!importing && !why && lacking)
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

	if (lacking)
		calls_leave();
	importing++;
	result = slot_next(&imports.slot)(function, args, count, names);
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

	if (found && named_find() && importer_ready() && calls_find())
		return true;
	why = found ? "the interpreter lacks functions that are needed" : failed;
	return false;
}

static void start_here(void)
{
	atomic_store(&met, true);
	for (struct want *w = wants; w < wants + wants_n; w++)
		if (!(w->named = named_add(w->name)))
			w->why = "the name has too many parts";
	count_lacking();
	/* Else each module of C's that is imported brings us here. */
	if (!importer_find(&imports, see_import) && !importer_watch(&imports))
		why = "another tool stands in front of the importer";
}

void seek_look(void)
{
	int saved = errno;

	/* Once imports are seen nothing is new here. */
	if (!prepared || why || imports.slot.at || interpreter_ended() || sys_confined)
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
	if (!met || why || !check_holds_lock())
		return;
	named_round();
	for (struct want *w = wants; w < wants + wants_n; w++) {
		if (w->why || w->mark || marked_called(w->which))
			continue;
		named_look(w->named);
		named_meant(w->named);
		w->looked_last = true;
	}
}

/* How far one has come: of several names the one that came farthest is told. */
static unsigned progress_of(const struct want *w)
{
	if (w->mark)
		return NAMED_FOUND + 2;
	return w->why ? NAMED_FOUND + 1 : (unsigned)named_state(w->named);
}

static const char *why_not_called(const struct want *w)
{
	static char last[1100];

	if (w->why)
		return w->why;
	if (w->mark)
		return "the function was never called";
	if (w->looked_last)
		return named_why(w->named);
	/* The last look may be older than the program's last names. */
	fmt(last, sizeof(last), "%s (when it was last looked for)", named_why(w->named));
	return last;
}

static const char *why_of(unsigned which)
{
	static char one[2200];
	const struct want *best = NULL;
	unsigned names = 0;

	for (const struct want *w = wants; w < wants + wants_n; w++) {
		if (w->which != which)
			continue;
		names++;
		if (!best || progress_of(w) > progress_of(best))
			best = w;
	}
	if (!best || best->why_said)
		return NULL;
	if (names == 1)
		return why_not_called(best);
	fmt(one, sizeof(one), "%s: %s", best->name, why_not_called(best));
	return one;
}

const char *seek_missing(unsigned which)
{
	if (which >= SEEK_MOST || marked_called(which) || !interpreter.version)
		return NULL;
	if (!why && !met)
		return "the interpreter was not met (with PYTHONMALLOC, or python -X dev, "
		       "it is when it imports a module of C's)";
	return why ? why : why_of(which);
}

/* ---- the interpreter starts ---- */

void seek_prepare(const struct seek_listener *to)
{
	prepared = true;
	marked_start(to->begin, to->end, to->elsewhere);
	goodbye_add(see_end);
	found_all = find_all();
	if (found_all && pending_find())
		first_ask(seek_look);
}

void seek_fork_child(void)
{
	marked_fork_child();
}
