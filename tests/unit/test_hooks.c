/* SPDX-License-Identifier: Apache-2.0 */
/* What the listener is told of forks and look-ups, and whether the loader is at work. */
#include "agent/hooks/adds.h"
#include "agent/hooks/enter.h"
#include "agent/hooks/loader.c"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- look-ups: what CUDA's part says is said here ---- */

static struct hook_answer cuda_says;

struct hook_answer cuda_dlsym(void *handle, const char *name, const void *caller)
{
	(void)handle, (void)name, (void)caller;
	errno = 5;
	return cuda_says;
}

static char symbol_told[64];

static void symbol(const char *name)
{
	strcpy(symbol_told, name);
	errno = 6;
}

START_TEST(a_look_up_is_told_and_errno_stays)
{
	struct hook_answer answer;

	hook_start(&(struct hook_listener){ .symbol = symbol });
	errno = 77;
	answer = hook_answer_dlsym(RTLD_DEFAULT, "abc", NULL);
	ck_assert_int_eq(errno, 77);
	ck_assert(!answer.given);
	ck_assert_str_eq(symbol_told, "abc");
	cuda_says = (struct hook_answer){ symbol_told, true };
	answer = hook_answer_dlsym(RTLD_DEFAULT, "def", NULL);
	ck_assert(answer.given);
	ck_assert_ptr_eq(answer.value, symbol_told);
	hook_look_dlsym(RTLD_DEFAULT, "ghi");
	ck_assert_int_eq(errno, 77);
	ck_assert(!hook_answer_dlsym(RTLD_DEFAULT, NULL, NULL).given);
	ck_assert_str_eq(symbol_told, "ghi");
}
END_TEST

/* ---- fork ---- */

static char forks[16];

static void prepare(void)
{
	strcat(forks, "b");
}

static void parent(void)
{
	strcat(forks, "p");
}

static void child(void)
{
	strcat(forks, "c");
}

START_TEST(a_fork_is_told_once_to_each_side)
{
	struct hook_listener to = { .fork_prepare = prepare,
				    .fork_parent = parent,
				    .fork_child = child };
	int status;
	pid_t pid;

	hook_start(&to);
	hook_start(&to);
	pid = fork();
	if (!pid)
		_exit(strcmp(forks, "bc") ? 9 : 7);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
	ck_assert_str_eq(forks, "bp");
}
END_TEST

void hook_test__exit(int status) __attribute__((noreturn));
void hook_test__Exit(int status) __attribute__((noreturn));

static void leave_otherwise(void)
{
	_exit(7);
}

START_TEST(an_exit_is_told_before_it)
{
	struct hook_listener to = { .leave = _i & 1 ? leave_otherwise : NULL };
	int status;
	pid_t pid = fork();

	if (!pid) {
		hook_start(&to);
		if (_i & 2)
			hook_test__exit(3);
		hook_test__Exit(3);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(WEXITSTATUS(status), _i & 1 ? 7 : 3);
}
END_TEST

/* ---- the loader ---- */

static int busy; /* told from within a constructor, deep below it */

static __attribute__((noipa)) void look_from(int pages)
{
	volatile char room[4096] __attribute__((unused));

	room[0] = 1;
	if (pages)
		look_from(pages - 1);
	else
		busy += loader_busy();
	room[1] = 1;
}

static void from_constructor(void)
{
	look_from(64); /* 256 KiB */
}

static void *open_it(void *path)
{
	return dlopen(path, RTLD_NOW);
}

START_TEST(a_constructor_finds_the_loader_busy)
{
	char dir[] = "/tmp/hooks-XXXXXX", command[512], path[64], number[32];
	unsigned long long before = adds_count();
	void *handle = NULL;
	pthread_t t;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/lib.so", dir);
	snprintf(
		command, sizeof(command),
		"echo '#include <stdlib.h>\nstatic __attribute__((constructor)) void up(void)"
		"{ ((void (*)(void))strtoul(getenv(\"CALL_BACK\"), 0, 16))(); }' | "
		"cc -x c - -shared -fPIC -o %s",
		path);
	ck_assert_int_eq(system(command), 0);
	snprintf(number, sizeof(number), "%lx", (unsigned long)from_constructor);
	setenv("CALL_BACK", number, 1);
	if (_i) {
		pthread_create(&t, NULL, open_it, path);
		pthread_join(t, &handle);
	} else {
		handle = open_it(path);
	}
	ck_assert_msg(handle != NULL, "%s", dlerror());
	ck_assert_int_eq(busy, 1);
	ck_assert(adds_count() > before);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

static void *look_deep(void *arg)
{
	look_from(64);
	return arg;
}

static void *look_in_a_child(void *arg)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		look_from(64);
		_exit(busy);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	busy = WEXITSTATUS(status);
	return arg;
}

START_TEST(a_child_that_a_thread_has_forked_is_on_that_threads_stack)
{
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, look_in_a_child, NULL), 0);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_int_eq(busy, 0);
}
END_TEST

