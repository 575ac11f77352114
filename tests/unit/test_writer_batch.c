/* SPDX-License-Identifier: Apache-2.0 */
/* Which cycles the agent's writer takes, and what becomes of their chunks. */
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/gpu_chunk.h"
#include "agent/core/job.h"
#include "agent/core/record_cuda.h"
#include "agent/core/spool_view.h"
#include "base/fmt.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"
#include "writer/batch.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct config config;
static char dir[128], last[4096];
static unsigned files;

static void done(const char *path)
{
	fmt(last, sizeof(last), "%s", path);
	files++;
}

static void open_spool(void)
{
	clock_start();
	gate_start();
	ck_assert_int_eq(spool_open(NULL, 4 << 20), 0);
	ck_assert_int_eq(spool_prepare(4 << 20), 0);
	clock_begin(spool.head);
	config_defaults(&config);
	fmt(dir, sizeof(dir), "%s/batch-XXXXXX",
	    getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	fmt(config.logdir, sizeof(config.logdir), "%s", dir);
}

static void close_spool(void)
{
	char command[256];

	fmt(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

/* A cycle with one CUDA call. */
static struct cycle_info *cycle(uint64_t number, enum cycle_state state)
{
	uint64_t at = chunk_take(CHUNK_CYCLE, sizeof(struct cycle_info), number);
	struct cycle_info *info = (struct cycle_info *)(chunk_at(at) + 1);
	struct side s = { .info = info };
	struct rec_call *c;

	memset(info, 0, sizeof(*info));
	info->number = number;
	info->begin = clock_ticks();
	info->end = info->begin + 1000000;
	info->stamp_ns = 1700000000000000000 + (int64_t)number;
	info->cuda_state = CUDA_PENDING;
	info->cuda[CUDA_DROPPED] = 2;
	chunk_at(at)->used = sizeof(struct chunk) + sizeof(*info);
	c = side_reserve(&s, REC_CALL, sizeof(*c));
	ck_assert_ptr_nonnull(c);
	memset(c, 0, sizeof(*c));
	c->r.begin = c->r.end = (uint64_t)sys_clock_ns(CLOCK_REALTIME);
	side_commit(&s, &c->r, REC_CALL, CALL_LAUNCHES, sizeof(*c));
	info->state = state;
	return info;
}

static unsigned chunks(enum chunk_kind kind, uint64_t number)
{
	struct spool_view v;
	const struct chunk *c;
	uint64_t at = 0;
	unsigned n = 0;

	ck_assert_int_eq(spool_view_init(&v, spool.base, spool.head->cap), 0);
	while ((c = spool_view_next(&v, &at)))
		n += c->kind == kind && c->cycle == number;
	return n;
}

START_TEST(a_cycle_waits_for_its_gpu)
{
	struct cycle_info *info;

	open_spool();
	info = cycle(1, CYCLE_SEALED);
	ck_assert_uint_eq(batch_write(&config, false, done), 0);
	ck_assert_uint_eq(info->state, CYCLE_SEALED);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 1);
	info->cuda_state = CUDA_SETTLED;
	ck_assert_uint_eq(batch_write(&config, false, done), 1);
	ck_assert_uint_eq(info->state, CYCLE_WRITTEN);
	ck_assert_uint_eq(files, 1);
	ck_assert_int_eq(access(last, F_OK), 0);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 0);
	ck_assert_uint_eq(spool.head->totals.events[REC_CALL], 1);
	ck_assert_uint_eq(spool.head->totals.cuda[CUDA_DROPPED], 2);
	ck_assert_uint_eq(spool.head->totals.cuda[CUDA_MISSING], 1);
	ck_assert_uint_eq(batch_write(&config, false, done), 0);
	close_spool();
}
END_TEST

START_TEST(others_do_not_wait_for_it)
{
	struct cycle_info *first, *second;

	open_spool();
	first = cycle(1, CYCLE_SEALED);
	second = cycle(2, CYCLE_SEALED);
	second->cuda_state = CUDA_NONE;
	ck_assert_uint_eq(batch_write(&config, false, done), 1);
	ck_assert_uint_eq(first->state, CYCLE_SEALED);
	ck_assert_uint_eq(second->state, CYCLE_WRITTEN);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 1);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 2), 0);
	close_spool();
}
END_TEST

START_TEST(what_is_thrown_away_waits_too)
{
	struct cycle_info *info;

	open_spool();
	info = cycle(1, CYCLE_DISCARDED);
	ck_assert_uint_eq(batch_write(&config, false, done), 0);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 1);
	info->cuda_state = CUDA_SETTLED;
	ck_assert_uint_eq(batch_write(&config, false, done), 1);
	ck_assert_uint_eq(files, 0);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 0);
	close_spool();
}
END_TEST

