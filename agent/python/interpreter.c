/* SPDX-License-Identifier: Apache-2.0 */
/* What all that read the interpreter share; python.c fills it in. */
#include "agent/python/interpreter.h"
#include "base/log.h"

#include <string.h>

struct interpreter interpreter;
_Atomic bool interpreter_on;
static const char *_Atomic off_why;
static _Atomic bool ended;

void interpreter_off(const char *why)
{
	const char *version = interpreter.version ? interpreter.version : "?";

	atomic_store(&interpreter_on, false);
	if (!atomic_exchange(&off_why, why))
		log_warn("Python's call stacks are not recorded: %s (Python %.*s)", why,
			 (int)strcspn(version, " "), version);
}

const char *interpreter_why(void)
{
	return atomic_load(&off_why);
}

void interpreter_end(void)
{
	atomic_store(&ended, true);
	atomic_store(&interpreter_on, false);
}

bool interpreter_ended(void)
{
	return atomic_load(&ended);
}
