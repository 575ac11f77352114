/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent begins, and what a fork child has of it. */
#include "agent/core/hold.h"
#include "tests/unit/agent_bench.h"

#include <dlfcn.h>
#include <stddef.h>

/* In the place of libc's: a system call that it made on the way has failed. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
		   void *(*body)(void *), void *arg)
{
	typeof(pthread_create) *real = dlsym(RTLD_NEXT, "pthread_create");
	int result = real(thread, attributes, body, arg);

	errno = EAGAIN;
	return result;
}

/* ---- begin ---- */

START_TEST(what_is_begun_says_whose_it_is)
{
	static char config[SPOOL_CONFIG];

	configure();
	setenv("RANK", "3", 1);
	setenv("LOCAL_RANK", "a\"b", 1);
	setenv("WORLD_SIZE", "8\\", 1);
	memset(agent.config.on_trace, 'x', 1000);
	for (char name[32], i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "metadata.k%d", i);
		config_set(&agent.config, name, agent.config.on_trace + 900);
	}
	place();
	job->base_ns -= 604800000000000; /* a job of many days */
	errno = 4711;
	ck_assert(agent_begin());
	ck_assert_int_eq(errno, 4711);
	ck_assert(agent_begin());
	ck_assert_uint_eq(agent.state, AGENT_READY);
	ck_assert_uint_eq(spool.head->cap, 5 << 20);
	ck_assert(spool.kept);
	ck_assert_int_eq(spool.head->base_ns, job->base_ns);
	ck_assert_str_eq(spool.head->job, job->id);
	ck_assert(has_fact("rank = \"3\"\n") && !has_fact("local_rank"));
	ck_assert(!has_fact("world_size") && has_fact("file = "));
	config_print(&agent.config, config, sizeof(config));
	ck_assert_str_eq(spool.head->config, config);
	wait_for_threads(2);
}
END_TEST

/* srun's words count as torchrun's do; a program that makes its ranks itself says them
 * later, and over what was there. */
START_TEST(a_rank_is_said_again)
{
	configure();
	unsetenv("LOCAL_RANK");
	unsetenv("WORLD_SIZE");
	setenv("SLURM_PROCID", "1", 1);
	setenv("SLURM_LOCALID", "0", 1);
	setenv("SLURM_NTASKS", "2", 1);
	setenv("SLURM_STEP_ID", "0", 1);
	place();
	ck_assert(agent_begin());
	ck_assert(has_fact("rank = \"1\"\nlocal_rank = \"0\"\nworld_size = \"2\"\n"));
	setenv("RANK", "7", 1);
	agent_ranks();
	ck_assert(has_fact("rank = \"7\"\n"));
}
END_TEST

/* Most of it lies in a page that is there anyway, the rest in the next. */
START_TEST(a_configuration_of_any_length_is_whole)
{
	static char config[SPOOL_CONFIG];
	size_t here = 4096 - offsetof(struct spool_header, config) % 4096;
	size_t want = here - 2 + (size_t)_i, len, part;
	char name[32], value[1000];

	configure();
	for (int i = 10;
	     (len = config_print(&agent.config, config, sizeof(config))) < want; i++) {
		part = want - len > 900 ? 800 : want - len;
		snprintf(name, sizeof(name), "metadata.k%d", i);
		part -= strlen(name) + sizeof(" = \n") - 1;
		memset(value, 'x', part);
		value[part] = '\0';
		ck_assert_ptr_null(config_set(&agent.config, name, value));
	}
	ck_assert_uint_eq(len, want);
	place();
	ck_assert(agent_begin());
	ck_assert_int_eq(strcmp(spool.head->config, config), 0);
}
END_TEST

/* Files for what records at once; for what may never come none. */
START_TEST(a_file_is_made_when_it_is_needed)
{
	static const struct {
		const char *marker, *malloc;
		bool soon;
	} rows[] = { { "auto", "off", false },     { "auto", "sample", false },
		     { "auto", "count", true },    { "auto", "all", true },
		     { "time:1000", "off", true }, { "time:5", "sample", true } };

	configure();
	strcpy(agent.config.marker, rows[_i].marker);
	ck_assert_ptr_null(config_set(&agent.config, "malloc", rows[_i].malloc));
	place();
	ck_assert(agent.on);
	ck_assert_int_eq(spool.base != NULL, rows[_i].soon);
	ck_assert(agent_begin());
	ck_assert(spool.kept);
}
END_TEST

