/* SPDX-License-Identifier: Apache-2.0 */
/* What all that read the interpreter share; python.c fills it in. */
#include "agent/python/interpreter.h"
#include "agent/hooks/hook.h"
#include "base/log.h"

#include <dlfcn.h>
#include <string.h>

struct interpreter interpreter;
_Atomic bool interpreter_on, interpreter_stacks, interpreter_tells_end;
static bool wants_stacks = true;
static const char *wanted = "call stacks";
static const char *_Atomic off_why;
static _Atomic bool ended;

bool interpreter_find(const struct interpreter_symbol *symbol, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		void *found = hook_real_dlsym(RTLD_DEFAULT, symbol[i].name);

		if (!found && !symbol[i].optional)
			return false;
		memcpy(symbol[i].to, &found, sizeof(found));
	}
	return true;
}

void interpreter_want(bool stacks, const char *what)
{
	wants_stacks = stacks;
	wanted = what;
}

static void set_on(bool on)
{
	atomic_store(&interpreter_on, on);
	atomic_store(&interpreter_stacks, on && wants_stacks);
}

void interpreter_begin(void)
{
	set_on(true);
}

void interpreter_off(const char *why)
{
	const char *version = interpreter.version ? interpreter.version : "?";

	set_on(false);
	if (!atomic_exchange(&off_why, why))
		log_warn("Python's %s are not recorded: %s (Python %.*s)", wanted, why,
			 (int)strcspn(version, " "), version);
}

const char *interpreter_why(void)
{
	return atomic_load(&off_why);
}

void interpreter_end(void)
{
	atomic_store(&ended, true);
	set_on(false);
}

bool interpreter_ended(void)
{
	return atomic_load(&ended);
}
