/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer.so - preloaded into any program: walks its stacks by our unwinder and by
 *libunwind.
 *
 * Each thread is interrupted at random moments, and then at each of the next
 *instructions, so that the beginnings and ends of functions come up; a program may also
 *say peer_here("name"). At exit, to the file $PEER_OUT.<pid>:
 *
 *	walks N frames N loader N steps N     loader: left out, the dynamic linker was
 *there kind NAME COUNT REASON place NAME KIND FRAMES                of each peer_here
 *	example KIND COUNT                    and then the walks, of differences
 *
 *   PEER_LATER=1   not before peer_arm() is called     PEER_WALKS=N   no more than so
 *many PEER_STACK=1   the handlers have a stack of their own
 */
#include "tests/programs/unwind_peer.h"

#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum {
	STEPS = 40, /* instructions in a row */
	GAP = 200000, /* ns from one row to the next, at least; at most three times that
		       */
	PLACES = 64,
	EXAMPLES = 40,
	STACK = 64 << 10
};

static struct {
	_Atomic unsigned long walks, frames, loader, steps, kinds[PEER_KIND_COUNT];
} sum;
static struct example {
	_Atomic unsigned long count;
	struct peer_look look;
} * examples;
static _Atomic unsigned example_count, place_count;
static struct place {
	char name[32];
	enum peer_kind kind;
	unsigned frames;
} places[PLACES];

static int signal_number;
static bool running, own_stack;
static unsigned long most = 10000;
static pid_t owner;
static uintptr_t loader, loader_size;

static __thread struct {
	timer_t timer;
	bool armed;
	unsigned steps; /* to come */
	uint32_t random;
} mine __attribute__((tls_model("initial-exec")));

/* ---- counting ---- */

/* One of a kind that was already seen at the same last frame is only counted. */
static void add_example(const struct peer_look *l)
{
	unsigned n = atomic_load(&example_count);
	uintptr_t last = l->same ? l->ours.pc[l->same - 1] : 0;

	for (unsigned i = 0; i < n && i < EXAMPLES; i++) {
		const struct peer_look *e = &examples[i].look;

		if (e->kind == l->kind &&
		    (e->same ? e->ours.pc[e->same - 1] : 0) == last) {
			examples[i].count++;
			return;
		}
	}
	if (n < EXAMPLES && atomic_compare_exchange_strong(&example_count, &n, n + 1)) {
		memcpy(&examples[n].look, l, sizeof(*l));
		examples[n].count = 1;
	}
}

static void add(const struct peer_look *l)
{
	sum.walks++;
	sum.frames += l->ours.depth;
	sum.kinds[l->kind]++;
	if (l->kind != PEER_SAME && l->kind != PEER_ENDED)
		add_example(l);
}

/* libunwind takes the dynamic linker's lock, and its own inside of it. */
static bool is_outside_of_loader(const struct peer_list *l)
{
	for (unsigned i = 0; i < l->depth; i++)
		if (l->pc[i] - loader < loader_size)
			return false;
	return true;
}

static __attribute__((noinline)) void look(void)
{
	struct peer_look *l = peer_look(is_outside_of_loader);

	if (l)
		add(l);
	else
		sum.loader++;
}

