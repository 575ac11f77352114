/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer - one stack, walked by our unwinder and by libunwind. Where they differ libgcc's
 * unwinder is the witness, and each difference is of a kind that has a reason.
 *
 * Threads  any, also in signal handlers; not where the dynamic linker was interrupted,
 * for libunwind takes its lock. Memory   some pages of each thread, for its life. Errors
 * peer_start says what is missing. Units    return addresses, innermost first; what a
 * signal interrupted is one more.
 */
#ifndef TESTS_UNWIND_PEER_H
#define TESTS_UNWIND_PEER_H

#define UNW_LOCAL_ONLY
#include "agent/unwind/rewalk.h"
#include "base/sys.h"

#include <dlfcn.h>
#include <errno.h>
#include <libunwind.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define PEER_MOST 400 /* frames of a walk */
#define PEER_OURS 8 /* and of the test itself, at most */

/* Kinds of outcomes. What is not SAME has its reason here; the last two have none. */
#define PEER_KINDS(KIND)                                                                 \
	KIND(SAME, "every frame is the same")                                            \
	KIND(ENDED, "code without unwind tables: all three end there, and ours says so") \
	KIND(GUESSED, "code without unwind tables: libunwind takes rbp for a frame "     \
		      "pointer and goes on; libgcc ends where ours does")                \
	KIND(REGISTER,                                                                   \
	     "what leads to the caller is in a register other than rsp and "             \
	     "rbp: vfork, lazy binding, a stack that is being realigned. Ours "          \
	     "follows these two alone, ends and says so")                                \
	KIND(NOWHERE, "the function's own tables are wrong (glibc's multiplication of "  \
		      "long numbers): all come to what is no code, ours says so; "       \
		      "libunwind guesses from there, libgcc would be killed")            \
	KIND(FOREIGN, "the end of a coroutine's stack is not known: ours ends with the " \
		      "page, and says so")                                               \
	KIND(DIFFERENT, "a failure: nobody knows why")                                   \
	KIND(TWO_WAYS, "a failure: ours differs from ours, with the table of rules, "    \
		       "without it, or from the last walk")

#define PEER_ENUM(name, reason) PEER_##name,
enum peer_kind { PEER_KINDS(PEER_ENUM) PEER_KIND_COUNT };
#undef PEER_ENUM

#define PEER_ROW(name, reason) { #name, reason },
static const struct {
	const char *name, *reason;
} peer_kinds[] = { PEER_KINDS(PEER_ROW) };
#undef PEER_ROW

struct peer_list {
	uintptr_t pc[PEER_MOST + PEER_OURS];
	unsigned depth;
};
struct peer_look {
	struct peer_list ours, theirs, witness;
	unsigned flags; /* of ours: enum stack_flag */
	bool two_ways; /* ours differs from ours */
	enum peer_kind kind;
	unsigned same; /* frames that all three have in common */
};

/* libunwind's and libgcc's functions, out of the way of the program's: the first has the
 * names of the second, and a program's exceptions are not to become libunwind's. */
static struct {
	int (*getcontext)(unw_context_t *);
	int (*init)(unw_cursor_t *, unw_context_t *);
	int (*step)(unw_cursor_t *);
	int (*reg)(unw_cursor_t *, int, unw_word_t *);
	int (*backtrace)(void **, int);
	_Unwind_Reason_Code (*witness)(_Unwind_Trace_Fn, void *);
	_Unwind_Ptr (*ip)(struct _Unwind_Context *, int *);
	uintptr_t trampoline; /* where a signal's handler returns to */
} peer;

/* ---- beginning ---- */

#define PEER_TEXT(name) #name
#define PEER_NAME(name) PEER_TEXT(name)
static inline void *peer_find(void *in, const char *name, const char **missing)
{
	void *at = in ? dlsym(in, name) : NULL;

	if (!at)
		*missing = name;
	return at;
}

