/* SPDX-License-Identifier: Apache-2.0 */
/* Walks next to libunwind's from below the C library, from stacks of all kinds and
 * through code without tables. What differs is of a kind that has a reason
 * (tests/programs/unwind_peer.h). */
#include "tests/unit/peer_seen.h"

#include <ftw.h>
#include <link.h>
#include <pthread.h>
#include <search.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* ---- below the C library ---- */

static int compare(const void *a, const void *b)
{
	here();
	return *(const int *)a - *(const int *)b;
}

static int compare_with(const void *a, const void *b, void *arg)
{
	(void)arg;
	return compare(a, b);
}

static void each_node(const void *node, VISIT visit, int depth)
{
	(void)node, (void)visit, (void)depth;
	here();
}

static int each_file(const char *path, const struct stat *s, int type, struct FTW *at)
{
	(void)path, (void)s, (void)type, (void)at;
	here();
	return walks > 20;
}

static int each_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	here();
	return 0;
}

static ssize_t write_cookie(void *cookie, const char *text, size_t size)
{
	(void)cookie, (void)text;
	here();
	return (ssize_t)size;
}

START_TEST(callbacks_of_the_c_library)
{
	int numbers[] = { 3, 1, 4, 1, 5 };
	size_t count = 5;
	void *root = NULL;
	FILE *f =
		fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_cookie });

	qsort(numbers, 5, sizeof(int), compare);
	qsort_r(numbers, 5, sizeof(int), compare_with, NULL);
	were(ONLY(SAME), 10);
	bsearch(&numbers[1], numbers, 5, sizeof(int), compare);
	lfind(&numbers[4], numbers, &count, sizeof(int), compare);
	for (int i = 0; i < 5; i++)
		tsearch(&numbers[i], &root, compare);
	twalk(root, each_node);
	were(ONLY(SAME), 10);
	nftw("/usr", each_file, 4, 0);
	were(ONLY(SAME), 10);
	dl_iterate_phdr(each_object, NULL);
	were(ONLY(SAME), 3);
	fprintf(f, "%d%9000s%f\n", 1, "two", 3.0);
	fclose(f);
	were(ONLY(SAME), 1);
}
END_TEST

/* All of this is about a program whose segments the dynamic linker tells one by one. */
START_TEST(this_program_has_holes)
{
	uintptr_t code = (uintptr_t)compare;
	struct unwind_module *m = unwind_find(code);

	ck_assert_ptr_nonnull(m);
	ck_assert_uint_gt(m->tables.count, 100);
	ck_assert_uint_gt(m->build_id_len, 0);
	if (unwind_find_object) /* before glibc 2.35 they are told as one */
		ck_assert_uint_gt(m->begin, getauxval(AT_PHDR) | 4095);
	were(0, 0);
	here();
	were(ONLY(SAME), 1);
}
END_TEST

/* Then the kernel's program headers are that one's, and it tells those of the program. */
START_TEST(started_by_naming_the_dynamic_linker)
{
	char path[1000] = "";
	int status;
	pid_t pid = fork();

	if (!pid) {
		ck_assert_int_gt(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
		setenv("PEER_ONCE", "1", 1);
		execl("/lib64/ld-linux-x86-64.so.2", "ld.so", path, NULL);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

static int look_once(void)
{
	setup();
	here();
	return last.kind == PEER_SAME && last.ours.depth >= 4 ? 7 : 8;
}

static pthread_key_t key;

static void *in_thread(void *arg)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	here();
	pthread_once(&once, here);
	pthread_setspecific(key, arg);
	return arg;
}

static void at_end_of_thread(void *arg)
{
	(void)arg;
	here();
}

START_TEST(a_threads_first_and_last_functions)
{
	pthread_t t;

	pthread_key_create(&key, at_end_of_thread);
	pthread_create(&t, NULL, in_thread, &key);
	pthread_join(t, NULL);
	were(ONLY(SAME), 3);
}
END_TEST

static void at_exit(void)
{
	here();
	_exit(last.kind == PEER_SAME && last.ours.depth >= 4 ? 7 : 8);
}

START_TEST(a_programs_end)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		atexit(at_exit);
		exit(1);
	}
	waitpid(pid, &status, 0);
	ck_assert_int_eq(WEXITSTATUS(status), 7);
}
END_TEST

