/* SPDX-License-Identifier: Apache-2.0 */
/* What the finisher makes of windows in processes where nothing happens any more. */
#include "base/sys.h"
#include "finisher/leader.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEADER, WORKER, NESTED, NUMBER = 1234 };

static struct job_page *job_page;
static struct page page;
static struct leader_wait waits;

static void begin(void)
{
	page.fd = memfd_create("page", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(page.fd, sizeof(*job_page)), 0);
	job_page = mmap(NULL, sizeof(*job_page), PROT_READ | PROT_WRITE, MAP_SHARED,
			page.fd, 0);
	ck_assert_ptr_ne(job_page, MAP_FAILED);
	for (unsigned i = 0; i < 3; i++)
		atomic_store(&job_page->slot[i].pid, 100 + i);
	memset(&waits, 0, sizeof(waits));
}

static void end(void)
{
	munmap(job_page, sizeof(*job_page));
	close(page.fd);
}

static struct job_window *opens(int slot, uint64_t number, uint64_t at,
				enum job_fate fate)
{
	struct job_slot *s = &job_page->slot[slot];
	struct job_window *w = &s->window[number % JOB_WINDOWS];

	*w = (struct job_window){ .cycle = number, .begin = at, .fate = fate };
	s->gate = number;
	return w;
}

static struct job_window *follows(int slot, int leader, uint64_t leads,
				  enum job_fate fate)
{
	job_page->slot[slot].leads = leads;
	job_page->slot[slot].leader = (uint64_t)(100 + leader) << 32 | (unsigned)leader;
	return opens(slot, 7, 1000, fate);
}

static void ends(struct job_window *w, uint64_t at, enum job_fate fate)
{
	w->end = at;
	w->fate = fate;
}

static struct leader_cut look(int slot)
{
	leader_look(&page, slot, &waits, 0);
	return leader_cut(&page, slot);
}

START_TEST(it_ends_with_the_leader_s)
{
	struct job_window *its = opens(LEADER, NUMBER, 1000, FATE_OPEN);
	struct leader_cut cut;

	job_page->slot[LEADER].boundaries = 3;
	follows(WORKER, LEADER, NUMBER, FATE_OPEN);
	cut = look(WORKER);
	ck_assert_uint_eq(cut.number, 7);
	ck_assert_uint_eq(cut.end, 0);
	ck_assert(!cut.thrown && !cut.ours);
	ends(its, 5000, _i ? FATE_THROWN : FATE_KEPT);
	look(WORKER);
	/* What was seen once stays, whatever becomes of the leader and its slot. */
	opens(LEADER, NUMBER + JOB_WINDOWS, 6000, FATE_KEPT);
	job_page->slot[LEADER].pid = 0;
	cut = look(WORKER);
	ck_assert_uint_eq(cut.number, 7);
	ck_assert_uint_eq(cut.end, 5000);
	ck_assert_int_eq(cut.thrown, _i);
	ck_assert(!cut.ours);
}
END_TEST

START_TEST(a_follower_of_a_follower_ends_as_well)
{
	struct job_window *its = opens(LEADER, NUMBER, 1000, FATE_KEPT);

	follows(WORKER, LEADER, NUMBER, FATE_KEPT);
	follows(NESTED, WORKER, 7, FATE_KEPT);
	ends(its, 5000, FATE_KEPT);
	look(WORKER);
	ck_assert_uint_eq(look(NESTED).end, 5000);
	ck_assert(!look(NESTED).ours); /* though who led it had no steps */
}
END_TEST

START_TEST(what_is_not_its_leader_s_says_nothing)
{
	struct job_window *its = opens(LEADER, NUMBER, 1000, FATE_KEPT);

	ends(its, 5000, FATE_THROWN);
	follows(WORKER, LEADER, NUMBER + 1, FATE_KEPT); /* another window */
	ck_assert_uint_eq(look(WORKER).end, 0);
	follows(WORKER, LEADER, NUMBER, FATE_KEPT);
	job_page->slot[LEADER].pid = 99; /* another process */
	ck_assert_uint_eq(look(WORKER).end, 0);
	job_page->slot[LEADER].pid = 100;
	its->end = 900; /* ended before ours began */
	ck_assert_uint_eq(look(WORKER).end, 0);
	job_page->slot[WORKER].leader = UINT64_MAX; /* a lie */
	ck_assert_uint_eq(look(WORKER).end, 0);
	job_page->slot[WORKER].leader = 0;
	ck_assert_uint_eq(look(WORKER).number, 0);
	ck_assert_uint_eq(look(-1).number, 0);
	ck_assert_uint_eq(look(JOB_SLOTS).number, 0);
}
END_TEST

START_TEST(nobody_leads_who_has_no_steps)
{
	opens(LEADER, NUMBER, 1000, FATE_OPEN);
	follows(WORKER, LEADER, NUMBER, FATE_OPEN);
	ck_assert(look(WORKER).ours);
}
END_TEST

START_TEST(a_provisional_window_stays_after_a_minute)
{
	const int64_t second = 1000000000;
	struct job_window *w = opens(LEADER, NUMBER, 1000, FATE_OPEN);

	leader_look(&page, LEADER, &waits, 10 * second);
	leader_look(&page, LEADER, &waits, 70 * second);
	ck_assert_uint_eq(w->fate, FATE_OPEN);
	job_page->slot[LEADER].boundaries++; /* one came */
	leader_look(&page, LEADER, &waits, 71 * second);
	leader_look(&page, LEADER, &waits, 131 * second);
	ck_assert_uint_eq(w->fate, FATE_OPEN);
	leader_look(&page, LEADER, &waits, 132 * second);
	ck_assert_uint_eq(w->fate, FATE_KEPT);
	ck_assert_uint_eq(w->end, 0);
	/* A follower's is its leader's affair. */
	w = follows(WORKER, LEADER, NUMBER, FATE_OPEN);
	memset(&waits, 0, sizeof(waits));
	leader_look(&page, WORKER, &waits, 0);
	leader_look(&page, WORKER, &waits, 1000 * second);
	ck_assert_uint_eq(w->fate, FATE_OPEN);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("leader");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_loop_test(tc, it_ends_with_the_leader_s, 0, 2);
	tcase_add_test(tc, a_follower_of_a_follower_ends_as_well);
	tcase_add_test(tc, what_is_not_its_leader_s_says_nothing);
	tcase_add_test(tc, nobody_leads_who_has_no_steps);
	tcase_add_test(tc, a_provisional_window_stays_after_a_minute);
	return unit_run(tc, "leader");
}