EXPORT void peer_here(const char *name);
EXPORT __attribute__((noinline)) void peer_here(const char *name)
{
	sigset_t all, before;
	const struct peer_look *l;
	unsigned n;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	l = peer_look(NULL);
	if (l) {
		add(l);
		n = atomic_fetch_add(&place_count, 1);
		if (n < PLACES) {
			places[n].kind = l->kind;
			places[n].frames = l->ours.depth;
			strncpy(places[n].name, name, sizeof(places[n].name) - 1);
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- interrupting ---- */

static void set_timer(void)
{
	struct itimerspec in = { 0 };

	if (sum.walks >= most)
		return;
	mine.random = mine.random * 1103515245 + 12345;
	in.it_value.tv_nsec = GAP + (mine.random >> 8) % (2 * GAP);
	timer_settime(mine.timer, 0, &in, NULL);
}

static void on_step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	int saved = errno;

	(void)sig, (void)info;
	if (mine.steps) {
		sum.steps++;
		look();
		mine.steps = peer_before_system_call(u) ? 0 : mine.steps - 1;
		if (!mine.steps)
			set_timer();
	}
	if (!mine.steps)
		peer_step(u, false);
	errno = saved;
}

static void on_timer(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	struct sigaction now;
	int saved = errno;

	(void)sig, (void)info;
	look();
	/* The program may have taken SIGTRAP. */
	if (!peer_before_system_call(u) && !sigaction(SIGTRAP, NULL, &now) &&
	    now.sa_sigaction == on_step) {
		mine.steps = STEPS;
		peer_step(u, true);
	} else {
		set_timer();
	}
	errno = saved;
}

static void arm_thread(void)
{
	struct sigevent e = { .sigev_notify = SIGEV_THREAD_ID,
			      .sigev_signo = signal_number };
	stack_t ss = { .ss_size = STACK };

	if (own_stack) {
		ss.ss_sp = sys_map(STACK);
		sigaltstack(&ss, NULL);
	}
	e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	mine.random = (uint32_t)e._sigev_un._tid;
	mine.armed = !timer_create(CLOCK_MONOTONIC, &e, &mine.timer);
	if (mine.armed)
		set_timer();
}

EXPORT void peer_arm(void);
EXPORT void peer_arm(void)
{
	running = true;
	arm_thread();
}

struct beginning {
	void *(*routine)(void *);
	void *arg;
};

static void *begin_thread(void *arg)
{
	struct beginning b = *(struct beginning *)arg;
	void *result;

	free(arg);
	if (running)
		arm_thread();
	result = b.routine(b.arg);
	if (mine.armed)
		timer_delete(mine.timer);
	return result;
}

EXPORT int pthread_create(pthread_t *t, const pthread_attr_t *attr,
			  void *(*routine)(void *), void *arg)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct beginning *b = malloc(sizeof(*b));

	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (!b)
		return EAGAIN;
	*b = (struct beginning){ routine, arg };
	return real(t, attr, begin_thread, b);
}

/* ---- beginning and end ---- */

static int find_loader(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Phdr) *p = info->dlpi_phdr;

	(void)size, (void)arg;
	if (!strstr(info->dlpi_name, "/ld-linux"))
		return 0;
	loader = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++, p++)
		if (p->p_type == PT_LOAD)
			loader_size = p->p_vaddr + p->p_memsz;
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	struct sigaction sa = { .sa_sigaction = on_timer,
				.sa_flags = SA_SIGINFO | SA_RESTART };
	const char *missing = peer_start();

	if (missing) {
		dprintf(2, "peer: no %s\n", missing);
		_exit(99);
	}
	owner = getpid();
	own_stack = getenv("PEER_STACK");
	if (getenv("PEER_WALKS"))
		most = strtoul(getenv("PEER_WALKS"), NULL, 10);
	if (own_stack)
		sa.sa_flags |= SA_ONSTACK;
	examples = sys_map(EXAMPLES * sizeof(*examples));
	dl_iterate_phdr(find_loader, NULL);
	signal_number = SIGRTMIN + 9;
	sigfillset(&sa.sa_mask);
	sigaction(signal_number, &sa, NULL);
	sa.sa_sigaction = on_step;
	sigaction(SIGTRAP, &sa, NULL);
	peer_look(NULL); /* what they do once is done now, not in a handler */
	if (!getenv("PEER_LATER"))
		peer_arm();
}

static void print_list(FILE *f, const char *whose, const struct peer_list *l)
{
	fprintf(f, "  %s, %u:", whose, l->depth);
	for (unsigned i = 0; i < l->depth; i++) {
		Dl_info d = { 0 };
		const char *name;

		dladdr((void *)(l->pc[i] - 1), &d);
		name = d.dli_fname ? strrchr(d.dli_fname, '/') : NULL;
		fprintf(f, " %s+%#lx(%s)", name ? name + 1 : "?",
			l->pc[i] - (uintptr_t)d.dli_fbase,
			d.dli_sname ? d.dli_sname : "");
	}
	fputc('\n', f);
}

static void print_all(FILE *f)
{
	fprintf(f, "walks %lu frames %lu loader %lu steps %lu\n", sum.walks, sum.frames,
		sum.loader, sum.steps);
	for (unsigned i = 0; i < PEER_KIND_COUNT; i++)
		if (sum.kinds[i])
			fprintf(f, "kind %s %lu %s\n", peer_kinds[i].name, sum.kinds[i],
				peer_kinds[i].reason);
	for (unsigned i = 0; i < place_count && i < PLACES; i++)
		fprintf(f, "place %s %s %u\n", places[i].name,
			peer_kinds[places[i].kind].name, places[i].frames);
	for (unsigned i = 0; i < example_count && i < EXAMPLES; i++) {
		const struct peer_look *l = &examples[i].look;

		fprintf(f, "example %s %lu\n", peer_kinds[l->kind].name,
			examples[i].count);
		print_list(f, "ours", &l->ours);
		print_list(f, "libunwind", &l->theirs);
		print_list(f, "libgcc", &l->witness);
	}
}

__attribute__((destructor)) static void end(void)
{
	const char *out = getenv("PEER_OUT");
	char path[1000];
	FILE *f;

	signal(signal_number, SIG_IGN);
	if (owner != getpid() || !out)
		return;
	snprintf(path, sizeof(path), "%s.%d", out, (int)owner);
	f = fopen(path, "w");
	if (!f)
		return;
	print_all(f);
	fclose(f);
}
