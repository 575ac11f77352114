/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates where a profiler's hooks have it hard: heap_life scene [rounds]. Blocks that
 * the test looks for have MARK bytes; how many there were is printed, by allocations and
 * frees, and what else is printed or returned is the same without a profiler. At its end
 * the program kills itself where HEAP_DIE is set, so that its records stay. HEAP_LIB: a
 * library with life_make (malloc) and life_end (free).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK    7777
#define THREADS 3

static _Atomic long made, freed;
static _Atomic int stop;
static long rounds = 100;
static void *volatile early;

static void *get(void)
{
	void *volatile p = malloc(MARK);

	if (!p)
		abort();
	memset(p, 0x5a, MARK);
	made++;
	return p;
}

static void put(void *p)
{
	if (*(volatile char *)p != 0x5a)
		abort();
	freed++;
	free(p);
}

static void pair(void)
{
	put(get());
}

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		abort();
}

static void *busy(void *arg)
{
	while (!stop)
		pair();
	return arg;
}

static void with_load(void (*scene)(void))
{
	pthread_t id[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&id[i], NULL, busy, NULL);
	scene();
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(id[i], NULL);
}

/* ---- scenes ---- */

static void __attribute__((constructor)) before_main(void)
{
	early = malloc(100);
}

static void constructor(void)
{
	early = realloc(early, 100000);
	free(early);
	pair();
}

static pthread_key_t key;

/* Called in all rounds of destructors, so after the agent's own as well. */
static void last_words(void *arg)
{
	static __thread int left = 4;

	pair();
	if (--left)
		pthread_setspecific(key, arg);
}

static void *with_last_words(void *arg)
{
	pair();
	pthread_setspecific(key, arg);
	return NULL;
}

static void in_threads(long count, void *(*run)(void *))
{
	pthread_t id[64];

	for (long at = 0; at < count; at += 64) {
		long n = count - at < 64 ? count - at : 64;

		for (long i = 0; i < n; i++)
			if (pthread_create(&id[i], NULL, run, &key))
				abort();
		for (long i = 0; i < n; i++)
			pthread_join(id[i], NULL);
	}
}

static void destructors(void)
{
	pthread_key_create(&key, last_words);
	in_threads(rounds, with_last_words);
}

static pthread_barrier_t all_there;

static void *one_of_many(void *arg)
{
	void *mine = get();

	pthread_barrier_wait(&all_there);
	for (int i = 0; i < 10; i++)
		pair();
	put(mine);
	return arg;
}

/* All alive at once. */
static void many(void)
{
	pthread_t *id = calloc(1000, sizeof(*id));
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	pthread_barrier_init(&all_there, NULL, 1000);
	for (int i = 0; i < 1000; i++)
		if (pthread_create(&id[i], &small, one_of_many, NULL))
			abort();
	for (int i = 0; i < 1000; i++)
		pthread_join(id[i], NULL);
	free(id);
}

static void on_signal(int number)
{
	(void)number;
	pair();
}

static void signals(void)
{
	static char other[65536];
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction act = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &act, NULL);
	sigaltstack(&stack, NULL);
	act.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &act, NULL);
	for (long i = 0; i < rounds; i++) {
		raise(SIGUSR1);
		raise(SIGUSR2);
		pair();
	}
}

static void *kept[20000];
static _Atomic long next_kept;

static void free_one(int number)
{
	(void)number;
	if (next_kept > 0)
		put(kept[--next_kept]);
}

/* A handler that frees, in the middle of whatever is going on; the allocator must not
 * mind (tests/programs/heap_bump.c). */
static void timer(void)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction act = { .sa_handler = free_one, .sa_flags = SA_RESTART };
	long many = rounds < 20000 ? rounds : 20000;

	for (long i = 0; i < many; i++)
		kept[i] = get();
	sigaction(SIGALRM, &act, NULL);
	next_kept = many;
	setitimer(ITIMER_REAL, &often, NULL);
	while (next_kept > 0) {
		void *volatile p = malloc(10);

		free(p);
	}
	setitimer(ITIMER_REAL, &never, NULL);
}

static void forks(void)
{
	for (long i = 0; i < rounds; i++) {
		pid_t pid = fork();

		if (!pid) {
			pair();
			_exit(0);
		}
		wait_for(pid);
		pair();
	}
}

static void loaded_forks(void)
{
	with_load(forks);
}

static void clones(void)
{
	for (long i = 0; i < rounds; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

		if (!pid)
			syscall(SYS_exit_group, 0);
		wait_for(pid);
		pair();
	}
}

static void loaded_clones(void)
{
	with_load(clones);
}

static void atfork(void)
{
	pthread_atfork(pair, pair, pair);
	forks();
}

static void libraries(void)
{
	for (long i = 0; i < rounds; i++) {
		void *lib = dlopen(getenv("HEAP_LIB"), RTLD_NOW), *other;
		void *(*make)(size_t) =
			lib ? (void *(*)(size_t))dlsym(lib, "life_make") : NULL;
		void (*end)(void *) =
			lib ? (void (*)(void *))dlsym(lib, "life_end") : NULL;

		other = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
		if (make && end)
			end(make(10));
		if (lib)
			dlclose(lib);
		if (other)
			dlclose(other);
		pair();
	}
}

static void loaded_libraries(void)
{
	with_load(libraries);
}

/* Its malloc and free are the C library's own: blocks go both ways. */
static void deepbind(void)
{
	void *lib = dlopen(getenv("HEAP_LIB"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	void *(*make)(size_t) = lib ? (void *(*)(size_t))dlsym(lib, "life_make") : NULL;
	void (*end)(void *) = lib ? (void (*)(void *))dlsym(lib, "life_end") : NULL;

	if (!make || !end)
		abort();
	end(early);
	for (long i = 0; i < rounds; i++) {
		free(make(MARK + 1));
		end(malloc(MARK + 1));
		end(make(MARK + 1));
		pair();
	}
}

/* Steps of its own, without torch: window after window. */
static void steps(void)
{
	void (*step)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "proflaunch_step");

	for (long i = 0; i < rounds; i++) {
		pair();
		if (step)
			step();
	}
}

static void slow(void)
{
	for (long i = 0; i < rounds; i++) {
		pair();
		usleep(1000);
	}
}

static void load(void)
{
	for (long i = 0; i < rounds; i++)
		pair();
}

static void *just_load(void *arg)
{
	load();
	return arg;
}

static void loads(void)
{
	in_threads(2, just_load);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scenes[] = {
		{ "constructor", constructor },
		{ "destructors", destructors },
		{ "many", many },
		{ "signals", signals },
		{ "timer", timer },
		{ "forks", forks },
		{ "loaded_forks", loaded_forks },
		{ "loaded_clones", loaded_clones },
		{ "atfork", atfork },
		{ "libraries", loaded_libraries },
		{ "deepbind", deepbind },
		{ "load", loads },
		{ "steps", steps },
		{ "slow", slow },
	};

	if (argc > 2)
		rounds = atol(argv[2]);
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++)
		if (argc > 1 && !strcmp(argv[1], scenes[i].name))
			scenes[i].run();
	printf("%ld %ld\n", (long)made, (long)freed);
	fflush(stdout);
	if (getenv("HEAP_DIE"))
		kill(getpid(), SIGKILL);
	return 0;
}
