/* SPDX-License-Identifier: Apache-2.0 */
/* The interpreter is found by its exported names when torch's first module is imported:
 * that thread has the interpreter's lock, and Python's import system on its stack. */
#include "agent/python/python.h"
#include "agent/core/spool.h"
#include "agent/hooks/hook.h"
#include "agent/python/check.h"
#include "agent/python/freed.h"
#include "agent/python/goodbye.h"
#include "agent/python/objects.h"
#include "agent/python/pending.h"
#include "agent/python/slot.h"
#include "agent/python/text.h"
#include "base/fmt.h"
#include "base/seldom.h"
#include "base/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_MOST 3072 /* bytes of the folders in the spool's facts */

static void *find_either(const char *name, const char *other)
{
	void *found = hook_real_dlsym(RTLD_DEFAULT, name);

	return found ? found : hook_real_dlsym(RTLD_DEFAULT, other);
}

/* False: no interpreter is here, or not yet. */
static bool find_functions(void)
{
	const char *(*version)(void) =
		(const char *(*)(void))hook_real_dlsym(RTLD_DEFAULT, "Py_GetVersion");

	interpreter.thread_state = (void *(*)(void))hook_real_dlsym(
		RTLD_DEFAULT, "PyGILState_GetThisThreadState");
	interpreter.holder = (void *(*)(void))find_either("PyThreadState_GetUnchecked",
							  "_PyThreadState_UncheckedGet");
	interpreter.finalizing =
		(int (*)(void))find_either("Py_IsFinalizing", "_Py_IsFinalizing");
	if (!version)
		return false;
	interpreter.version = version();
	return true;
}

static bool can_read(const void *object, unsigned offset)
{
	return sys_can_read((const char *)object + offset);
}

static bool can_read_code(const struct python_layout *l, const void *code)
{
	return can_read(code, l->code_file) && can_read(code, l->code_name) &&
	       can_read(code, l->code_line) && can_read(code, l->code_table) &&
	       can_read(code, l->code_first);
}

/* The kernel is asked for all that a walk reads: where a row is wrong nothing can be said
 * of what it leads to. */
static bool can_walk(const struct python_layout *l)
{
	const void *at = interpreter.thread_state();

	if (!can_read(at, l->state_frame))
		return false;
	at = layout_at(at, l->state_frame);
	if (l->through && !can_read(at, l->cframe_frame))
		return false;
	at = l->through ? layout_at(at, l->cframe_frame) : at;
	for (unsigned i = 0; at && i < WALK_STEPS; i++, at = layout_at(at, l->caller))
		if (!can_read(at, l->caller) || !can_read(at, l->code) ||
		    !can_read(at, l->where) || !can_read(at, l->owner) ||
		    !can_read(at, l->entry) ||
		    (!walk_is_helper(l, at) && !can_read_code(l, walk_code(l, at))))
			return false;
	return true;
}

/* Frames that nobody can check tell nothing: then the next import will. */
static bool prove_layout(void)
{
	static SELDOM struct walk w;
	const char *why;

	w.n = 0;
	if (!can_walk(interpreter.layout)) {
		interpreter_off("its frames are laid out in another way than expected");
		return false;
	}
	walk_frames(&w, walk_innermost(interpreter.layout));
	why = check_all(&w, &interpreter.proven);
	interpreter.entries = !why && interpreter.layout->entry && check_entries(&w);
	if (why)
		interpreter_off(why);
	return !why && interpreter.proven;
}

/* ---- facts ---- */

/* Appends the folder, unless its name has what JSON would escape. An empty name is the
 * folder that the program is in. */
static size_t put_folder(char *to, size_t at, const void *str)
{
	char name[CODES_TEXT + 1];
	size_t len = python_text(interpreter.layout, str, name, CODES_TEXT);

	if (!layout_at(str, PYTHON_LENGTH) && !sys_confined &&
	    syscall(SYS_getcwd, name, sizeof(name)) > 0)
		len = strlen(name);
	while (len > 1 && name[len - 1] == '/')
		len--;
	if (!len || name[0] != '/' || at + len + 3 > PATH_MOST)
		return at;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ' || strchr("\":\\\x7f", name[i]))
			return at;
	if (at > 1)
		to[at++] = ':';
	memcpy(to + at, name, len);
	return at + len;
}

