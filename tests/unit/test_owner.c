/* SPDX-License-Identifier: Apache-2.0 */
/* Does the process whose spool it is go on? recover waits for it, or leaves it. */
#include "finisher/life.h"
#include "tests/unit/dying.h"
#include "tests/unit/salvage_bench.h"

#include <pthread.h>

/* A process that was killed ends while somebody waits for that. */
static pid_t dying;

int usleep(useconds_t us)
{
	const struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	if (dying)
		dying_end(dying);
	dying = 0;
	return nanosleep(&t, NULL);
}

/* A child that keeps the mapping keeps the lock: its pid is told by the header. */
START_TEST(a_lock_outlives_its_process)
{
	int fd = put_spool(folder, "4000001.7.1.spool");

	lock(fd, 0, 0);
	image->head->pid_ns = life_namespace();
	ck_assert_int_eq(pwrite(fd, image->base, SPOOL_HEADER, 0), SPOOL_HEADER);
	salvage();
	ck_assert_uint_eq(files, 1);
	ck_assert(!is_there(folder, "4000001.7.1.spool"));
	close(fd);
}
END_TEST

START_TEST(a_process_that_goes_on)
{
	uint32_t pid = (uint32_t)getpid();
	uint8_t *map;
	int fd;

	image->head->pid = pid;
	image->head->start_time = sys_start_time(pid);
	image->head->pid_ns = life_namespace();
	fd = put_spool(folder, "1.1.1.spool");
	lock(fd, 0, 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	expect_left("1.1.1.spool", "is still running");
	munmap(map, 4096);
	close(fd);
}
END_TEST

/* Its pid is another process's here, or nobody's: the lock alone can tell. */
START_TEST(a_process_of_another_container)
{
	int fd;

	image->head->pid = _i ? (uint32_t)getpid() : DEAD;
	image->head->pid_ns = life_namespace() + 1;
	fd = put_spool(folder, "4000001.7.1.spool");
	lock(fd, 0, 0);
	expect_left("4000001.7.1.spool", "its process is still running");
	close(fd);
	all.totals.living = 0;
	salvage();
	ck_assert_uint_eq(files, 1);
}
END_TEST

static void *go_on(void *arg)
{
	pause();
	return arg;
}

static void await_zombie(pid_t pid)
{
	char path[64], text[512];

	fmt(path, sizeof(path), "/proc/%d/stat", pid);
	do
		ck_assert_int_gt(sys_read_file(path, text, sizeof(text)), 0);
	while (!strstr(text, ") Z "));
}

/* What its other threads have mapped nobody can see. */
START_TEST(a_process_whose_first_thread_has_ended)
{
	pid_t pid = fork();
	pthread_t thread;
	int fd;

	if (!pid) {
		pthread_create(&thread, NULL, go_on, NULL);
		pthread_exit(NULL);
	}
	await_zombie(pid);
	image->head->pid = (uint32_t)pid;
	image->head->start_time = sys_start_time((uint32_t)pid);
	image->head->pid_ns = life_namespace();
	fd = put_spool(folder, "1.1.1.spool");
	lock(fd, 0, 0);
	expect_left("1.1.1.spool", "is still running");
	close(fd);
	kill(pid, SIGKILL);
}
END_TEST

/* Killed just now: it has its lock for a moment still, which only time takes. */
START_TEST(a_process_that_is_about_to_end)
{
	int ready[2];
	pid_t pid;
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		image->head->pid = (uint32_t)getpid();
		image->head->start_time = sys_start_time((uint32_t)getpid());
		image->head->pid_ns = life_namespace();
		lock(put_spool(folder, "1.1.1.spool"), 0, 0);
		if (write(ready[1], "", 1) == 1)
			pause();
	}
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	if (!dying_stop(pid))
		return;
	dying = pid;
	ck_assert_str_eq(salvage(), "");
	ck_assert_int_eq(dying, 0);
	ck_assert_uint_eq(files, 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("owner");

	tcase_add_checked_fixture(tc, begin_to_salvage, end);
	tcase_add_test(tc, a_lock_outlives_its_process);
	tcase_add_test(tc, a_process_that_goes_on);
	tcase_add_loop_test(tc, a_process_of_another_container, 0, 2);
	tcase_add_test(tc, a_process_whose_first_thread_has_ended);
	tcase_add_test(tc, a_process_that_is_about_to_end);
	return unit_run(tc, "owner");
}
