/* SPDX-License-Identifier: Apache-2.0 */
/* Python's call stacks: the interpreter is looked for by a thread that imports, or by a
 * pending call of its own. */
#include "agent/agent.h"

#include "agent/core/gate.h"
#include "agent/heap/heap.h"
#include "agent/python/freed.h"
#include "agent/python/interpreter.h"
#include "agent/python/python.h"
#include "agent/python/snap.h"
#include "agent/torch/torch.h"
#include "base/log.h"

#include <stdatomic.h>
#include <string.h>

static bool is_wanted(void)
{
	return agent.config.python_stack != PYTHON_OFF;
}

/* Python's importer asks dlsym for PyInit_*, with the interpreter's lock held. */
void wire_python_look(const char *name)
{
	if (is_wanted() && !strncmp(name, "PyInit_", 7) &&
	    (torch_known() || heap_wanted()))
		python_look();
}

/* A program that allocates may never load a module of C's. */
static uint32_t add_stack(struct thread *t, uint32_t native)
{
	if (__builtin_expect(interpreter_on, 1))
		return snap_pair(t, native);
	if (!interpreter_why() && !interpreter_ended())
		python_ask();
	return native;
}

void wire_python_start(void)
{
	if (!is_wanted() || !heap_wanted())
		return;
	python_prepare();
	heap_also_walk(add_stack);
}

/* A window of torch, and no interpreter: the program is C++, or hides it. */
static void say_none(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (is_wanted() && torch_known() && !interpreter_on && !interpreter_why() &&
	    !interpreter_ended() && !atomic_flag_test_and_set(&said))
		log_warn("operators have no call stacks of Python: no CPython was found "
			 "in this process");
}

void wire_python_ended(bool kept)
{
	if (kept)
		say_none();
	if (!gate_cycle())
		freed_unwatch();
}
