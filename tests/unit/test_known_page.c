/* SPDX-License-Identifier: Apache-2.0 */
/* What a job's page keeps of its processes, and what of a finisher that died. */
#include "base/sys.h"
#include "finisher/worker.h"
#include "tests/unit/known_folder.h"

#include <sys/mman.h>

/* ---- slots ---- */

/* Behind the first that are read at once. */
static struct job_slot *fill_slot(uint32_t pid, uint64_t start, int fd)
{
	struct stat st = { 0 };

	ck_assert_int_eq(fstat(fd, &st), 0);
	job->slot[40].spool = (uint32_t)st.st_ino;
	for (unsigned i = 0; i < 40; i++)
		job->slot[i].pid = 1000000 + i;
	job->slot[40].start_time = start;
	job->slot[40].pid = pid;
	return &job->slot[40];
}

START_TEST(a_slot_is_free_once_its_process_has_gone)
{
	int fd = put_spool(4000001, 7, "");
	struct job_slot *slot = fill_slot(4000001, 7, fd);

	known_find(&all);
	known_judge(&all, 1, true);
	ck_assert_int_eq(all.at[0]->state, KNOWN_DEAD);
	ck_assert_int_eq(all.at[0]->slot, 40);
	ck_assert_uint_eq(slot->pid, 0);
	ck_assert_uint_eq(job->slot[8].pid, 1000008);
	close(fd);
}
END_TEST

/* What its window needs of it stays until that is written. */
START_TEST(a_followers_slot_is_free_at_the_end)
{
	int fd = put_spool(4000001, 7, "");
	struct job_slot *slot = fill_slot(4000001, 7, fd);

	slot->leader = (uint64_t)1000008 << 32 | 8;
	slot->gate = slot->window[3].cycle = 3;
	known_find(&all);
	known_judge(&all, 1, true);
	ck_assert_uint_eq(all.at[0]->cut.number, 3);
	ck_assert_uint_eq(slot->pid, 4000001);
	known_end(&all, all.at[0]);
	ck_assert_uint_eq(slot->pid, 0);
	known_sweep(&all);
	ck_assert_uint_eq(all.n, 0);
	close(fd);
}
END_TEST

START_TEST(a_slot_that_is_somebody_elses_stays)
{
	fill_slot(4000002, 9, 0);
	page_free(&page, 40, 4000001, job->slot[40].spool);
	ck_assert_uint_eq(job->slot[40].pid, 4000002);
	ck_assert_int_eq(page_slot(&page, 4000002, 9, 0), 40);
	ck_assert_int_eq(page_slot(&page, 4000002, 8, 0), -1);
}
END_TEST

/* An exec leaves pid and start time as they are: which of two slots is the old image's?
 */
START_TEST(each_image_has_its_own_slot)
{
	int old = put_spool(4000001, 7, ""), new = put_spool(4000001, 7, "n_");
	struct job_slot *first = &job->slot[40], *second = &job->slot[41];
	struct stat st;

	fstat(new, &st);
	fill_slot(4000001, 7, old);
	*second = *first;
	second->spool = (uint32_t)st.st_ino;
	lock(new); /* the new image lives */
	known_find(&all);
	known_judge(&all, 1, false);
	ck_assert_uint_eq(first->pid, 0);
	ck_assert_uint_eq(second->pid, 4000001);
	close(new);
	known_judge(&all, 2, false);
	ck_assert_uint_eq(second->pid, 0);
	close(old);
}
END_TEST

/* The old image's slot may be the new one's by the time that the finisher looks. */
START_TEST(a_slot_of_the_next_image_stays)
{
	fill_slot(4000002, 9, 0);
	page_free(&page, 40, 4000002, job->slot[40].spool + 1);
	ck_assert_uint_eq(job->slot[40].pid, 4000002);
	ck_assert_int_eq(page_slot(&page, 4000002, 9, job->slot[40].spool + 1), -1);
	ck_assert_int_eq(page_slot(&page, 4000002, 9, job->slot[40].spool), 40);
}
END_TEST

/* ---- memory ---- */

static void say_pages(int fd, unsigned pages)
{
	char text[64];

	ck_assert_int_eq(ftruncate(fd, 0), 0);
	ck_assert_int_gt(
		pwrite(fd, text, fmt(text, sizeof(text), "9999 %u 2 1 0 9 0", pages), 0),
		0);
}

/* However long it runs, the largest size of it stays; in bytes. */
START_TEST(the_largest_size_outlives_the_others)
{
	struct known k = { .fd = -1, .held = -1, .slot = -1, .watched = true };
	struct known *one = &k;
	struct known_all few = { .at = &one, .n = 1 };
	uint64_t most = 0;

	image->head->cycles = 1;
	k.fd = put_spool(77, 1, "");
	k.statm = memfd_create("statm", MFD_CLOEXEC);
	for (unsigned i = 0; i < 20000; i++) {
		say_pages(k.statm, i == 4000 ? 999 : 5 + i % 3);
		ck_assert(sample_all(&few));
	}
	ck_assert_uint_lt(k.seen_n, 8192);
	for (size_t i = 0; i < k.seen_n; i++) {
		most = k.seen[i].rss > most ? k.seen[i].rss : most;
		ck_assert_uint_eq(k.seen[i].rss - k.seen[i].r.end,
				  2 * (uint64_t)sysconf(_SC_PAGESIZE));
	}
	ck_assert_uint_eq(most, 999 * (uint64_t)sysconf(_SC_PAGESIZE));
	close(k.fd);
	sample_free(&k);
}
END_TEST

