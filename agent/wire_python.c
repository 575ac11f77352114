/* SPDX-License-Identifier: Apache-2.0 */
/* Python's call stacks: looked for once libtorch is there, by a thread that imports. */
#include "agent/agent.h"

#include "agent/core/gate.h"
#include "agent/python/freed.h"
#include "agent/python/python.h"
#include "agent/torch/torch.h"

#include <string.h>

/* Python's importer asks dlsym for PyInit_*, with the interpreter's lock held. */
void wire_python_look(const char *name)
{
	if (agent.config.python_stack != PYTHON_OFF && !strncmp(name, "PyInit_", 7) &&
	    torch_known())
		python_look();
}

void wire_python_ended(void)
{
	if (!gate_cycle())
		freed_unwatch();
}
