/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes are rows of one file, and which have files of their own. */
#include "agent/core/chunk.h"
#include "tests/unit/task_bench.h"

static struct bench *small_bench(void)
{
	struct bench *b = bench_new(CYCLE_OPEN);

	image_free(b->m);
	b->m = image_new(1000, 0);
	image_thread(b->m, 7, 1, "main");
	image_alloc(b->m, HEAP_MALLOC, 0, 0x1000, 700, 2000);
	image_release(b->m, 0x1000, 3000);
	image_alloc(b->m, HEAP_MALLOC, 0, 0x2000, 300, 4000);
	b->m->head->pid = 77;
	b->m->config.malloc = 3;
	strcpy(b->m->config.logdir, b->m->dir);
	config_print(&b->m->config, b->m->head->config, sizeof(b->m->head->config));
	b->how.logdir = b->m->dir;
	close(b->task.fd);
	b->task.fd = image_file(b->m);
	b->task.dead = true;
	return b;
}

START_TEST(a_small_process_is_a_row_once_there_are_many)
{
	struct bench *b = small_bench();
	char path[512];
	uint64_t rows;

	atomic_store(&b->shared->own, TASK_OWN);
	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(b->files, 0);
	ck_assert_uint_eq(b->shared->totals.rows, 1);
	ck_assert_int_eq(
		small_write(&b->rows, b->m->dir, "job", false, &rows, path, sizeof(path)),
		0);
	ck_assert_uint_eq(rows, 1);
	spool_image_read(b->m, path);
	ck_assert(json_valid(b->m->text, b->m->len));
	ck_assert_ptr_nonnull(strstr(b->m->text, "\"process\":77,"));
	ck_assert_ptr_nonnull(strstr(b->m->text, "\"peak\":700,"));
	ck_assert_ptr_nonnull(strstr(b->m->text, "\"allocations\":2,"));
	ck_assert_int_eq(
		small_write(&b->rows, b->m->dir, "job", false, &rows, path, sizeof(path)),
		0);
	ck_assert_uint_eq(rows, 0);
	bench_free(b);
}
END_TEST

START_TEST(the_first_the_command_and_each_if_asked_have_files)
{
	for (int i = 0; i < 3; i++) {
		struct bench *b = small_bench();

		atomic_store(&b->shared->own, i ? TASK_OWN : TASK_OWN - 1);
		b->how.launcher = b->m->head->ppid = i == 1 ? 5 : 0;
		if (i == 2) {
			b->m->config.children = CHILDREN_EACH;
			config_print(&b->m->config, b->m->head->config,
				     sizeof(b->m->head->config));
		}
		close(b->task.fd);
		b->task.fd = image_file(b->m);
		ck_assert_int_eq(task_run(&b->task), 0);
		ck_assert_uint_eq(b->files, 1);
		ck_assert_uint_eq(b->shared->totals.rows, 0);
		bench_free(b);
	}
}
END_TEST

/* Small is both: short, and of few bytes. */
START_TEST(what_is_long_or_large_has_a_file)
{
	static const struct {
		uint64_t ticks, bytes;
		unsigned files;
	} cases[] = { { 5000, 300, 0 }, { 2000000000, 300, 1 }, { 5000, 20 << 20, 1 } };

	for (unsigned i = 0; i < 3; i++) {
		struct bench *b = small_bench();

		atomic_store(&b->shared->own, TASK_OWN);
		image_alloc(b->m, HEAP_MALLOC, 0, 0x3000, cases[i].bytes, cases[i].ticks);
		close(b->task.fd);
		b->task.fd = image_file(b->m);
		ck_assert_int_eq(task_run(&b->task), 0);
		ck_assert_uint_eq(b->files, cases[i].files);
		bench_free(b);
	}
}
END_TEST

/* A child that was forked throws the first one away. */
START_TEST(a_process_with_files_counts_once)
{
	struct bench *b = bench_new(CYCLE_QUIET);

	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(atomic_load(&b->shared->own), 1);
	ck_assert(b->task.own);
	b->m->info->state = CYCLE_QUIET; /* its next window */
	b->m->info->number = b->m->data->cycle = 2;
	b->m->info->stamp_ns++;
	close(b->task.fd);
	b->task.fd = image_file(b->m);
	ck_assert_int_eq(task_run(&b->task), 0);
	ck_assert_uint_eq(b->files, 2);
	ck_assert_uint_eq(atomic_load(&b->shared->own), 1);
	bench_free(b);
}
END_TEST