START_TEST(without_a_free_number_there_is_a_file_all_the_same)
{
	struct rlimit limit = { 64, 64 };

	configure();
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	place();
	ck_assert(agent.on && spool.kept);
	ck_assert(agent_begin());
}
END_TEST

static char said[8192];

static void hear(void (*talk)(void))
{
	char path[] = "/tmp/unit-XXXXXX";
	int fd = mkstemp(path), kept = dup(2);

	dup2(fd, 2);
	log_watch();
	talk();
	dup2(kept, 2);
	memset(said, 0, sizeof(said));
	ck_assert_int_ge(pread(fd, said, sizeof(said) - 1, 0), 0);
	unlink(path);
}

static bool refuse_all_maps(long nr, const long a[6], long *result)
{
	*result = -ENOSPC;
	return nr == SYS_openat && strstr((const char *)a[1], ".new");
}

static void place_twice(void)
{
	seam = refuse_all_maps;
	for (int i = 0; i < 2; i++) {
		ck_assert(agent_place());
		ck_assert(!spool.kept);
		spool_unplace();
	}
}

START_TEST(a_full_disk_is_said_by_one)
{
	configure();
	place();
	spool_unplace();
	hear(place_twice);
	ck_assert_ptr_nonnull(strstr(said, "cannot keep records in "));
	ck_assert_ptr_nonnull(strstr(said, "No space left on device: traces will not"));
	ck_assert_ptr_null(strstr(strstr(said, "cannot keep") + 1, "cannot keep"));
}
END_TEST

/* Memory that is not lost with the process, where there is somebody to hold it. */
START_TEST(with_a_full_disk_the_launcher_holds_the_records)
{
	int s = socket(AF_UNIX, SOCK_DGRAM, 0);
	struct sockaddr_un a;
	socklen_t n;
	char byte;

	configure();
	ck_assert_int_eq(job_make(dir, (uint32_t)getpid()), 0);
	n = hold_address(&a, job->id);
	if (_i)
		ck_assert_int_eq(bind(s, (struct sockaddr *)&a, n), 0);
	seam = refuse_all_maps;
	place();
	seam = NULL;
	ck_assert_int_eq(agent.on, _i);
	ck_assert_int_eq(spool.base != NULL, _i);
	if (!_i)
		return;
	ck_assert(spool.kept);
	ck_assert_int_eq(recv(s, &byte, 1, MSG_DONTWAIT), 1);
	ck_assert(agent_begin());
	bench_cycle(1);
	ck_assert(emit_one(1));
}
END_TEST

START_TEST(who_has_no_memory_left_is_counted)
{
	struct rlimit limit = { 16 << 20, RLIM_INFINITY };
	char text[256];

	configure();
	strcpy(agent.config.marker, "auto");
	place();
	ck_assert_int_eq(job_make(dir, 0), 0);
	ck_assert_int_gt(sys_read_file("/proc/self/statm", text, sizeof(text)), 0);
	limit.rlim_cur += strtoul(text, NULL, 10) * 4096;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	ck_assert(!agent_begin());
	ck_assert(!agent_begin());
	ck_assert_uint_eq(agent.state, AGENT_ASIDE);
	ck_assert_uint_eq(job->unrecorded, 1);
	ck_assert_ptr_null(spool.base);
	ck_assert(sys_scarce);
}
END_TEST

/* A follower has a part of the room; without children it records nothing. */
START_TEST(a_follower_has_a_share)
{
	struct job_slot *s;

	configure();
	agent.config.buffer_mb = 64;
	agent.config.children = _i ? CHILDREN_ON : CHILDREN_OFF;
	place();
	s = &job->slot[9];
	s->start_time = self.ancestor[0].start_time;
	atomic_store(&s->torch, TORCH_USED);
	atomic_store(&s->pid, self.ancestor[0].pid);
	ck_assert_int_eq(agent_begin(), _i);
	if (_i)
		ck_assert_uint_eq(atomic_load(&spool.head->limit), 8 << 20);
}
END_TEST

/* ---- fork ---- */