static inline uintptr_t peer_find_trampoline(void)
{
	struct { /* the kernel's */
		void *handler;
		unsigned long flags;
		uintptr_t trampoline;
		unsigned long mask;
	} said = { 0 };
	struct sigaction before, ignored = { .sa_handler = SIG_IGN };

	sigaction(SIGRTMAX, &ignored, &before);
	syscall(SYS_rt_sigaction, SIGRTMAX, NULL, &said, sizeof(said.mask));
	sigaction(SIGRTMAX, &before, NULL);
	return said.trampoline;
}

/* NULL, or what this machine lacks. */
static inline const char *peer_start(void)
{
	void *u = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	void *g = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
	const char *missing = NULL;

	*(void **)&peer.getcontext =
		peer_find(u, PEER_NAME(UNW_ARCH_OBJ(getcontext)), &missing);
	*(void **)&peer.init = peer_find(u, PEER_NAME(unw_init_local), &missing);
	*(void **)&peer.step = peer_find(u, PEER_NAME(unw_step), &missing);
	*(void **)&peer.reg = peer_find(u, PEER_NAME(unw_get_reg), &missing);
	*(void **)&peer.backtrace = peer_find(u, "unw_backtrace", &missing);
	*(void **)&peer.witness = peer_find(g, "_Unwind_Backtrace", &missing);
	*(void **)&peer.ip = peer_find(g, "_Unwind_GetIPInfo", &missing);
	peer.trampoline = peer_find_trampoline();
	if (!missing && !unwind_rules_start(false))
		missing = "memory";
	unwind_bounds_start();
	unwind_find_start();
	unwind_walk_start();
	return missing;
}

/* ---- the walks of the others ---- */

static inline void peer_put(struct peer_list *l, uintptr_t pc, bool exact)
{
	if (l->depth < PEER_MOST + PEER_OURS && !unwind_is_own(pc))
		l->pc[l->depth++] = pc + exact;
}

static __attribute__((noinline)) void peer_theirs(struct peer_list *l)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;
	bool exact = false; /* no return address, but where a signal came */

	l->depth = 0;
	peer.getcontext(&context);
	peer.init(&cursor, &context);
	do {
		if (peer.reg(&cursor, UNW_REG_IP, &pc) || !pc)
			break;
		peer_put(l, pc, exact);
		exact = pc == peer.trampoline;
	} while (l->depth < PEER_MOST + PEER_OURS && peer.step(&cursor) > 0);
}

static inline _Unwind_Reason_Code peer_frame(struct _Unwind_Context *context, void *arg)
{
	int before = 0;
	uintptr_t pc = (uintptr_t)peer.ip(context, &before);

	if (pc)
		peer_put(arg, pc, before);
	return _URC_NO_REASON;
}

/* What was walked of the test itself goes: `from` is the first frame of ours. */
static inline void peer_trim(struct peer_list *l, uintptr_t from)
{
	unsigned i = 0;

	while (i < l->depth && i < PEER_OURS && l->pc[i] != from)
		i++;
	if (i == l->depth || l->pc[i] != from)
		return;
	l->depth -= i;
	memmove(l->pc, l->pc + i, l->depth * sizeof(l->pc[0]));
}

/* ---- ours ---- */

struct peer_room { /* of a thread */
	struct unwind_near near;
	struct unwind_frame frame[PEER_MOST + PEER_OURS];
	uintptr_t bp[PEER_MOST + PEER_OURS], pc[PEER_MOST + PEER_OURS];
	struct peer_look look;
};
static __thread struct peer_room *peer_room __attribute__((tls_model("initial-exec")));

static inline bool peer_differs(const struct peer_look *l, struct unwind_result u,
				const uintptr_t *pc)
{
	return u.depth != l->ours.depth || u.flags != l->flags ||
	       memcmp(pc, l->ours.pc, u.depth * sizeof(*pc));
}

/* By the table of rules, without it, and from the last walk; what was learned of this one
 * is taken up by the second of these. */
