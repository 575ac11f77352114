/* SPDX-License-Identifier: Apache-2.0 */
/* importlib's _find_and_load is called, in C or in Python, where a module is not in
 * sys.modules; import_module and the like call it for those that are there as well. */
#include "agent/python/imports.h"
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/names.h"
#include "agent/python/imported.h"
#include "agent/python/importer.h"
#include "agent/python/interpreter.h"
#include "agent/python/pause.h"
#include "agent/python/text.h"
#include "base/guard.h"

#include <errno.h>

#define NAME_MOST 512 /* bytes; a longer name is cut */

static struct importer importer;
static const void *str_type;

/* True: it is to be recorded, and this thread holds the lock. */
static bool is_new(void *name)
{
	return interpreter_on && !interpreter.finalizing() &&
	       layout_at(name, LAYOUT_TYPE) == str_type && !imported_is(name);
}

static void begin_import(struct pause *p, const void *name)
{
	struct pause_cost cost = pause_cost_begin();
	char text[NAME_MOST];
	uintptr_t guard = guard_enter();
	int saved = errno;

	pause_begin(p, PAUSE_IMPORT,
		    names_add(text,
			      python_text(interpreter.layout, name, text, sizeof(text)),
			      NULL, 0));
	pause_cost_end(&cost, p);
	errno = saved;
	guard_leave(guard);
}

static void *watch_import(void *function, void *const *args, size_t count, void *names)
{
	struct pause_found found = { 0 };
	struct pause p;
	void *result;

	begin_import(&p, args[0]);
	result = slot_next(&importer.slot)(function, args, count, names);
	found.flags = result ? 0 : PAUSE_RAISED;
	pause_end(&p, clock_ticks(), &found);
	return result;
}

static void *on_import(void *function, void *const *args, size_t count, void *names)
{
	if (gate_cycle() && SLOT_COUNT(count) && is_new(args[0]))
		return watch_import(function, args, count, names);
	return slot_next(&importer.slot)(function, args, count, names);
}

/* ---- the function ---- */

static const char *find_importer(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyUnicode_Type", &str_type, false },
	};

	if (!interpreter_find(symbols, 1) || !importer_ready())
		return "the interpreter lacks functions that are needed";
	return importer_find(&importer, on_import);
}

const char *imports_begin(void)
{
	const char *why = importer.slot.at ? NULL : find_importer();

	if (why)
		return why;
	if (!importer_watch(&importer))
		return "another tool stands in front of the importer";
	if (!gate_cycle())
		slot_unset(&importer.slot);
	return NULL;
}

void imports_end(void)
{
	importer_leave(&importer);
}

void imports_opened(void)
{
	slot_set(&importer.slot);
	if (!gate_cycle())
		slot_unset(&importer.slot);
}

void imports_closed(void)
{
	slot_unset(&importer.slot);
}
