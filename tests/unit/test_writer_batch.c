/* SPDX-License-Identifier: Apache-2.0 */
/* Which cycles the agent's writer takes, and what becomes of their chunks. */
#include "agent/core/clock.h"
#include "agent/core/fmt.h"
#include "agent/core/gate.h"
#include "agent/core/record_cuda.h"
#include "agent/core/side.h"
#include "tests/unit/unit.h"
#include "writer/batch.h"

#include <string.h>
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
	c->r.begin = c->r.end = (uint64_t)clock_get_ns(CLOCK_REALTIME);
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
	ck_assert_uint_eq(batch_write(&config, done), 0);
	ck_assert_uint_eq(info->state, CYCLE_SEALED);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 1);
	info->cuda_state = CUDA_SETTLED;
	ck_assert_uint_eq(batch_write(&config, done), 1);
	ck_assert_uint_eq(info->state, CYCLE_WRITTEN);
	ck_assert_uint_eq(files, 1);
	ck_assert_int_eq(access(last, F_OK), 0);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 0);
	ck_assert_uint_eq(spool.head->totals.events[REC_CALL], 1);
	ck_assert_uint_eq(spool.head->totals.cuda[CUDA_DROPPED], 2);
	ck_assert_uint_eq(spool.head->totals.cuda[CUDA_MISSING], 1);
	ck_assert_uint_eq(batch_write(&config, done), 0);
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
	ck_assert_uint_eq(batch_write(&config, done), 1);
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
	ck_assert_uint_eq(batch_write(&config, done), 0);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 1);
	info->cuda_state = CUDA_SETTLED;
	ck_assert_uint_eq(batch_write(&config, done), 1);
	ck_assert_uint_eq(files, 0);
	ck_assert_uint_eq(chunks(CHUNK_CUDA, 1), 0);
	close_spool();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("batch");

	tcase_add_test(tc, a_cycle_waits_for_its_gpu);
	tcase_add_test(tc, others_do_not_wait_for_it);
	tcase_add_test(tc, what_is_thrown_away_waits_too);
	return unit_run(tc, "writer batch");
}
