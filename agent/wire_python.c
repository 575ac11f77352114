/* SPDX-License-Identifier: Apache-2.0 */
/* Python's call stacks: the interpreter is looked for by a thread that imports, or by a
 * pending call of its own. */
#include "agent/wire_python.h"
#include "agent/agent.h"

#include "agent/core/emit.h"
#include "agent/core/gate.h"
#include "agent/heap/domain.h"
#include "agent/heap/heap.h"
#include "agent/python/allocators.h"
#include "agent/python/c_calls.h"
#include "agent/python/entered.h"
#include "agent/python/first.h"
#include "agent/python/freed.h"
#include "agent/python/functions.h"
#include "agent/python/interpreter.h"
#include "agent/python/modules.h"
#include "agent/python/objects.h"
#include "agent/python/pair.h"
#include "agent/python/pauses.h"
#include "agent/python/pending.h"
#include "agent/python/python.h"
#include "agent/python/seek.h"
#include "agent/python/slot.h"
#include "agent/python/wish.h"
#include "agent/sched/sched.h"
#include "agent/torch/torch.h"
#include "base/log.h"
#include "config/c_modules.h"

#include <stdatomic.h>
#include <string.h>

_Static_assert((int)HEAP_DOMAINS == ALLOCATORS_DOMAINS &&
		       (int)HEAP_DOMAIN_PLACES == ALLOCATORS_PLACES,
	       "Python's domains of small objects");

static bool wants_functions(void)
{
	return agent.config.python_stack == PYTHON_FULL;
}

static bool wants_stacks(void)
{
	return agent.config.python_stack != PYTHON_OFF;
}

static bool wants_c_calls(void)
{
	return *c_modules_of(&agent.config);
}

static bool is_wanted(void)
{
	return wants_stacks() || agent.config.modules || agent.config.python_events ||
	       wants_c_calls();
}

/* Is a program without torch recorded from its interpreter's start? */
static bool wants_start(void)
{
	return wants_functions() || agent.config.python_events || wants_c_calls();
}

/* Do windows open without torch, too, for what this interpreter does? */
static bool is_of_use(void)
{
	return torch_known() || heap_wanted() || wants_start();
}

/* ---- small objects ---- */

/* A window that is sealed meanwhile is not written before we leave. */
static void tell_window(void (*what)(struct cycle_info *info))
{
	uintptr_t guard = guard_enter();
	struct thread *t = emit_enter(REC_ALLOC);

	if (t) {
		what(emit_info());
		emit_leave(t);
	}
	guard_leave(guard);
}

/* Nobody ends the last window of a process that leaves at once. */
void wire_python_leave(void)
{
	if (atomic_load(&interpreter_on))
		tell_window(objects_leave);
}

void wire_python_opened(struct cycle_info *info)
{
	if (!atomic_load(&interpreter_on))
		return;
	objects_begin(info);
	modules_opened();
}

void wire_python_opened_now(void)
{
	if (atomic_load(&interpreter_on))
		modules_opened_now();
	pauses_opened();
	wish_opened();
	c_calls_opened();
}

void wire_python_ending(void)
{
	if (atomic_load(&entered_found))
		entered_ending();
}

/* Without torch a window for the whole run opens when the interpreter is met. */
static void begin_without_torch(void)
{
	if (config_marker_is(&agent.config, MARKER_BY_TIME))
		sched_used();
	else
		sched_first_block();
}

/* The interpreter has just started. */
static void look_first(void)
{
	if (!python_look())
		return;
	pauses_found();
	begin_without_torch();
	modules_look();
	wish_look();
}

/* Python's importer asks dlsym for PyInit_*, with the interpreter's lock held. */
void wire_python_look(const char *name)
{
	if (strncmp(name, "PyInit_", 7) != 0)
		return;
	seek_look();
	if (!is_wanted())
		return;
	if (!is_of_use() || !python_look())
		return;
	pauses_found();
	if (torch_known())
		python_path();
	else if (wants_start() && !sched_begun())
		begin_without_torch();
	objects_look();
	modules_look();
	wish_look();
	if (objects_missing(gate_cycle()))
		tell_window(objects_begin_late);
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
	if (!interpreter_on) {
		objects_unseen(emit_info());
		return native;
	}
	if (__builtin_expect(objects_missing(gate_cycle()), 0))
		objects_begin_late(emit_info());
	return pair_alloc(t, native);
}