static inline void peer_ours(struct peer_room *room, struct unwind_regs regs)
{
	struct peer_look *l = &room->look;
	struct unwind_result u = unwind_frames(regs, l->ours.pc, PEER_MOST);

	l->ours.depth = u.depth;
	l->flags = u.flags;
	u = unwind_frames_fresh(regs, room->pc, PEER_MOST);
	l->two_ways = peer_differs(l, u, room->pc);
	for (int i = 0; i < 2 && !(l->flags & STACK_CUT); i++) {
		if (!unwind_near(regs, &room->near, &u))
			break;
		unwind_near_pcs(&room->near, room->pc);
		l->two_ways |= peer_differs(l, u, room->pc);
	}
}

/* ---- who is right ---- */

/* libgcc's looks at the code that it comes to, whether there is any. */
static inline bool peer_is_mapped(uintptr_t at)
{
	unsigned char there;

	return unwind_find(at) ||
	       !syscall(SYS_mincore, at & ~(uintptr_t)4095, 4096, &there);
}

static inline unsigned peer_common(const struct peer_list *a, const struct peer_list *b)
{
	unsigned i = 0;

	while (i < a->depth && i < b->depth && a->pc[i] == b->pc[i])
		i++;
	return i;
}

static inline enum peer_kind peer_judge(struct peer_look *l)
{
	unsigned n = l->ours.depth, theirs = peer_common(&l->ours, &l->theirs),
		 witness = peer_common(&l->ours, &l->witness);
	bool goes_on = l->theirs.depth > n, witness_goes_on = l->witness.depth > n;
	struct unwind_module *m = NULL;

	l->same = theirs < witness || !l->witness.depth ? theirs : witness;
	if (l->two_ways)
		return PEER_TWO_WAYS;
	if (!n || l->same < n)
		return PEER_DIFFERENT;
	if (!l->flags || l->flags == STACK_CUT)
		return (goes_on || witness_goes_on) == !!l->flags ? PEER_SAME
								  : PEER_DIFFERENT;
	if (l->flags == STACK_FOREIGN)
		return PEER_FOREIGN;
	if (unwind_rule_fresh(l->ours.pc[n - 1] - 1, &m) != RULE_NONE)
		return PEER_DIFFERENT;
	if (!l->witness.depth)
		return PEER_NOWHERE;
	if (!witness_goes_on)
		return goes_on ? PEER_GUESSED : PEER_ENDED;
	return goes_on && m && m->tables.count ? PEER_REGISTER : PEER_DIFFERENT;
}

/* ---- instruction by instruction ---- */

#define PEER_TRAP 0x100 /* the processor's flag: SIGTRAP after each instruction */

static inline void peer_step(ucontext_t *u, bool on)
{
	if (on)
		u->uc_mcontext.gregs[REG_EFL] |= PEER_TRAP;
	else
		u->uc_mcontext.gregs[REG_EFL] &= ~PEER_TRAP;
}

/* It could block our signal, or begin another program. */
static inline bool peer_before_system_call(const ucontext_t *u)
{
	return !memcmp((const void *)u->uc_mcontext.gregs[REG_RIP], "\x0f\x05", 2);
}

/* ---- all together ---- */

/* The caller's stack by all, judged; NULL: no memory, or `may`, if it is given, says of
 * our walk that the others may not be asked. Valid until the thread's next one. */
static __attribute__((noinline, unused)) struct peer_look *peer_look(
	bool (*may)(const struct peer_list *))
{
	struct unwind_regs regs = UNWIND_CALLER;
	struct peer_room *room = peer_room;
	struct peer_look *l;
	int saved = errno;

	if (!room) {
		room = peer_room = sys_map(sizeof(*room));
		if (!room)
			return NULL;
		room->near.room = room->near.matter = PEER_MOST + PEER_OURS;
		room->near.frame = room->frame;
		room->near.bp = room->bp;
	}
	l = &room->look;
	peer_ours(room, regs);
	errno = saved;
	if (may && !may(&l->ours))
		return NULL;
	l->witness.depth = 0;
	peer_theirs(&l->theirs);
	if (!l->flags || peer_is_mapped(l->ours.pc[l->ours.depth - 1]))
		peer.witness(peer_frame, &l->witness);
	peer_trim(&l->theirs, l->ours.pc[0]);
	peer_trim(&l->witness, l->ours.pc[0]);
	l->kind = peer_judge(l);
	errno = saved;
	return l;
}

#endif
