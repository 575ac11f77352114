/* SPDX-License-Identifier: Apache-2.0 */
/* A part of python_walk.so: functions of Python's whose calls are watched, and modules
 * like torch's; for tests/python/slots.py and modules.py. */
#include "agent/core/emit.h"
#include "agent/core/names.h"
#include "agent/core/rare.h"
#include "agent/core/record_module.h"
#include "agent/core/spool.h"
#include "agent/python/entered.h"
#include "agent/python/kin.h"
#include "agent/python/modules.h"
#include "agent/python/paths.h"
#include "agent/python/slot.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#define EXPORT __attribute__((visibility("default")))

typedef void callback(void);

/* ---- functions that are watched ---- */

#define WATCHERS 3

static struct slot watch[WATCHERS];
static uint64_t seen[WATCHERS], failed[WATCHERS];

static void *pass_on(int n, void *function, void *const *args, size_t count, void *names)
{
	void *result = slot_next(&watch[n])(function, args, count, names);

	seen[n]++;
	failed[n] += !result;
	return result;
}

#define PASS(n)                                                                \
	static void *pass_##n(void *function, void *const *args, size_t count, \
			      void *names)                                     \
	{                                                                      \
		return pass_on(n, function, args, count, names);               \
	}
PASS(0)
PASS(1)
PASS(2)
static slot_call *const pass[WATCHERS] = { pass_0, pass_1, pass_2 };

/* With the interpreter's lock; NULL: it was found. */
EXPORT const char *watch_find(int n, void *function)
{
	seen[n] = failed[n] = 0;
	return slot_find(&watch[n], function, pass[n]);
}

EXPORT bool watch_set(int n, bool locked)
{
	return locked ? slot_set_locked(&watch[n]) : slot_set(&watch[n]);
}

EXPORT void watch_unset(int n)
{
	slot_unset(&watch[n]);
}

EXPORT uint64_t watch_seen(int n, bool failures)
{
	return failures ? failed[n] : seen[n];
}

/* The function's type is that of those whose calls are seen in 3.11. */
EXPORT bool watch_kin(void *function, bool set)
{
	if (set)
		return kin_find() && kin_set(function);
	kin_unset(function);
	return true;
}

static _Atomic bool flip_stop;

static void *flip_often(void *unused)
{
	while (!atomic_load(&flip_stop))
		for (int n = 0; n < WATCHERS; n++) {
			slot_set(&watch[n]);
			slot_unset(&watch[(n + 1) % WATCHERS]);
		}
	return unused;
}

/* A thread that Python does not know sets and unsets all, while `back` runs. */
EXPORT bool watch_flip(callback *back)
{
	pthread_t thread;

	atomic_store(&flip_stop, false);
	if (pthread_create(&thread, NULL, flip_often, NULL))
		return false;
	back();
	atomic_store(&flip_stop, true);
	pthread_join(thread, NULL);
	for (int n = 0; n < WATCHERS; n++)
		slot_unset(&watch[n]);
	return true;
}

/* ---- modules ---- */

/* With the interpreter's lock, as when a module of C's is imported. */
EXPORT void modules_begin_look(void)
{
	modules_want(false);
	modules_look();
}

static struct cycle_info *info_of(uint64_t at)
{
	return (struct cycle_info *)(chunk_at(at) + 1);
}

/* `meanwhile`, unless it is NULL, runs before the window is seen. One that is open ends
 * where the next one begins. */
EXPORT void modules_window(bool open, callback *meanwhile)
{
	static uint64_t at, window = 1;

	at = gate->cycle_at ? gate->cycle_at : at;
	if (gate_cycle())
		entered_ending();
	if (open) {
		modules_opened();
		if (meanwhile)
			meanwhile();
		info_of(at)->begin = clock_ticks();
		info_of(at)->number = ++window;
		gate_set(window, at);
		modules_opened_now();
	} else {
		gate_set(0, 0);
	}
	modules_ended();
}

/* As an operator does. */
EXPORT void modules_event(void)
{
	entered_event();
}

/* Is the thread done with what it was in when the window began? */
EXPORT bool modules_settled(void)
{
	return entered_settled == gate_cycle();
}

EXPORT uint64_t modules_left_out(void)
{
	return atomic_exchange(&emit_info()->python[PYTHON_LEFT_OUT], 0);
}

/* Bytes of the table of paths that are in memory. */
EXPORT uint64_t modules_resident(void)
{
	static unsigned char page[1 << 16];
	size_t size = paths.slots * sizeof(*paths.module), n = 0;

	if (size > sizeof(page) << 12 || mincore(paths.module, size, page))
		return UINT64_MAX;
	for (size_t i = 0; i < (size + 4095) >> 12; i++)
		n += page[i] & 1;
	return n << 12;
}

/* The ns of rare work since the last call. */
EXPORT uint64_t modules_rare(void)
{
	return rare_take();
}

static int print_name(char *to, uint32_t id)
{
	struct spool_view v;
	const struct name *n;

	if (!id || spool_view_init(&v, spool.base, spool.head->cap))
		return sprintf(to, "-");
	n = names_get(&v, id);
	return sprintf(to, "%.*s", n->len, n->text);
}

static size_t print_module(char *to, const struct rec_module *m)
{
	int at = print_name(to, m->r.name);

	to[at++] = ' ';
	at += print_name(to + at, m->path);
	at += sprintf(to + at, " %lu %d %d %d\n", (unsigned long)m->self,
		      m->r.end >= m->r.begin, m->r.flags,
		      m->r.begin == emit_info()->begin);
	return (size_t)at;
}

/* The records of the open window, a line each: class, path, address, whether it has
 * ended, its flags, and whether it began with the window; a thread's in their order. -1:
 * no room. */
EXPORT int modules_text(char *to, size_t size)
{
	struct spool_view v;
	const struct chunk *c;
	size_t at = 0;

	if (spool_view_init(&v, spool.base, spool.head->cap))
		return -1;
	for (uint64_t next = 0; (c = spool_view_next(&v, &next));) {
		const uint8_t *p = (const uint8_t *)(c + 1), *end;

		if (c->kind != CHUNK_DATA || c->cycle != gate_cycle())
			continue;
		for (end = (const uint8_t *)c + c->used; p < end;) {
			const struct rec_module *m = (const struct rec_module *)p;

			p += 8 * m->r.units;
			if (m->r.kind != REC_MODULE)
				continue;
			if (size - at < 2048)
				return -1;
			at += print_module(to + at, m);
		}
	}
	return (int)at;
}