static SELDOM char folders[PATH_MOST]; /* as JSON's text, with a colon between them */

static bool is_exactly(const void *object, const char *type)
{
	void *wanted = hook_real_dlsym(RTLD_DEFAULT, type);

	return object && wanted && layout_at(object, LAYOUT_TYPE) == wanted;
}

/* Reads sys.path, unless the program has put something else there. */
static void note_path(void)
{
	void *(*object)(const char *) =
		(void *(*)(const char *))hook_real_dlsym(RTLD_DEFAULT, "PySys_GetObject");
	long (*size)(void *) =
		(long (*)(void *))hook_real_dlsym(RTLD_DEFAULT, "PyList_Size");
	void *(*item)(void *, long) =
		(void *(*)(void *, long))hook_real_dlsym(RTLD_DEFAULT, "PyList_GetItem");
	void *path = object && size && item ? object("path") : NULL;
	size_t at = 1;

	if (!is_exactly(path, "PyList_Type"))
		return;
	for (long i = 0, n = size(path); i < n; i++)
		if (is_exactly(item(path, i), "PyUnicode_Type"))
			at = put_folder(folders, at, item(path, i));
	*folders = '"';
	strcpy(folders + at, "\"");
}

void python_path(void)
{
	int saved = errno;

	if (!*folders && check_holds_lock()) {
		note_path();
		if (*folders && spool.head)
			spool_fact("python_path", folders);
	}
	errno = saved;
}

void python_facts(void)
{
	char json[128];

	if (!atomic_load(&interpreter_on) || !spool.head)
		return;
	fmt(json, sizeof(json), "{\"version\": \"%.*s\", \"frames checked\": %u}",
	    (int)strcspn(interpreter.version, " \"\\\n"), interpreter.version,
	    interpreter.proven);
	spool_fact("python", json);
	if (*folders)
		spool_fact("python_path", folders);
}

/* ---- the look ---- */

/* Everything is looked up at once: the dynamic linker's lock can be held by a thread that
 * waits for the interpreter's. *why is set where the interpreter is left alone. */
static bool find_all(const char **why)
{
	if (!find_functions())
		return false;
	interpreter.layout = python_layout(interpreter.version, why);
	if (!interpreter.layout)
		return false;
	if (interpreter.thread_state && interpreter.holder && interpreter.finalizing &&
	    check_start() && freed_find() && goodbye_find()) {
		slot_start();
		return true;
	}
	*why = "the interpreter lacks functions that are needed";
	return false;
}

static bool found; /* all of it */

bool python_find(const char **why)
{
	if (!found)
		found = find_all(why);
	return found;
}

static void find_and_prove(void)
{
	const char *why = NULL;

	if (!python_find(&why) && why) {
		interpreter_off(why);
	} else if (found && check_holds_lock() && prove_layout()) {
		interpreter_begin();
		python_facts();
	}
}

bool python_look(void)
{
	int saved = errno;
	bool on = atomic_load(&interpreter_on);

	/* Behind a seccomp filter the kernel may not be asked what can be read. */
	if (!on && !interpreter_why() && !interpreter_ended() && !sys_confined)
		find_and_prove();
	on = atomic_load(&interpreter_on);
	if (on && !atomic_load(&interpreter_tells_end) && check_holds_lock())
		goodbye_ask();
	errno = saved;
	return on;
}

/* ---- by a pending call ---- */

static _Atomic uint32_t asks;
static _Atomic bool asking;
static bool can_ask;

static int look_now(void *arg)
{
	(void)arg;
	if (python_look())
		objects_look();
	atomic_store(&asking, false);
	return 0;
}

/* 3.8 prints an exception where a call is added as it ends. */
void python_prepare(void)
{
	const char *why = NULL;

	can_ask = python_find(&why) && interpreter.layout->minor != 8 && pending_find();
}

/* The interpreter may have no frames yet, nor the module that tells of its end: the 1st,
 * 2nd, 4th, ... time that we are called it is asked again. */
void python_ask(void)
{
	uint32_t n;

	if (!can_ask || !pending_ready() || interpreter.finalizing())
		return;
	n = atomic_fetch_add_explicit(&asks, 1, memory_order_relaxed) + 1;
	if (n & (n - 1) || atomic_exchange(&asking, true))
		return;
	if (!pending_add(look_now))
		atomic_store(&asking, false);
}