/* Its stack ends at its control block: what lies behind may not be mapped. */
START_TEST(a_threads_stack_is_searched_to_its_end)
{
	pthread_t t;

	ck_assert_int_eq(pthread_create(&t, NULL, look_deep, NULL), 0);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_int_eq(busy, 0);
}
END_TEST

/* ---- a stack that is no thread's ---- */

static ucontext_t back;

static void look_and_return(void)
{
	busy += loader_busy();
	setcontext(&back);
}

static void look_from_coroutine(void)
{
	char *stack = mmap(NULL, 3 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ucontext_t there;

	ck_assert_int_eq(mprotect(stack + (1 << 16), 1 << 16, PROT_READ | PROT_WRITE), 0);
	getcontext(&there);
	there.uc_stack.ss_sp = stack + (1 << 16);
	there.uc_stack.ss_size = 1 << 16;
	there.uc_link = NULL;
	makecontext(&there, look_and_return, 0);
	swapcontext(&back, &there);
}

static void *run_coroutine(void *arg)
{
	look_from_coroutine();
	return arg;
}

/* What lies above it is not read: it may be no memory at all. */
START_TEST(on_another_stack_the_loader_may_be_busy)
{
	pthread_t t;

	if (!_i) {
		look_from_coroutine();
	} else {
		ck_assert_int_eq(pthread_create(&t, NULL, run_coroutine, NULL), 0);
		ck_assert_int_eq(pthread_join(t, NULL), 0);
	}
	ck_assert_int_eq(busy, 1);
}
END_TEST

static struct range linker;

/* A local that a sanitizer leaves on the stack. */
static __attribute__((no_sanitize_address)) void *look_below(void *before)
{
	volatile uintptr_t word = linker.end - (uintptr_t)before;

	look_from(0);
	return (void *)word;
}

START_TEST(what_lies_behind_the_loader_is_not_the_loader)
{
	pthread_t t;

	linker = loader_text();
	ck_assert_uint_ne(linker.end, 0);
	ck_assert_int_eq(pthread_create(&t, NULL, look_below, (void *)(uintptr_t)_i), 0);
	ck_assert_int_eq(pthread_join(t, NULL), 0);
	ck_assert_int_eq(busy, _i);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("hooks");

	tcase_add_test(tc, a_look_up_is_told_and_errno_stays);
	tcase_add_test(tc, a_fork_is_told_once_to_each_side);
	tcase_add_loop_test(tc, a_constructor_finds_the_loader_busy, 0, 2);
	tcase_add_test(tc, a_child_that_a_thread_has_forked_is_on_that_threads_stack);
	tcase_add_test(tc, a_threads_stack_is_searched_to_its_end);
	tcase_add_loop_test(tc, on_another_stack_the_loader_may_be_busy, 0, 2);
	tcase_add_loop_test(tc, what_lies_behind_the_loader_is_not_the_loader, 0, 2);
	tcase_add_loop_test(tc, an_exit_is_told_before_it, 0, 4);
	return unit_run(tc, "hooks");
}
