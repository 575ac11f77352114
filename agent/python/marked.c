/* SPDX-License-Identifier: Apache-2.0 */
/* Each has an entry of its own, so that who is called knows without a search whose call
 * it is. */
#include "agent/python/marked.h"
#include "agent/python/check.h"
#include "agent/python/kin.h"
#include "base/log.h"
#include "base/seldom.h"

#include <errno.h>

/* So many calls of the function within each other are seen: they count nothing, and in
 * 3.11 and later each takes from the stack of C, and in 3.12 from what limits that. */
#define DEEPEST 100u

static struct {
	uint32_t (*begin)(unsigned role);
	void (*end)(uint32_t token);
	bool (*elsewhere)(void);
} to;

static SELDOM struct marked {
	struct slot slot;
	uint64_t roles;
	const char *name, *why;
	unsigned deep; /* threads that have more: then the function is left alone */
	bool on; /* it is called through us */
} marks[MARKED_MOST];
static _Atomic uint64_t called; /* roles */

static __thread struct {
	unsigned open[MARKED_MOST]; /* calls */
	uint64_t deep; /* a bit for each */
} mine __attribute__((tls_model("initial-exec")));

void marked_start(uint32_t (*begin)(unsigned role), void (*end)(uint32_t token),
		  bool (*elsewhere)(void))
{
	to.begin = begin;
	to.end = end;
	to.elsewhere = elsewhere;
}

static unsigned number_of(const struct marked *m)
{
	return (unsigned)(m - marks);
}

static bool is_deep(const struct marked *m)
{
	return mine.deep >> number_of(m) & 1;
}

/* ---- a call ---- */

static uint32_t begin_call(unsigned role)
{
	uint64_t bit = (uint64_t)1 << role;
	int saved = errno;
	uint32_t token = to.begin(role);

	if (!(atomic_load_explicit(&called, memory_order_relaxed) & bit))
		atomic_fetch_or(&called, bit);
	errno = saved;
	return token;
}

static void end_call(uint32_t token)
{
	int saved = errno;

	to.end(token);
	errno = saved;
}

void *marked_around(uint64_t roles, slot_call *next, void *function, void *const *args,
		    size_t count, void *names)
{
	unsigned first = roles ? 63 - (unsigned)__builtin_clzll(roles) : 0;
	uint64_t others = roles & ~((uint64_t)1 << first);
	uint32_t token;
	void *result;

	if (!roles)
		return next(function, args, count, names);
	token = begin_call(first);
	result = others ? marked_around(others, next, function, args, count, names)
			: next(function, args, count, names);
	if (token)
		end_call(token);
	return result;
}

/* ---- taken, and let go ---- */

static const char *put_on(struct marked *m)
{
	if (!slot_set_locked(&m->slot))
		return "another tool stands in front of it";
	if (!kin_set(m->slot.function)) {
		slot_unset(&m->slot);
		return "functions are laid out in another way than expected";
	}
	m->on = true;
	return NULL;
}

static void take_away(struct marked *m)
{
	if (!m->on)
		return;
	m->on = false;
	kin_unset(m->slot.function);
	slot_unset(&m->slot);
}

static void put_back(struct marked *m)
{
	if (!m->roles || m->on || m->why || !(m->why = put_on(m)))
		return;
	log_warn("marker python:%s: its calls are not seen any more: %s", m->name,
		 m->why);
}

/* Other threads' calls are not seen either, and only one thread's end steps. */
static void leave_for_now(struct marked *m)
{
	static uint64_t said;
	uint64_t bit = (uint64_t)1 << number_of(m);

	m->deep++;
	mine.deep |= bit;
	take_away(m);
	if (said & bit || !to.elsewhere())
		return;
	said |= bit;
	log_warn("marker python:%s: another thread than the steps' calls it more than "
		 "%u times within itself: steps that end meanwhile are not counted",
		 m->name, DEEPEST);
}

static void come_again(struct marked *m)
{
	mine.deep &= ~((uint64_t)1 << number_of(m));
	if (!--m->deep)
		put_back(m);
}

/* The child has none of its parent's other threads. */
void marked_fork_child(void)
{
	for (struct marked *m = marks; m < marks + MARKED_MOST; m++) {
		if (!m->deep)
			continue;
		m->deep = is_deep(m);
		if (!m->deep && check_holds_lock())
			put_back(m);
	}
}

static void *call_marked(unsigned n, void *function, void *const *args, size_t count,
			 void *names)
{
	struct marked *m = &marks[n];
	void *result;

	if (++mine.open[n] >= DEEPEST && !is_deep(m))
		leave_for_now(m);
	result = marked_around(m->roles, slot_next(&m->slot), function, args, count,
			       names);
	if (!--mine.open[n] && is_deep(m))
		come_again(m);
	return result;
}

/* ---- entries: two octal digits are the number ---- */

#define ENTRY(n)                                                                \
	static void *enter_##n(void *function, void *const *args, size_t count, \
			       void *names)                                     \
	{                                                                       \
		return call_marked(0##n, function, args, count, names);         \
	}
#define ENTRIES(n)  \
	ENTRY(n##0) \
	ENTRY(n##1) \
	ENTRY(n##2) \
	ENTRY(n##3) \
	ENTRY(n##4) \
	ENTRY(n##5) \
	ENTRY(n##6) \
	ENTRY(n##7)
#define NAMES(n)                                                              \
	enter_##n##0, enter_##n##1, enter_##n##2, enter_##n##3, enter_##n##4, \
		enter_##n##5, enter_##n##6, enter_##n##7

ENTRIES(0)
ENTRIES(1)
ENTRIES(2)
ENTRIES(3)
ENTRIES(4)
ENTRIES(5)

static slot_call *const entries[] = { NAMES(0), NAMES(1), NAMES(2),
				      NAMES(3), NAMES(4), NAMES(5) };
_Static_assert(sizeof(entries) / sizeof(*entries) == MARKED_MOST, "an entry for each");

/* ---- of a function ---- */

/* Of two without roles: another tool may still call one that had a function, and it is
 * left alone in the middle of deep calls. */
static bool is_freer(const struct marked *m, const struct marked *than)
{
	if (m->roles || !than)
		return !m->roles;
	return m->deep < than->deep ||
	       (m->deep == than->deep && !m->slot.function && than->slot.function);
}

/* The one that had this function before, else one without roles, else NULL. */
static struct marked *find_mark(const void *function)
{
	struct marked *found = NULL;

	for (struct marked *m = marks; m < marks + MARKED_MOST; m++) {
		if (m->slot.function == function)
			return m;
		if (is_freer(m, found))
			found = m;
	}
	return found;
}

struct marked *marked_take(void *function, const char *name, const char **why)
{
	struct marked *m = find_mark(function);

	if (!m)
		*why = "there are too many";
	else if (m->roles)
		*why = m->why;
	else if (!(*why = slot_find(&m->slot, function, entries[number_of(m)])))
		*why = m->deep ? NULL : put_on(m);
	if (*why)
		return NULL;
	if (!m->roles) {
		m->name = name;
		m->why = NULL;
	}
	return m;
}

void marked_mean(struct marked *m, uint64_t roles)
{
	m->roles = roles;
	if (!roles)
		take_away(m);
}

void *marked_function(const struct marked *m)
{
	return m->slot.function;
}

const char *marked_why(const struct marked *m)
{
	return m->why;
}

bool marked_called(unsigned role)
{
	return atomic_load(&called) >> role & 1;
}