/* The other side of it: the finisher says what became of them. */
START_TEST(what_is_handed_over_comes_back)
{
	struct cycle_info *first, *second, *third;
	static struct job_page page;

	open_spool();
	job = &page;
	first = cycle(1, CYCLE_SEALED);
	second = cycle(2, CYCLE_SEALED);
	third = cycle(3, CYCLE_DISCARDED);
	first->cuda_state = second->cuda_state = CUDA_NONE;
	batch_hand_over();
	ck_assert_uint_eq(page.handed, 1);
	ck_assert_uint_eq(first->state, CYCLE_QUIET);
	ck_assert_uint_eq(third->state, CYCLE_DISCARDED); /* its GPU part comes in */
	ck_assert_uint_eq(batch_pending(), 3);
	batch_collect();
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 1);
	first->state = CYCLE_WRITTEN;
	second->state = CYCLE_BROKEN;
	third->cuda_state = CUDA_NONE;
	batch_collect();
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 0);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 2), 1); /* recover's */
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 3), 0);
	ck_assert_uint_eq(batch_pending(), 0);
	ck_assert_uint_eq(files, 0);
	job = NULL;
	close_spool();
}
END_TEST

START_TEST(what_was_handed_over_is_written_where_nobody_takes_it)
{
	static struct job_page page;
	struct cycle_info *info;

	open_spool();
	job = &page;
	info = cycle(1, CYCLE_SEALED);
	info->cuda_state = CUDA_NONE;
	batch_hand_over();
	ck_assert_uint_eq(batch_write(&config, false, done), 0);
	ck_assert_uint_eq(batch_write(&config, true, done), 1);
	ck_assert_uint_eq(info->state, CYCLE_WRITTEN);
	ck_assert_uint_eq(files, 1);
	job = NULL;
	close_spool();
}
END_TEST

/* A descriptor is kept a little longer than its window, but not for ever. */
START_TEST(descriptors_are_used_again)
{
	unsigned most = 0;

	open_spool();
	for (unsigned i = 1; i <= 100; i++) {
		unsigned n = 0;

		cycle(i, CYCLE_SEALED)->cuda_state = CUDA_NONE;
		ck_assert_uint_eq(batch_write(&config, false, done), 1);
		for (unsigned k = 1; k <= i; k++)
			n += chunks(CHUNK_CYCLE, k);
		most = n > most ? n : most;
	}
	ck_assert_uint_eq(files, 100);
	ck_assert_uint_le(most, 17);
	close_spool();
}
END_TEST

static char paths[8][4096];

static void note(const char *path)
{
	fmt(paths[files++ % 8], sizeof(paths[0]), "%s", path);
}

/* Wherever their descriptors lie. */
START_TEST(the_oldest_window_comes_first)
{
	static const unsigned numbers[] = { 3, 1, 4, 2, 5 };
	char want[32];

	open_spool();
	for (unsigned i = 0; i < 5; i++)
		cycle(numbers[i], CYCLE_SEALED)->cuda_state = CUDA_NONE;
	ck_assert_uint_eq(batch_write(&config, false, note), 5);
	ck_assert_uint_eq(files, 5);
	for (unsigned i = 0; i < 5; i++) {
		fmt(want, sizeof(want), "170000000000000000%u", 1 + i);
		ck_assert_msg(strstr(paths[i], want) != NULL, "%s", paths[i]);
	}
	close_spool();
}
END_TEST

/* What is counted as dropped has a reason: here it is not that it came late. */
START_TEST(drops_keep_their_reason)
{
	struct cycle_info *info;

	open_spool();
	info = cycle(1, CYCLE_SEALED);
	info->cuda_state = CUDA_NONE;
	info->drops[REC_OP] = info->whys[DROP_CAP] = 5;
	ck_assert_uint_eq(batch_write(&config, false, done), 1);
	ck_assert_uint_eq(spool.head->totals.drops[REC_OP], 5);
	ck_assert_uint_eq(spool.head->totals.whys[DROP_CAP], 5);
	ck_assert_uint_eq(spool.head->totals.whys[DROP_LATE], 0);
	close_spool();
}
END_TEST