START_TEST(a_window_that_was_thrown_away_does_not_count)
{
	static const struct {
		enum cycle_state state;
		unsigned rows;
	} cases[] = { { CYCLE_DISCARDED, 1 }, { CYCLE_WRITTEN, 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct bench *b = small_bench();
		struct chunk *c = image_chunk_of(b->m, CHUNK_CYCLE, CHUNK_SMALL);
		struct cycle_info *info = (struct cycle_info *)(c + 1);

		c->cycle = 2;
		c->used = sizeof(*c) + sizeof(*info);
		info->number = 2;
		info->state = cases[i].state;
		b->m->head->cycles = 2;
		atomic_store(&b->shared->own, TASK_OWN);
		close(b->task.fd);
		b->task.fd = image_file(b->m);
		ck_assert_int_eq(task_run(&b->task), 0);
		ck_assert_uint_eq(b->shared->totals.rows, cases[i].rows);
		bench_free(b);
	}
}
END_TEST

/* The closing lines name it: whoever held most, be it a child. */
START_TEST(the_largest_peak_is_advised)
{
	static const struct {
		const char *path;
		uint64_t peak;
		const char *last;
	} files[] = {
		{ "/log/a.json", 10, "/log/a.json" },
		{ "/log/b.json", 9, "/log/a.json" },
		{ "/log/children/c.json", 11, "/log/children/c.json" },
		{ "/log/d.json", 11, "/log/d.json" },
		{ "/log/e.json", 0, "/log/d.json" },
	};
	struct shared *s = shared_make();
	struct writer_result result = { .steps = 1 };

	for (unsigned i = 0; i < sizeof(files) / sizeof(*files); i++) {
		fmt(result.path, sizeof(result.path), "%s", files[i].path);
		result.peak = files[i].peak;
		totals_add_result(&s->totals, &result);
		ck_assert_str_eq(s->totals.last_file, files[i].last);
	}
	munmap(s, sizeof(*s));
}
END_TEST

/* The closing lines name it. */
START_TEST(a_childs_file_is_the_last_where_there_is_no_other)
{
	static const char *const paths[] = { "/log/children/a.json",
					     "/log/children/b.json", "/log/mine.json",
					     "/log/children/c.json" };
	static const char *const last[] = { "/log/children/a.json",
					    "/log/children/b.json", "/log/mine.json",
					    "/log/mine.json" };
	struct shared *s = shared_make();
	struct writer_result result = { .steps = 1 };

	for (unsigned i = 0; i < 4; i++) {
		fmt(result.path, sizeof(result.path), "%s", paths[i]);
		totals_add_result(&s->totals, &result);
		ck_assert_str_eq(s->totals.last_file, last[i]);
	}
	munmap(s, sizeof(*s));
}
END_TEST

/* What a shell allocated before it started a program with torch. */
START_TEST(what_was_recorded_until_torch_goes)
{
	static const uint32_t flags[] = { CYCLE_WHOLE | CYCLE_PROVISIONAL, CYCLE_WHOLE,
					  CYCLE_PROVISIONAL };

	for (unsigned i = 0; i < 6; i++) {
		struct bench *b = bench_new(CYCLE_SEALED);

		b->m->info->flags = flags[i / 2];
		close(b->task.fd);
		b->task.fd = image_file(b->m);
		b->task.dead = true;
		atomic_store(&job->told, i % 2 ? JOB_TOLD_TORCH : ~JOB_TOLD_TORCH);
		ck_assert_int_eq(task_run(&b->task), 0);
		ck_assert_uint_eq(b->files, i != 1);
		if (b->files && i / 2 == 0) {
			spool_image_read(b->m, b->path);
			ck_assert_ptr_null(strstr(b->m->text, "first step boundary"));
		}
		bench_free(b);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("task small");

	tcase_add_test(tc, a_small_process_is_a_row_once_there_are_many);
	tcase_add_test(tc, the_first_the_command_and_each_if_asked_have_files);
	tcase_add_test(tc, what_is_long_or_large_has_a_file);
	tcase_add_test(tc, a_process_with_files_counts_once);
	tcase_add_test(tc, a_window_that_was_thrown_away_does_not_count);
	tcase_add_test(tc, the_largest_peak_is_advised);
	tcase_add_test(tc, a_childs_file_is_the_last_where_there_is_no_other);
	tcase_add_test(tc, what_was_recorded_until_torch_goes);
	return unit_run(tc, "task small");
}