/* What the second of libunwind's ways, which knows fewer rules and is fast, finds. */
static int compare_fast(const void *a, const void *b)
{
	void *pc[PEER_MOST];
	int n, from = 0;

	here();
	n = peer.backtrace(pc, PEER_MOST);
	while (from < n && last.ours.pc[2] != (uintptr_t)pc[from])
		from++; /* the first that is not of here */
	ck_assert_int_eq(n - from, (int)last.ours.depth - 2);
	for (int i = from; i < n; i++)
		ck_assert_uint_eq((uintptr_t)pc[i], last.ours.pc[i - from + 2]);
	return *(const int *)a - *(const int *)b;
}

START_TEST(libunwinds_fast_way_says_the_same)
{
	int numbers[] = { 3, 1, 4, 1, 5 };

	qsort(numbers, 5, sizeof(int), compare_fast);
	were(ONLY(SAME), 5);
}
END_TEST

/* ---- other stacks, other code ---- */

static void handler(int sig)
{
	(void)sig;
	here();
}

static __attribute__((noinline)) int interrupted(int depth)
{
	volatile int result = depth ? interrupted(depth - 1) : raise(SIGUSR1);

	return result;
}

START_TEST(from_a_signals_stack)
{
	struct sigaction sa = { .sa_handler = handler };
	stack_t ss = { .ss_size = 1 << 16 };

	sigaction(SIGUSR1, &sa, NULL);
	interrupted(5);
	were(ONLY(SAME), 1);
	ss.ss_sp = mmap(NULL, ss.ss_size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&ss, NULL);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &sa, NULL);
	interrupted(5);
	ck_assert_uint_ge(last.ours.depth, 10);
	were(ONLY(SAME), 1);
}
END_TEST

static ucontext_t back, coroutine;

static __attribute__((noinline)) int more_than_a_page(void)
{
	char room[5000] = { 0 };

	__asm__ volatile("" : : "r"(room) : "memory"); /* all of it is wanted */
	here();
	return room[0];
}

static void in_coroutine(void)
{
	here();
	more_than_a_page();
	swapcontext(&coroutine, &back);
}

START_TEST(from_a_coroutines_stack)
{
	static _Alignas(4096) char stack[1 << 16];

	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	makecontext(&coroutine, in_coroutine, 0);
	swapcontext(&back, &coroutine);
	ck_assert_uint_eq(seen[PEER_FOREIGN], 1);
	were(ONLY(SAME) | ONLY(ENDED) | ONLY(FOREIGN), 2);
}
END_TEST

static void call_made(const uint8_t *code, size_t size)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at, code, size);
	((void (*)(void (*)(void), void *))at)(here, NULL);
}

START_TEST(libunwind_guesses_in_code_without_tables)
{
	/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
	static const uint8_t framed[] = {
		0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3
	};
	/* push %rbp; xor %ebp, %ebp; call *%rdi; pop %rbp; ret */
	static const uint8_t plain_code[] = { 0x55, 0x31, 0xed, 0xff, 0xd7, 0x5d, 0xc3 };

	call_made(framed, sizeof(framed));
	ck_assert_int_eq(last.kind, PEER_GUESSED);
	ck_assert_uint_gt(last.theirs.depth, last.ours.depth + 1);
	call_made(plain_code, sizeof(plain_code));
	ck_assert_int_eq(last.kind, PEER_ENDED);
	were(ONLY(GUESSED) | ONLY(ENDED), 2);
}
END_TEST

int main(void)
{
	TCase *tc;

	if (getenv("PEER_ONCE"))
		return look_once();
	tc = tcase_create("unwind peer");
	unit_not_under_thread_sanitizer("signals wait there, and stacks are its own");
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, this_program_has_holes);
	tcase_add_test(tc, started_by_naming_the_dynamic_linker);
	tcase_add_test(tc, callbacks_of_the_c_library);
	tcase_add_test(tc, a_threads_first_and_last_functions);
	tcase_add_test(tc, a_programs_end);
	tcase_add_test(tc, libunwinds_fast_way_says_the_same);
	tcase_add_test(tc, from_a_signals_stack);
	tcase_add_test(tc, from_a_coroutines_stack);
	tcase_add_test(tc, libunwind_guesses_in_code_without_tables);
	return unit_run(tc, "unwind_peer");
}