/* The samples of a long window are as far apart at its begin as at its end. */
START_TEST(what_is_thinned_stays_even)
{
	struct known k = { .fd = -1, .held = -1, .slot = -1, .watched = true };
	struct known *one = &k;
	struct known_all few = { .at = &one, .n = 1 };
	uint64_t least = UINT64_MAX, most = 0,
		 page_size = (uint64_t)sysconf(_SC_PAGESIZE);

	image->head->cycles = 1;
	k.fd = put_spool(77, 1, "");
	k.statm = memfd_create("statm", MFD_CLOEXEC);
	for (unsigned i = 0; i < 20000; i++) {
		say_pages(k.statm, 5 + i);
		ck_assert(sample_all(&few));
	}
	for (size_t i = 1; i < k.seen_n; i++) {
		uint64_t by = (k.seen[i].rss - k.seen[i - 1].rss) / page_size;

		least = by < least ? by : least;
		most = by > most ? by : most;
	}
	ck_assert_uint_ge(most, 2);
	ck_assert_uint_le(most, 2 * least);
	close(k.fd);
	sample_free(&k);
}
END_TEST

/* Whoever has its pid now: a size is that of the process which has the spool mapped. */
START_TEST(the_size_of_another_process_is_not_its_own)
{
	struct known k = { .held = -1, .slot = -1, .statm = -1, .watched = true };
	struct known *one = &k;
	struct known_all few = { .at = &one, .n = 1 };
	struct sys_stat st;
	void *map = NULL;

	image->head->cycles = 1;
	k.pid = (uint32_t)sys_pid();
	k.start = sys_start_time(k.pid);
	k.fd = put_spool(k.pid, k.start, "");
	ck_assert_int_eq(sys_fstat(k.fd, &st), 0);
	k.ino = st.ino;
	if (_i)
		map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, k.fd, 0);
	ck_assert(sample_all(&few));
	ck_assert_uint_eq(k.seen_n, _i);
	if (map)
		munmap(map, 4096);
	close(k.fd);
	sample_free(&k);
}
END_TEST

/* ---- what a finisher that died was about ---- */

START_TEST(only_a_file_that_was_begun_is_tidied)
{
	char part[600];
	int fd;

	fmt(all.shared->now.path, sizeof(all.shared->now.path), "%s/x.json", jobs);
	fmt(part, sizeof(part), "%s.part", all.shared->now.path);
	fd = open(part, O_CREAT | O_WRONLY, 0600);
	close(fd);
	shared_tidy(all.shared);
	ck_assert_int_eq(access(part, F_OK), 0);
	atomic_store(&all.shared->now.on, 1);
	shared_tidy(all.shared);
	ck_assert_int_ne(access(part, F_OK), 0);
}
END_TEST

/* It would be the first that the next one reads, too. */
START_TEST(what_killed_a_finisher_is_not_taken_again)
{
	int first = memfd_create("x", MFD_CLOEXEC), again = dup(first),
	    twice = dup(first);

	known_hold(&all, first, 5);
	ck_assert(known_in_memory(all.at[0]->name));
	ck_assert_int_eq(all.at[0]->state, KNOWN_LIVE);
	shared_set_done(all.shared, all.at[0]->name, SHARED_WHOLE - 1);
	/* The next finisher. */
	all.n = 0;
	known_hold(&all, again, 5);
	ck_assert_int_eq(all.at[0]->state, KNOWN_LEFT);
	/* What it was told of before, too. */
	known_hold(&all, twice, 5);
	ck_assert_uint_eq(all.n, 1);
	ck_assert(!known_in_memory("77.1.1.spool"));
}
END_TEST

START_TEST(what_is_left_in_memory_is_lost)
{
	int fd = put_spool(77, 1, "");

	known_find(&all);
	known_hold(&all, memfd_create("x", MFD_CLOEXEC), 5);
	for (int i = 0; i < 2; i++)
		known_leave(&all, all.at[i]);
	ck_assert_uint_eq(all.shared->totals.failed, 1);
	ck_assert_uint_eq(all.shared->totals.lost, 1);
	close(fd);
}
END_TEST

START_TEST(who_waits_is_counted_once)
{
	struct task_how how = { .shared = all.shared };
	struct worker w = { .all = &all, .how = &how };
	int fd[3];

	for (unsigned i = 0; i < 3; i++)
		fd[i] = put_spool(4000001 + i, 7, "");
	lock(fd[0]);
	known_find(&all);
	/* What the launcher reads is the sum with members that have no spool, and is left
	 * alone until that is known. */
	atomic_store(&all.shared->living, 7);
	known_judge(&all, 1, true);
	ck_assert_uint_eq(all.living, 1);
	ck_assert_uint_eq(all.shared->living, 7);
	/* Two that have ended, and one whose windows are to be looked at. */
	ck_assert_uint_eq(worker_left(&w), 3);
	ck_assert_uint_eq(all.shared->left, 2);
	for (unsigned i = 0; i < 3; i++)
		close(fd[i]);
}
END_TEST

