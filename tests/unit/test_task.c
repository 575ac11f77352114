/* SPDX-License-Identifier: Apache-2.0 */
/* Windows that a process hands over, and those that it leaves behind. */
#include "tests/unit/said.h"
#include "tests/unit/task_bench.h"

static uint64_t state_at(const struct bench *b)
{
	return (uint64_t)((uint8_t *)&b->m->info->state - b->m->base);
}

static uint32_t state_of(const struct bench *b)
{
	uint32_t state = 0;

	ck_assert_int_eq(pread(b->task.fd, &state, sizeof(state), (off_t)state_at(b)),
			 sizeof(state));
	return state;
}

static void set_state(const struct bench *b, uint32_t state)
{
	ck_assert_int_eq(pwrite(b->task.fd, &state, sizeof(state), (off_t)state_at(b)),
			 sizeof(state));
}

START_TEST(a_window_that_was_handed_over_is_written_and_told)
{
	struct bench *b = bench_new(CYCLE_QUIET);

	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(b->files, 1);
	ck_assert_uint_eq(state_of(b), CYCLE_WRITTEN);
	ck_assert_uint_eq(atomic_load(&job_mine->written), 1);
	ck_assert_uint_eq(b->shared->totals.files, 1);
	spool_image_read(b->m, b->path);
	ck_assert_ptr_nonnull(image_event(b->m, "a", 0));
	bench_free(b);
}
END_TEST

START_TEST(a_state_that_is_set_back_makes_no_second_file)
{
	struct bench *b = bench_new(CYCLE_QUIET);

	ck_assert_int_eq(task_run(&b->task), 0);
	set_state(b, CYCLE_QUIET);
	ck_assert_int_eq(task_run(&b->task), 0);
	set_state(b, CYCLE_SEALED);
	b->task.dead = true;
	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(b->files, 1);
	bench_free(b);
}
END_TEST

/* A finisher was killed, and nobody but the spool tells of what it did. */
static void forget(struct bench *b)
{
	munmap(b->shared, sizeof(*b->shared));
	b->shared = shared_make();
	b->how.shared = NULL;
	b->how.totals = &b->shared->totals;
	b->how.own = &b->shared->own;
}

START_TEST(what_a_finisher_wrote_is_not_written_again)
{
	struct rec_heap seen = {
		.r = { .kind = REC_HEAP, .flags = HEAP_HAS_RSS, .begin = 5000 }, .rss = 9
	};
	struct bench *b = bench_new(CYCLE_OPEN);
	char command[512];

	b->task.dead = true;
	b->task.seen = &seen;
	b->task.seen_n = 1;
	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(state_of(b), CYCLE_WRITTEN);
	forget(b);
	b->task.seen_n = 0;
	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(b->files, 1);
	/* Killed between the file and that word: the file has its name. */
	set_state(b, CYCLE_OPEN);
	ck_assert_int_eq(task_run(&b->task), 0);
	fmt(command, sizeof(command), "test $(ls '%s' | wc -l) = 1", b->m->config.logdir);
	ck_assert_int_eq(system(command), 0);
	spool_image_read(b->m, b->path);
	ck_assert_ptr_nonnull(strstr(b->m->text, "{\"bytes\":9}")); /* the first one's */
	bench_free(b);
}
END_TEST

