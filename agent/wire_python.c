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
	if (!is_wanted() || strncmp(name, "PyInit_", 7) != 0)
		return;
	if ((torch_known() || heap_wanted()) && python_look() && torch_known())
		python_path();
}

/* A program that allocates, or uses the GPU, may never load a module of C's. */
static void ask_if_unknown(void)
{
	if (__builtin_expect(!interpreter_tells_end, 0) && !interpreter_why() &&
	    !interpreter_ended())
		python_ask();
}

static uint32_t add_stack(struct thread *t, uint32_t native)
{
	ask_if_unknown();
	return interpreter_on ? snap_pair(t, native) : native;
}

uint32_t wire_python_call(struct thread *t, uint32_t native)
{
	ask_if_unknown();
	return interpreter_on ? snap_call(t, native) : native;
}

void wire_python_start(void)
{
	if (!is_wanted())
		return;
	python_prepare();
	if (heap_wanted())
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