static int status_of(bool (*check)(void))
{
	int status;
	pid_t pid;

	fork_prepare();
	pid = fork();
	if (!pid) {
		fork_child();
		_exit(!check());
	}
	fork_parent();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static uint32_t epoch;

static bool is_fresh(void)
{
	return agent.on && agent.pid == (uint32_t)getpid() &&
	       agent.state == AGENT_FRESH && !gate_cycle() && !job_mine && spool.base &&
	       !spool.head && names_epoch != epoch && !thread_mine->chunk &&
	       own_thread_others() == 1 && forgotten == 1;
}

static bool begins_again(void)
{
	if (!is_fresh() || !agent_begin() || spool.head->pid != (uint32_t)getpid())
		return false;
	wait_for_threads(2);
	bench_cycle(2);
	return emit_one(1) && bench_records(REC_OP) == 1 && job_mine &&
	       job_mine->pid == (uint32_t)getpid();
}

START_TEST(a_child_begins_afresh_and_its_parent_goes_on)
{
	before_4_14 = _i;
	begin();
	epoch = names_epoch;
	wait_for_threads(2);
	fork_prepare();
	wait_for_threads(1); /* Python counts them right behind it */
	fork_parent();
	wait_for_threads(2);
	ck_assert_int_eq(status_of(is_fresh), 0);
	ck_assert_int_eq(status_of(begins_again), 0);
	wait_for_threads(2);
	ck_assert_uint_eq(bench_records(REC_OP), 1);
	ck_assert_uint_eq(gate_cycle(), 1);
}
END_TEST

/* Its parent's threads were too busy to go before it, and are not there. */
START_TEST(a_child_whose_parent_kept_its_threads_has_its_own)
{
	int status;
	pid_t pid;

	begin();
	epoch = names_epoch;
	wait_for_threads(2);
	pid = fork();
	if (!pid) {
		fork_child();
		_exit(!begins_again());
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

static bool stays_aside(void)
{
	return !agent.on && agent.state == AGENT_ASIDE && !spool.base && !agent_begin();
}

START_TEST(without_children_a_child_records_nothing)
{
	configure();
	agent.config.children = CHILDREN_OFF;
	place();
	ck_assert(agent_begin());
	ck_assert_int_eq(status_of(stays_aside), 0);
	ck_assert_uint_eq(job->unrecorded, 0);
}
END_TEST

static bool stays_out(void)
{
	return !agent.on && !gate_cycle() && spool.base &&
	       !((struct spool_header *)spool.base)->version;
}

/* In a signal's handler, that came in the middle of a record. */
START_TEST(a_handlers_child_stays_out_and_is_counted)
{
	struct thread *t;

	begin();
	t = emit_enter(REC_OP);
	ck_assert_int_eq(status_of(stays_out), 0);
	ck_assert_uint_eq(job->unrecorded, 1);
	ck_assert_uint_eq(spool.head->version, SPOOL_VERSION);
	ck_assert_int_eq(memcmp(spool.head->magic, SPOOL_MAGIC, 8), 0);
	emit_leave(t);
	ck_assert(emit_one(2));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("agent");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_test(tc, what_is_begun_says_whose_it_is);
	tcase_add_test(tc, a_rank_is_said_again);
	tcase_add_loop_test(tc, a_configuration_of_any_length_is_whole, 0, 5);
	tcase_add_loop_test(tc, a_file_is_made_when_it_is_needed, 0, 6);
	tcase_add_test(tc, without_a_free_number_there_is_a_file_all_the_same);
	tcase_add_test(tc, a_full_disk_is_said_by_one);
	tcase_add_loop_test(tc, with_a_full_disk_the_launcher_holds_the_records, 0, 2);
	tcase_add_test(tc, who_has_no_memory_left_is_counted);
	tcase_add_loop_test(tc, a_follower_has_a_share, 0, 2);
	tcase_add_loop_test(tc, a_child_begins_afresh_and_its_parent_goes_on, 0, 2);
	tcase_add_test(tc, a_child_whose_parent_kept_its_threads_has_its_own);
	tcase_add_test(tc, without_children_a_child_records_nothing);
	tcase_add_test(tc, a_handlers_child_stays_out_and_is_counted);
	return unit_run(tc, "agent");
}
