/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library - what the program opens while it runs, and the moment to look at it: libtorch,
 * Python's interpreter, the library with the function that a marker names.
 */
#include "agent/agent.h"

#include "agent/heap/heap.h"
#include "agent/hooks/adds.h"
#include "agent/hooks/hook.h"
#include "agent/hooks/loader.h"
#include "agent/sched/sched.h"
#include "agent/torch/abi.h"
#include "agent/torch/torch.h"
#include "agent/wire_python.h"
#include "writer/writer.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

/* Does all that has to be done once libtorch is mapped and initialised. `once` stays
 * false as long as libtorch is not there: each new library makes us look again. */
static void look_for_torch(void)
{
	static _Atomic bool once;

	if (atomic_load_explicit(&once, memory_order_relaxed) || !torch_found() ||
	    atomic_exchange(&once, true))
		return;
	if (!hook_real_execute)
		hook_real_execute = abi_cpu_symbol(hook_name_execute);
	if (!agent_begin())
		return;
	writer_need();
	wire_gpu_look();
	agent_facts();
	heap_undoze();
	sched_torch_found();
}

/* Python's interpreter, and a program that embeds it, export this. */
static bool is_python(void)
{
	return hook_real_dlsym(RTLD_DEFAULT, "Py_IsInitialized");
}

static _Atomic unsigned long long seen; /* adds, when libraries were looked at */

/* dlsym is how a library just opened gets used, so it is the moment to look. Python's
 * importer asks for PyInit_* right after dlopen returned. Any other name may come from a
 * constructor in the middle of dlopen, where libtorch is mapped but not initialised. */
static bool is_moment(const char *name)
{
	unsigned long long adds = adds_count();

	if (atomic_load_explicit(&seen, memory_order_relaxed) == adds ||
	    (strncmp(name, "PyInit_", 7) && (is_python() || loader_busy())))
		return false;
	atomic_store_explicit(&seen, adds, memory_order_relaxed);
	return true;
}

/* Of what the program is linked with no dlsym will ever tell. */
void library_main(void)
{
	atomic_store(&seen, adds_count());
	look_for_torch();
}

void library_symbol(const char *name)
{
	if (!agent.on)
		return;
	wire_gpu_symbol(name);
	agent_heap_symbol(name);
	if (!is_moment(name))
		return;
	look_for_torch();
	wire_python_look(name);
	sched_library();
}