START_TEST(what_came_late_is_counted_once)
{
	struct rec_thread *t;
	struct cycle_info *info;
	struct rec_op *op;
	uint64_t at;

	open_spool();
	info = cycle(1, CYCLE_SEALED);
	info->cuda_state = CUDA_NONE;
	at = chunk_take(CHUNK_DATA, CHUNK_SMALL, 1);
	t = (struct rec_thread *)(chunk_at(at) + 1);
	*t = (struct rec_thread){
		.r = { .kind = REC_THREAD,
		       .units = sizeof(*t) / 8,
		       .begin = info->begin },
		.tid = 7,
	};
	op = (struct rec_op *)(t + 1);
	for (int i = 0; i < 2; i++)
		op[i] = (struct rec_op){
			.r = { .kind = REC_OP,
			       .units = sizeof(*op) / 8,
			       .begin = info->end + 1 },
			.seq = -1,
		};
	chunk_at(at)->used = sizeof(struct chunk) + sizeof(*t) + 2 * sizeof(*op);
	ck_assert_uint_eq(batch_write(&config, false, done), 1);
	ck_assert_uint_eq(spool.head->totals.drops[REC_OP], 2);
	ck_assert_uint_eq(spool.head->totals.whys[DROP_LATE], 2);
	close_spool();
}
END_TEST

/* What a parent has handed over is none of its fork's. */
START_TEST(a_fork_has_handed_over_nothing)
{
	static struct job_page page;

	open_spool();
	job = &page;
	cycle(1, CYCLE_SEALED)->cuda_state = CUDA_NONE;
	cycle(2, CYCLE_SEALED); /* its GPU work is still to come */
	batch_hand_over();
	ck_assert_uint_eq(batch_pending(), 2);
	batch_forget();
	ck_assert_uint_eq(batch_pending(), 0);
	ck_assert(!batch_forgotten(INT64_MAX));
	job = NULL;
	close_spool();
}
END_TEST

/* A finisher that is there, but late, is not asked for at each look. */
START_TEST(a_late_finisher_is_asked_for_more_and_more_seldom)
{
	static const int after[] = { 0, 10, 30, 70, 110, 150 }; /* the first time */
	static struct job_page page;
	int64_t start = sys_clock_ns(CLOCK_MONOTONIC), second = 1000000000, first = 0;
	struct cycle_info *info;
	unsigned asked = 0;

	open_spool();
	job = &page;
	info = cycle(1, CYCLE_SEALED);
	info->cuda_state = CUDA_NONE;
	batch_hand_over();
	ck_assert(!batch_forgotten(start + 9 * second));
	for (int64_t s = 0; asked < sizeof(after) / sizeof(*after); s++) {
		if (!batch_forgotten(start + s * second))
			continue;
		first = first ? first : s;
		ck_assert_int_eq(s - first, after[asked++]);
	}
	/* The next one gets its ten seconds. */
	info->state = CYCLE_WRITTEN;
	batch_collect();
	ck_assert(!batch_forgotten(start + 1000 * second));
	cycle(2, CYCLE_SEALED)->cuda_state = CUDA_NONE;
	start = sys_clock_ns(CLOCK_MONOTONIC);
	batch_hand_over();
	ck_assert(!batch_forgotten(start + 9 * second));
	ck_assert(batch_forgotten(start + 30 * second));
	job = NULL;
	close_spool();
}
END_TEST

static unsigned maps; /* that are still given where `few` */
static bool few;

/* For all of the program: the C library's own maps are asked for elsewhere. */
void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	if (few && !(maps && maps--))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
}

/* Who is told that a cycle was dealt with asks for the next one at once. */
START_TEST(without_memory_nothing_is_dealt_with)
{
	struct cycle_info *info;

	open_spool();
	info = cycle(1, CYCLE_SEALED);
	info->cuda_state = CUDA_NONE;
	for (unsigned given = 0; given < 3; given++) {
		maps = given;
		few = true;
		ck_assert_uint_eq(batch_write(&config, false, done), 0);
		few = false;
		ck_assert_uint_eq(batch_failed(), 1);
		ck_assert_uint_eq(info->state, CYCLE_SEALED);
	}
	ck_assert_uint_eq(batch_write(&config, false, done), 1);
	ck_assert_uint_eq(batch_failed(), 0);
	ck_assert_uint_eq(files, 1);
	close_spool();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("batch");

	tcase_add_test(tc, a_cycle_waits_for_its_gpu);
	tcase_add_test(tc, others_do_not_wait_for_it);
	tcase_add_test(tc, what_is_thrown_away_waits_too);
	tcase_add_test(tc, what_is_handed_over_comes_back);
	tcase_add_test(tc, what_was_handed_over_is_written_where_nobody_takes_it);
	tcase_add_test(tc, descriptors_are_used_again);
	tcase_add_test(tc, the_oldest_window_comes_first);
	tcase_add_test(tc, drops_keep_their_reason);
	tcase_add_test(tc, what_came_late_is_counted_once);
	tcase_add_test(tc, a_fork_has_handed_over_nothing);
	tcase_add_test(tc, a_late_finisher_is_asked_for_more_and_more_seldom);
	tcase_add_test(tc, without_memory_nothing_is_dealt_with);
	return unit_run(tc, "writer batch");
}
