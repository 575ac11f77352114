/* SPDX-License-Identifier: Apache-2.0 */
/* Python's code objects in the spool. */
#include "agent/core/codes.h"
#include "tests/unit/stacks_bench.h"

#include <pthread.h>

static struct code_text text(const char *s)
{
	return (struct code_text){ s, strlen(s) };
}

static uint32_t add_code(const char *file, const char *name, uint32_t line,
			 const char *table)
{
	return codes_add(text(file), text(name), line, CODE_LOCATIONS, text(table));
}

START_TEST(equal_code_is_stored_once)
{
	const struct code *c;
	uint32_t id, others[5];

	open_spool(16 << 20);
	id = add_code("/a/train.py", "step", 12, "table");
	ck_assert_uint_ne(id, 0);
	ck_assert_uint_eq(add_code("/a/train.py", "step", 12, "table"), id);
	others[0] = add_code("/a/train.py", "step", 13, "table");
	others[1] = add_code("/a/train.py", "stop", 12, "table");
	others[2] = add_code("/b/train.py", "step", 12, "table");
	others[3] = add_code("/a/train.py", "step", 12, "tablf");
	others[4] = add_code("/a/train.pys", "tep", 12, "table");
	for (unsigned i = 0; i < 5; i++) {
		ck_assert_uint_ne(others[i], 0);
		for (unsigned k = 0; k < i; k++)
			ck_assert_uint_ne(others[i], others[k]);
		ck_assert_uint_ne(others[i], id);
	}
	c = codes_get(&view, id);
	ck_assert_ptr_nonnull(c);
	ck_assert_str_eq(code_file(c), "/a/train.py");
	ck_assert_str_eq(code_name(c), "step");
	ck_assert_uint_eq(c->table_len, 5);
	ck_assert_mem_eq(code_table(c), "table", 5);
	ck_assert_uint_eq(c->first_line, 12);
	ck_assert_uint_eq(c->lines, CODE_LOCATIONS);
}
END_TEST

START_TEST(what_is_too_long_is_cut)
{
	static char file[CODES_TEXT + 100], table[CODES_TABLE + 100];
	const struct code *c;
	uint32_t id;

	open_spool(16 << 20);
	memset(file, 'f', sizeof(file));
	id = codes_add((struct code_text){ file, sizeof(file) }, text(""), 1, CODE_LNOTAB,
		       (struct code_text){ table, sizeof(table) });
	c = codes_get(&view, id);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(strlen(code_file(c)), CODES_TEXT);
	ck_assert_str_eq(code_name(c), "");
	ck_assert_uint_eq(c->table_len, CODES_TABLE);
}
END_TEST

START_TEST(a_full_spool_has_no_room)
{
	unsigned n = 0;
	char name[32];

	open_spool(1 << 20);
	while (n < 100000) {
		snprintf(name, sizeof(name), "f%u", n);
		if (!add_code("x.py", name, 1, "t"))
			break;
		n++;
	}
	ck_assert_uint_gt(n, 100);
	ck_assert_uint_lt(n, 100000);
	ck_assert_uint_ne(add_code("x.py", "f0", 1, "t"), 0); /* what is there is found */
}
END_TEST

START_TEST(a_fork_child_begins_anew)
{
	uint32_t id;

	open_spool(16 << 20);
	id = add_code("x.py", "f", 1, "t");
	codes_forget();
	ck_assert_uint_ne(add_code("x.py", "f", 1, "t"), id);
}
END_TEST

/* Each number that a reader believes, set to what is not there. */
START_TEST(a_damaged_entry_is_refused)
{
	struct code *c, was;
	uint32_t id;

	open_spool(16 << 20);
	id = add_code("x.py", "f", 1, "t");
	c = (struct code *)(spool.base + (uint64_t)id * 8);
	was = *c;
#define REFUSED(change)                                      \
	do {                                                 \
		change;                                      \
		ck_assert_ptr_null(codes_get(&view, id));    \
		*c = was;                                    \
		ck_assert_ptr_nonnull(codes_get(&view, id)); \
	} while (0)
	REFUSED(c->magic++);
	REFUSED(c->file_len = UINT16_MAX);
	REFUSED(c->file_len++);
	REFUSED(c->name_len++);
	REFUSED(c->name_len = UINT16_MAX);
	REFUSED(c->table_len = UINT32_MAX);
#undef REFUSED
	ck_assert_ptr_null(codes_get(&view, 0));
	ck_assert_ptr_null(codes_get(&view, 1));
	ck_assert_ptr_null(codes_get(&view, UINT32_MAX));
	view.size = (uint64_t)id * 8 + sizeof(*c) + 4;
	ck_assert_ptr_null(codes_get(&view, id));
}
END_TEST

/* ---- threads ---- */

#define THREADS 4
#define NAMES   500

static uint32_t ids[THREADS][NAMES];

static void *add_all(void *arg)
{
	uint32_t *id = arg;
	char name[32];

	for (unsigned i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		id[i] = add_code("x.py", name, i, "t");
	}
	return NULL;
}

START_TEST(threads_get_the_same_ids)
{
	pthread_t thread[THREADS];

	open_spool(16 << 20);
	for (unsigned i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, add_all, ids[i]), 0);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 1; i < THREADS; i++)
		ck_assert_mem_eq(ids[i], ids[0], sizeof(ids[0]));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("codes");

	tcase_add_test(tc, equal_code_is_stored_once);
	tcase_add_test(tc, what_is_too_long_is_cut);
	tcase_add_test(tc, a_full_spool_has_no_room);
	tcase_add_test(tc, a_fork_child_begins_anew);
	tcase_add_test(tc, a_damaged_entry_is_refused);
	tcase_add_test(tc, threads_get_the_same_ids);
	return unit_run(tc, "codes");
}
