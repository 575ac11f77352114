/* SPDX-License-Identifier: Apache-2.0 */
/* Python's call stacks: looked for once libtorch is there, by a thread that imports. */
#include "agent/agent.h"

#include "agent/core/gate.h"
#include "agent/python/freed.h"
#include "agent/python/interpreter.h"
#include "agent/python/python.h"
#include "agent/torch/torch.h"
#include "base/log.h"

#include <stdatomic.h>
#include <string.h>

/* Python's importer asks dlsym for PyInit_*, with the interpreter's lock held. */
void wire_python_look(const char *name)
{
	if (agent.config.python_stack != PYTHON_OFF && !strncmp(name, "PyInit_", 7) &&
	    torch_known())
		python_look();
}

/* A window of torch, and no interpreter: the program is C++, or hides it. */
static void say_none(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (agent.config.python_stack != PYTHON_OFF && torch_known() && !interpreter_on &&
	    !interpreter_why() && !interpreter_ended() &&
	    !atomic_flag_test_and_set(&said))
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