/* In a container it calls itself otherwise: whatever has that pid here is another. */
START_TEST(a_member_of_another_namespace_is_there_once)
{
	uint32_t pid = (uint32_t)sys_pid();
	struct flock member = { .l_type = F_WRLCK,
				.l_whence = SEEK_SET,
				.l_start = JOB_LOCK_MEMBER + (off_t)pid,
				.l_len = 1 };
	char path[256];
	int fd, other;

	fmt(path, sizeof(path), "%s/" JOB_PAGE, job_folder());
	other = open(path, O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(fcntl(other, F_OFD_SETLK, &member), 0);
	ck_assert_uint_eq(known_living(&all, 0, true), 1);
	image->head->pid_ns = life_namespace() + 1;
	fd = put_spool(pid, 7, "");
	lock(fd);
	known_find(&all);
	known_judge(&all, 1, true);
	ck_assert_uint_eq(all.at[0]->pid, 0);
	ck_assert_uint_eq(known_living(&all, 0, true), 1);
	close(fd);
	close(other);
}
END_TEST

/* A job has any number of processes, but a finisher few descriptors. */
START_TEST(who_is_over_keeps_nothing_open)
{
	int fd = put_spool(77, 1, ""), statm = open("/dev/null", O_RDONLY), its;

	known_find(&all);
	its = all.at[0]->fd;
	all.at[0]->statm = statm;
	all.at[0]->state = KNOWN_OVER;
	all.at[0]->busy = true;
	known_sweep(&all);
	ck_assert_uint_eq(all.n, 1);
	all.at[0]->busy = false;
	known_sweep(&all);
	ck_assert_uint_eq(all.n, 0);
	ck_assert_int_lt(fcntl(its, F_GETFD), 0);
	ck_assert_int_lt(fcntl(statm, F_GETFD), 0);
	close(fd);
}
END_TEST

/* Those whose spools are there still are not. */
START_TEST(who_is_over_is_forgotten)
{
	int fd = put_spool(77, 1, "");

	known_find(&all);
	shared_set_done(all.shared, all.at[0]->name, 3);
	shared_set_done(all.shared, "88.1.1.spool", 3);
	known_forget(&all);
	ck_assert(shared_is_done(all.shared, all.at[0]->name, 3));
	ck_assert(!shared_is_done(all.shared, "88.1.1.spool", 3));
	all.at[0]->state = KNOWN_OVER;
	known_forget(&all);
	ck_assert(!shared_is_done(all.shared, all.at[0]->name, 3));
	close(fd);
}
END_TEST

START_TEST(a_suffix_alone_is_no_spool)
{
	char path[512];

	fmt(path, sizeof(path), "%s/.spool", job_folder());
	close(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	close(put_spool(4000001, 7, ""));
	known_find(&all);
	ck_assert_uint_eq(all.n, 1);
	ck_assert_str_ne(all.at[0]->name, ".spool");
}
END_TEST

/* overlayfs: the lock went with the descriptor. */
START_TEST(who_maps_it_lives_without_a_lock)
{
	int fd = put_spool(sys_pid(), sys_start_time(sys_pid()), "");
	void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	known_find(&all);
	for (int64_t now = 1; now < 10000000000ll; now += 1000000000)
		known_judge(&all, now, false);
	ck_assert_int_eq(all.at[0]->state, KNOWN_LIVE);
	munmap(map, 4096);
	known_judge(&all, 20000000000ll, false);
	ck_assert_int_eq(all.at[0]->state, KNOWN_DEAD);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("page");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_slot_is_free_once_its_process_has_gone);
	tcase_add_test(tc, a_followers_slot_is_free_at_the_end);
	tcase_add_test(tc, a_slot_that_is_somebody_elses_stays);
	tcase_add_test(tc, each_image_has_its_own_slot);
	tcase_add_test(tc, a_slot_of_the_next_image_stays);
	tcase_add_test(tc, the_largest_size_outlives_the_others);
	tcase_add_test(tc, what_is_thinned_stays_even);
	tcase_add_loop_test(tc, the_size_of_another_process_is_not_its_own, 0, 2);
	tcase_add_test(tc, only_a_file_that_was_begun_is_tidied);
	tcase_add_test(tc, what_killed_a_finisher_is_not_taken_again);
	tcase_add_test(tc, what_is_left_in_memory_is_lost);
	tcase_add_test(tc, who_waits_is_counted_once);
	tcase_add_test(tc, a_member_of_another_namespace_is_there_once);
	tcase_add_test(tc, who_is_over_keeps_nothing_open);
	tcase_add_test(tc, who_is_over_is_forgotten);
	tcase_add_test(tc, a_suffix_alone_is_no_spool);
	tcase_add_test(tc, who_maps_it_lives_without_a_lock);
	return unit_run(tc, "known page");
}