uint32_t wire_python_call(struct thread *t, uint32_t native)
{
	ask_if_unknown();
	return interpreter_on ? pair_call(t, native) : native;
}

static unsigned pauses_of(uint32_t events)
{
	return (CONFIG_HAS(events, EVENTS_GC) ? PAUSES_GC : 0) |
	       (CONFIG_HAS(events, EVENTS_GIL) ? PAUSES_GIL : 0) |
	       (CONFIG_HAS(events, EVENTS_IMPORT) ? PAUSES_IMPORT : 0);
}

/* The text of a line that says that it cannot be had. */
static const char *what_is_wanted(void)
{
	bool modules = config_wants_modules(&agent.config);

	if (wants_stacks())
		return modules ? "call stacks and modules" : "call stacks";
	return modules ? "modules" : wants_c_calls() ? "calls of C functions" : "events";
}

/* Functions of Python's that end steps, or that stages begin and end with. */
static void seek_functions(void)
{
	static const struct seek_listener markers = { sched_function_begin, sched_end,
						      sched_is_elsewhere };
	bool any = false;

	for (unsigned i = 0; i < SCHED_TRIGGERS; i++) {
		const char *names = sched_function(i);

		if (names && seek_want(names, i))
			any = true;
		else if (names)
			log_warn("marker python:%s: its calls are not seen: more than %d "
				 "names are looked for",
				 names, SEEK_MOST);
	}
	if (any)
		seek_prepare(&markers);
}

void wire_python_start(void)
{
	/* A fork must not ask the dynamic linker: its lock may be held by a thread that
	 * waits for the interpreter's. */
	if (config_marker_is(&agent.config, MARKER_BY_TIME))
		pending_find();
	seek_functions();
	if (!is_wanted())
		return;
	interpreter_want(wants_stacks(), what_is_wanted());
	python_prepare();
	pauses_want(pauses_of(agent.config.python_events));
	pauses_found();
	if (config_wants_modules(&agent.config))
		modules_want(wants_functions());
	if (wants_functions() || c_modules_have_all(&agent.config))
		functions_want(wants_functions(), c_modules_have_all(&agent.config));
	if (wants_c_calls())
		c_calls_want(c_modules_of(&agent.config),
			     c_modules_have_all(&agent.config));
	if (wants_start() && pending_find())
		first_ask(look_first);
	if (!heap_wanted() || !wants_stacks())
		return;
	heap_also_walk(add_stack);
	if (!agent.config.python_heap || agent.config.malloc < MALLOC_SAMPLE)
		return;
	objects_prepare(heap_domain_ours[0], heap_domain_next[0]);
	heap_domain_idle = objects_idle;
}

/* A window of torch, and no interpreter: the program is C++, or hides it. */
static void say_none(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (is_wanted() && torch_known() && !interpreter_on && !interpreter_why() &&
	    !interpreter_ended() && !atomic_flag_test_and_set(&said))
		log_warn("%s of Python: no CPython was found in this process",
			 wants_stacks()         ? "operators have no call stacks"
			 : agent.config.modules ? "there are no modules"
			 : wants_c_calls()      ? "there are no calls of C functions"
						: "there are no events");
}

void wire_python_ended(struct cycle_info *info, bool kept)
{
	objects_ended(info);
	wish_ended();
	functions_ended(info, kept);
	pauses_ended(info, kept);
	c_calls_ended(info, kept);
	if (kept)
		say_none();
	modules_ended();
	if (!gate_cycle())
		freed_unwatch();
}

void wire_python_fork_child(void)
{
	objects_fork_child();
	slot_fork_child();
	modules_fork_child();
	wish_fork_child();
	functions_fork_child();
	pauses_fork_child();
	c_calls_fork_child();
	seek_fork_child();
}
