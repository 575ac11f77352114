/* SPDX-License-Identifier: Apache-2.0 */
/* Who records the GPU, and when: agent/wire_gpu.c between a CUPTI and hooks of the
 * test's. */
#define cuda_hooks_want want_of_hooks
#define cupti_active    is_active
#define cupti_asked_for note_name
#define cupti_other     note_other
#define cupti_injected  inject
#define dl_iterate_phdr walk_objects
#include "agent/wire_gpu.c"
#undef cuda_hooks_want
#undef cupti_active
#undef cupti_asked_for
#undef cupti_other
#undef cupti_injected
#undef dl_iterate_phdr
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <stdio.h>

struct agent agent;
static struct job_page page;
static unsigned hooks, names, others, injections;
static bool active;
static const char *objects[4];

void agent_facts_forget(void)
{
}

void agent_leave(void)
{
}

void agent_collect(unsigned what, bool on)
{
	(void)what;
	(void)on;
}

void want_of_hooks(unsigned what)
{
	hooks = what;
}

bool is_active(void)
{
	return active;
}

void note_name(const char *name)
{
	(void)name;
	names++;
}

void note_other(bool begins)
{
	others += begins ? 1 : 100;
}

int inject(void)
{
	errno = 77;
	return (int)++injections;
}

int walk_objects(int (*look)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	struct dl_phdr_info info = { 0 };

	for (unsigned i = 0; i < 4 && objects[i]; i++) {
		info.dlpi_name = objects[i];
		look(&info, sizeof(info), arg);
	}
	return 0;
}

static void begin(void)
{
	config_defaults(&agent.config);
	agent.on = true;
	job = &page;
}

START_TEST(what_hooks_are_asked_for)
{
	ck_assert_uint_eq(needed_from_hooks(false), CUDA_WANT_READY);
	ck_assert_uint_eq(needed_from_hooks(true),
			  CUDA_WANT_READY | CUDA_WANT_COLLECTIVES);
	active = true;
	ck_assert_uint_eq(needed_from_hooks(false), 0);
	agent.config.native_stacks = 1u << NATIVE_CUDA;
	ck_assert_uint_eq(needed_from_hooks(false), 0);
	ck_assert_uint_eq(needed_from_hooks(true),
			  CUDA_WANT_COLLECTIVES | CUDA_WANT_STACKS);
	agent.config.python_stack = PYTHON_OPS;
	ck_assert_uint_eq(needed_from_hooks(true),
			  CUDA_WANT_COLLECTIVES | CUDA_WANT_STACKS | CUDA_WANT_LINES);
	ck_assert_uint_eq(needed_from_hooks(false), 0);
	agent.config.python_stack = PYTHON_OFF;
	active = false;
	switch_estimates(true); /* CUPTI cannot be had */
	agent.config.native_stacks = 0;
	agent.config.cuda_estimate = 0;
	ck_assert_uint_eq(needed_from_hooks(true), CUDA_WANT_COLLECTIVES);
	agent.config.cuda_estimate = 1;
	ck_assert_uint_eq(needed_from_hooks(true),
			  CUDA_WANT_COLLECTIVES | CUDA_WANT_TIMES);
	ck_assert_uint_eq(needed_from_hooks(false), 0);
	atomic_store(&cuda_off, true);
	ck_assert_uint_eq(needed_from_hooks(true), 0);
	atomic_store(&cuda_off, false);
	adjust_hooks();
	ck_assert_uint_eq(hooks, 0);
	switch_estimates(false);
	ck_assert_uint_eq(hooks, CUDA_WANT_READY);
	agent.config.activities = ACTIVITIES_CPU;
	hooks = 99;
	adjust_hooks();
	ck_assert_uint_eq(hooks, 99);
}
END_TEST

START_TEST(only_the_second_generation_is_in_other_hands)
{
	static const char *const rows[] = {
		"cuptiActivityEnable", "cupti_v2",   "cupti", "cuptiProfilerBegin_v2",
		"cuInit_v2",           "xcuptiX_v2", "_v2",   "cuptiFoo_v3"
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		wire_gpu_symbol(rows[i]);
	ck_assert_uint_eq(names, 2);
}
END_TEST

/* Without a driver there is no device. */
static bool no_device(long nr, const long a[6], long *result)
{
	(void)a;
	*result = -ENOENT;
	return nr == SYS_newfstatat;
}

static char said[4096];

static void look_with(const char *first, const char *second)
{
	char path[] = "/tmp/unit-XXXXXX";
	int fd = mkstemp(path), kept = dup(2);

	objects[0] = first;
	objects[1] = second;
	seam = no_device;
	dup2(fd, 2);
	wire_gpu_look();
	dup2(kept, 2);
	seam = NULL;
	memset(said, 0, sizeof(said));
	ck_assert_int_ge(pread(fd, said, sizeof(said) - 1, 0), 0);
	unlink(path);
}

START_TEST(one_of_a_job_says_that_there_is_no_gpu)
{
	look_with("/usr/lib/libc.so.6", NULL);
	ck_assert_str_eq(said, "");
	look_with("/a/libcudart.so.12", "/b/libcuda.so.1");
	ck_assert_str_eq(said, "");
	look_with("/a/libcudart-d0da41ae.so.11.0", NULL);
	ck_assert_ptr_nonnull(strstr(said, "no GPU is recorded: "));
	look_with("/a/libcudart.so.12", NULL);
	ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(torchs_own_profiler_has_the_gpu_while_it_wants_it)
{
	objects[0] = "/a/libcudart.so.12";
	wire_gpu_profile(true, true); /* shares a CUPTI with us */
	ck_assert_uint_eq(others, 0);
	objects[0] = "/a/libcudart-d0da41ae.so.11.0";
	wire_gpu_profile(false, true);
	ck_assert_uint_eq(others, 0);
	wire_gpu_profile(true, true);
	ck_assert_uint_eq(others, 1);
	wire_gpu_profile(false, false);
	ck_assert_uint_eq(others, 101);
}
END_TEST

START_TEST(a_child_does_not_estimate)
{
	atomic_store(&estimating, true);
	agent.on = false;
	wire_gpu_fork_child();
	ck_assert(!atomic_load(&estimating));
}
END_TEST

START_TEST(an_injection_leaves_errno)
{
	errno = 4711;
	ck_assert_int_eq(InitializeInjection(), 1);
	ck_assert_int_eq(errno, 4711);
	agent.on = false;
	ck_assert_int_eq(InitializeInjection(), 1);
	ck_assert_uint_eq(injections, 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("agent gpu");

	tcase_add_checked_fixture(tc, begin, NULL);
	tcase_add_test(tc, what_hooks_are_asked_for);
	tcase_add_test(tc, only_the_second_generation_is_in_other_hands);
	tcase_add_test(tc, one_of_a_job_says_that_there_is_no_gpu);
	tcase_add_test(tc, torchs_own_profiler_has_the_gpu_while_it_wants_it);
	tcase_add_test(tc, a_child_does_not_estimate);
	tcase_add_test(tc, an_injection_leaves_errno);
	return unit_run(tc, "agent gpu");
}