START_TEST(only_what_was_handed_over_is_a_living_process_s)
{
	static const struct {
		enum cycle_state state;
		unsigned alive, dead;
	} cases[] = { { CYCLE_OPEN, 0, 1 },    { CYCLE_SEALED, 0, 1 },
		      { CYCLE_QUIET, 1, 1 },   { CYCLE_BROKEN, 0, 1 },
		      { CYCLE_WRITTEN, 0, 0 }, { CYCLE_DISCARDED, 0, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (int dead = 0; dead < 2; dead++) {
			struct bench *b = bench_new(cases[i].state);

			b->task.dead = dead;
			ck_assert_int_eq(task_run(&b->task), 0);
			ck_assert_uint_eq(b->files,
					  dead ? cases[i].dead : cases[i].alive);
			bench_free(b);
		}
	}
}
END_TEST

START_TEST(a_window_that_cannot_be_written_is_broken)
{
	struct bench *b = bench_new(CYCLE_QUIET);

	b->how.logdir = "/dev/null/none";
	ck_assert_int_ne(task_run(&b->task), 0);
	ck_assert_uint_eq(state_of(b), CYCLE_BROKEN);
	ck_assert_uint_eq(atomic_load(&job_mine->written), 1);
	/* Where there is room again it is written, by whoever comes then. */
	b->how.logdir = b->m->config.logdir;
	b->task.dead = true;
	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(b->files, 1);
	bench_free(b);
}
END_TEST

START_TEST(no_path_of_the_spool_is_followed)
{
	struct bench *b = bench_new(CYCLE_QUIET);
	char mine[256];

	strcpy(b->m->config.logdir, "/dev/null/hostile");
	config_print(&b->m->config, b->m->head->config, sizeof(b->m->head->config));
	strcpy(b->m->head->facts, "file = \"../../up.%t\"\n");
	close(b->task.fd);
	b->task.fd = image_file(b->m);
	fmt(mine, sizeof(mine), "%s/log", b->m->dir);
	b->how.logdir = mine;
	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(b->files, 1);
	ck_assert(!strncmp(b->path, mine, strlen(mine)));
	ck_assert_ptr_null(strstr(b->path, ".."));
	bench_free(b);
}
END_TEST

/* ---- what is seen from outside ---- */

/* Its edges are the window's, too: the last counters of all come as it ends. */
START_TEST(what_was_seen_is_in_the_file)
{
	static const uint64_t within[] = { 5000, 1000, 100000 };
	struct rec_heap seen[] = {
		{ .r = { .kind = REC_HEAP, .flags = HEAP_HAS_RSS, .begin = 500 },
		  .rss = 1 },
		{ .r = { .kind = REC_HEAP, .flags = HEAP_HAS_RSS, .begin = within[_i] },
		  .rss = 123456 },
		{ .r = { .kind = REC_HEAP, .flags = HEAP_HAS_RSS, .begin = 200000 },
		  .rss = 7 },
	};
	struct bench *b = bench_new(CYCLE_QUIET);

	/* Pages of files are told apart where they are known. */
	seen[1].r.end = _i ? 0 : 9000;
	b->task.seen = seen;
	b->task.seen_n = 3;
	ck_assert_int_eq(task_run(&b->task), 0);
	spool_image_read(b->m, b->path);
	ck_assert_ptr_nonnull(
		strstr(b->m->text, _i ? "{\"bytes\":123456}"
				      : "{\"bytes\":123456,\"anonymous\":9000}"));
	ck_assert_ptr_null(image_event(b->m, "RSS", 1)); /* the others are not its own */
	bench_free(b);
}
END_TEST

START_TEST(counters_count_from_the_window_s_begin)
{
	struct rec_heap seen = {
		.r = { .kind = REC_HEAP, .flags = HEAP_HAS_COUNTS, .begin = 50000 },
		.allocs = 110,
		.allocated = 5000,
		.frees = 10,
		.live = 4000,
	};
	struct bench *b = bench_new(CYCLE_QUIET);
	const uint64_t base[SPOOL_COUNTERS] = { 100, 3000, 10, 1000 };

	b->m->config.malloc = 1;
	memcpy(b->m->info->heap_base, base, sizeof(base));
	config_print(&b->m->config, b->m->head->config, sizeof(b->m->head->config));
	close(b->task.fd);
	b->task.fd = image_file(b->m);
	b->task.seen = &seen;
	b->task.seen_n = 1;
	ck_assert_int_eq(task_run(&b->task), 0);
	spool_image_read(b->m, b->path);
	ck_assert_ptr_nonnull(strstr(b->m->text, "{\"live bytes\":2000}"));
	bench_free(b);
}
END_TEST

/* Nobody looked at a process that was there for a moment only. */
START_TEST(the_last_point_of_the_heap_is_what_its_process_counted)
{
	struct bench *b = bench_new(CYCLE_OPEN);
	struct chunk *c = image_chunk_of(b->m, CHUNK_COUNTERS, CHUNK_SMALL);
	struct spool_counters *own = (struct spool_counters *)(c + 1);

	*own = (struct spool_counters){ { 12, 5000, 10, 4200 } };
	c->used = sizeof(*c) + sizeof(*own);
	b->m->head->counters = (uint64_t)((uint8_t *)c - b->m->base);
	b->m->head->exit_ticks = 50000;
	b->m->config.malloc = 1;
	config_print(&b->m->config, b->m->head->config, sizeof(b->m->head->config));
	close(b->task.fd);
	b->task.fd = image_file(b->m);
	b->task.dead = true;
	ck_assert_int_eq(task_run(&b->task), 0);
	spool_image_read(b->m, b->path);
	ck_assert_ptr_nonnull(strstr(b->m->text, "{\"live bytes\":800}"));
	bench_free(b);
}
END_TEST

/* ---- a window that was open as its process went ---- */

START_TEST(a_follower_s_window_ends_as_its_leader_says)
{
	static const struct {
		struct leader_cut cut;
		uint32_t flags;
		bool file, child, after; /* ... an operator that came after that */
	} cases[] = {
		{ { .number = 1, .end = 5000 }, CYCLE_CHILD, true, true, false },
		{ { .number = 1 }, CYCLE_CHILD, true, true, true },
		{ { .number = 0, .end = 5000 }, CYCLE_CHILD, true, true, true },
		{ { .number = 2, .end = 5000 }, CYCLE_CHILD, true, true, true },
		{ { .number = 1, .ours = true }, CYCLE_CHILD, true, false, true },
		{ { .number = 1, .end = 5000, .thrown = true },
		  CYCLE_CHILD | CYCLE_PROVISIONAL,
		  false },
		/* Where its parent's ended nobody knows. */
		{ { .number = 1, .thrown = true }, CYCLE_CHILD, false },
		/* It had steps of its own by then. */
		{ { .number = 1, .end = 5000, .thrown = true }, 0, true, false, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bench *b = bench_new(CYCLE_OPEN);

		image_op(b->m, "after", 6000, 7000);
		b->m->info->flags = cases[i].flags;
		b->m->info->end = 0;
		close(b->task.fd);
		b->task.fd = image_file(b->m);
		b->task.dead = true;
		b->task.cut = cases[i].cut;
		ck_assert_int_eq(task_run(&b->task), 0);
		ck_assert_uint_eq(b->files, cases[i].file);
		if (b->files) {
			spool_image_read(b->m, b->path);
			ck_assert_ptr_nonnull(image_event(b->m, "a", 0));
			ck_assert_int_eq(!!image_event(b->m, "after", 0), cases[i].after);
			ck_assert_int_eq(!!strstr(b->path, "/children/"), cases[i].child);
			/* What is not in the window is not lost. */
			ck_assert_ptr_nonnull(strstr(b->m->text, "\"drops\": {}"));
		}
		bench_free(b);
	}
}
END_TEST

/* ---- a finisher is told to stop ---- */

static int give_up(void)
{
	return 1;
}

START_TEST(what_is_given_up_is_not_done)
{
	struct bench *b = bench_new(CYCLE_QUIET);

	writer_beat = give_up;
	ck_assert_int_eq(task_run(&b->task), -ECANCELED);
	writer_beat = NULL;
	ck_assert_uint_eq(state_of(b), CYCLE_QUIET);
	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(b->files, 1);
	bench_free(b);
}
END_TEST

START_TEST(keys_are_found_until_there_is_no_room)
{
	struct shared *s = shared_make();

	for (uint64_t i = 1; i < 5000; i++)
		shared_set_done(s, "a.spool", i);
	for (uint64_t i = 1; i < 5000; i++)
		ck_assert(shared_is_done(s, "a.spool", i));
	ck_assert(!shared_is_done(s, "b.spool", 1));
	ck_assert(!shared_is_done(s, "a.spool", 5000));
	munmap(s, sizeof(*s));
}
END_TEST

START_TEST(windows_that_do_not_fit_are_counted)
{
	struct bench *b = bench_new(CYCLE_SEALED);

	b->task.dead = true;
	copy_most = 0;
	said_start();
	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_ptr_nonnull(strstr(said(), "1 are left out"));
	ck_assert_uint_eq(b->files, 0);
	bench_free(b);
}
END_TEST

/* A job may have any number of processes; those that are over take no room. */
START_TEST(what_is_over_is_forgotten)
{
	struct shared *s = shared_make();
	struct shared_names lives = { 0 };
	unsigned forgot = 0;
	char name[32];

	shared_set_done(s, "living.spool", 7);
	shared_keep(&lives, "living.spool");
	for (unsigned i = 0; i < 4 * SHARED_DONE; i++) {
		snprintf(name, sizeof(name), "%u.spool", i);
		shared_set_done(s, name, 1);
		ck_assert(shared_is_done(s, name, 1));
		if (!shared_is_crowded(s))
			continue;
		shared_forget(s, &lives);
		ck_assert(!shared_is_crowded(s));
		ck_assert(shared_is_done(s, "living.spool", 7));
		forgot += !shared_is_done(s, name, 1);
	}
	ck_assert_uint_ge(forgot, 7);
	munmap(s, sizeof(*s));
}
END_TEST

/* What lives has filled it: nothing more is remembered, and nobody waits for that. */
START_TEST(a_full_table_takes_no_more)
{
	struct shared *s = shared_make();
	struct shared_names all;

	memset(&all, 0xff, sizeof(all));
	for (unsigned i = 1; i <= 2 * SHARED_DONE; i++) {
		shared_set_done(s, "a.spool", i);
		if (shared_is_crowded(s) && s->done_n < SHARED_DONE * 9 / 10)
			shared_forget(s, &all);
	}
	ck_assert_uint_gt(s->done_n, SHARED_DONE * 9 / 10);
	ck_assert(shared_is_done(s, "a.spool", 1));
	ck_assert(!shared_is_done(s, "b.spool", 1));
	munmap(s, sizeof(*s));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("task");

	tcase_add_test(tc, a_window_that_was_handed_over_is_written_and_told);
	tcase_add_test(tc, a_state_that_is_set_back_makes_no_second_file);
	tcase_add_test(tc, what_a_finisher_wrote_is_not_written_again);
	tcase_add_test(tc, only_what_was_handed_over_is_a_living_process_s);
	tcase_add_test(tc, a_window_that_cannot_be_written_is_broken);
	tcase_add_test(tc, no_path_of_the_spool_is_followed);
	tcase_add_loop_test(tc, what_was_seen_is_in_the_file, 0, 3);
	tcase_add_test(tc, counters_count_from_the_window_s_begin);
	tcase_add_test(tc, the_last_point_of_the_heap_is_what_its_process_counted);
	tcase_add_test(tc, a_follower_s_window_ends_as_its_leader_says);
	tcase_add_test(tc, what_is_given_up_is_not_done);
	tcase_add_test(tc, windows_that_do_not_fit_are_counted);
	tcase_add_test(tc, what_is_over_is_forgotten);
	tcase_add_test(tc, a_full_table_takes_no_more);
	tcase_add_test(tc, keys_are_found_until_there_is_no_room);
	return unit_run(tc, "task");
}
