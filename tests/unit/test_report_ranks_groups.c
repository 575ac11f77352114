/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives of some of the ranks: which are joined, and where nobody can tell. */
#include "tests/unit/ranks_files.h"

/* Ranks 0 and 1 exchange in one group, 2 and 3 in another, which is behind by `later`;
 * the odd one of each comes 100 us later. */
static void put_groups(double later, bool named)
{
	for (unsigned i = 0; i < RANKS; i++) {
		double at = i < 2 ? 100 : 100 + later;
		char args[200] = "";

		if (named)
			snprintf(args, sizeof(args),
				 ",\"Process Group Name\":\"%u\",\"Process Group "
				 "Ranks\":\"[%u, %u]\"",
				 1 + i / 2, i / 2 * 2, i / 2 * 2 + 1);
		begin_rank(i);
		for (unsigned k = 0; k < 3; k++) {
			char all_args[300];

			slice(1, "user_annotation",
			      k == 0   ? "ProfilerStep#0"
			      : k == 1 ? "ProfilerStep#1"
				       : "ProfilerStep#2",
			      k * 1000.0, 1000, "");
			snprintf(all_args, sizeof(all_args),
				 "\"correlation\":%u,\"device\":0,\"stream\":8%s", k + 1,
				 args);
			slice(8, "kernel", "ncclDevKernel_AllReduce_Sum_f32(x)",
			      k * 1000 + at + (i % 2 ? 100 : 0), i % 2 ? 50 : 150,
			      all_args);
		}
		end_rank();
	}
	read_all();
}

/* Without a name of the host nobody knows how far the clocks of ranks 2 and 3 are apart:
 * they share nothing with the first rank. */
START_TEST(groups_are_joined_by_themselves)
{
	for (unsigned host = 0; host < 2; host++) {
		teardown();
		setup();
		distributed = host ? "}, \"host_name\": \"h\", \"x\": {" : "";
		put_groups(400, true);
		ck_assert_uint_eq(all.match.n, 6);
		ck_assert_uint_eq(all.match.alone, 0);
		ck_assert_uint_eq(all.unaligned, host ? 0 : 3);
		for (unsigned i = 0; i < RANKS; i++) {
			bool late = i % 2 && (i < 2 || host);

			ck_assert_int_eq(all.row[i].offset, 0);
			ck_assert_int_eq(all.row[i].steps[1].waiting, i % 2 ? 0 : 100000);
			ck_assert_int_eq(all.row[i].steps[1].late, late ? 100000 : 0);
		}
	}
}
END_TEST

/* A rank that the file lists has no collectives, or no file: it may have come last. */
START_TEST(all_ranks_that_are_listed_must_be_there)
{
	for (unsigned n = 2; n <= 3; n++) {
		teardown();
		setup();
		for (unsigned i = 0; i < n; i++) {
			begin_rank(i);
			slice(1, "user_annotation", "ProfilerStep#0", 0, 1000, "");
			if (i < 2)
				slice(8, "kernel", "ncclDevKernel_AllReduce_Sum_f32(x)",
				      100 + i * 50, 100,
				      "\"device\":0,\"Process Group Name\":\"7\","
				      "\"Process Group Ranks\":\"[0, 1, 2]\"");
			end_rank();
		}
		read_all();
		ck_assert_uint_eq(all.match.n, 0);
		ck_assert_uint_eq(all.match.alone, 2);
	}
}
END_TEST

/* The files say that there are groups, and not which one a collective is of. */
START_TEST(groups_that_are_not_said_are_not_guessed)
{
	distributed = ", \"pg_config\": [{\"pg_name\": \"0\", \"pg_size\": 4}, "
		      "{\"pg_size\": 1}, {\"pg_size\": 2, \"ranks\": [0, 1]}]";
	put_groups(400, false);
	ck_assert(all.match.parts);
	ck_assert_uint_eq(all.match.n, 0);
	ck_assert_uint_eq(all.match.alone, 12);
	for (unsigned i = 0; i < RANKS; i++) {
		ck_assert_int_eq(all.row[i].offset, 0);
		ck_assert_int_eq(all.row[i].steps[1].waiting, 0);
		ck_assert_int_eq(all.row[i].steps[1].late, 0);
	}
	teardown();
	setup();
	distributed = ", \"pg_config\": [{\"pg_size\": 4}, {\"pg_size\": 1}, 7]";
	put_groups(0, false);
	ck_assert(!all.match.parts);
	ck_assert_uint_eq(all.match.n, 3);
}
END_TEST

/* Nothing says that there are groups: but one host has one clock. */
START_TEST(one_host_has_one_clock)
{
	distributed = "}, \"host_name\": \"h\", \"x\": {";
	put_groups(400, false);
	ck_assert(all.bounds[2].mixed && all.bounds[3].mixed && !all.bounds[1].mixed);
	ck_assert_uint_eq(all.match.n, 0);
	ck_assert_int_eq(all.row[2].offset, 0);
	ck_assert_int_eq(all.row[0].steps[1].waiting, 0);
	teardown();
	setup();
	distributed = "}, \"host_name\": \"h\", \"x\": {";
	put_groups(60, false);
	ck_assert_uint_eq(all.match.n, 3);
	ck_assert_int_eq(all.row[2].offset, 0);
	teardown();
	setup();
	put_groups(400, false); /* of hosts that nobody names it may be their clocks */
	ck_assert_uint_eq(all.match.n, 3);
	ck_assert_int_eq(all.row[2].offset, 400000);
}
END_TEST

/* A rank of the group has one less in a step: it may have been the last to come. */
START_TEST(groups_collectives_that_one_lacks_are_alone)
{
	for (unsigned i = 0; i < 3; i++) {
		begin_rank(i);
		slice(1, "user_annotation", "ProfilerStep#0", 0, 1000, "");
		for (unsigned k = 0; k < (i == 1 ? 1 : 2); k++)
			slice(8, "kernel", "ncclDevKernel_AllReduce_Sum_f32(x)",
			      100 + 100 * k, 50,
			      "\"device\":0,\"Process Group Name\":\"7\"");
		end_rank();
	}
	read_all();
	ck_assert_uint_eq(all.match.n, 0);
	ck_assert_uint_eq(all.match.alone, 5);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_ranks_groups");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, groups_are_joined_by_themselves);
	tcase_add_test(tc, all_ranks_that_are_listed_must_be_there);
	tcase_add_test(tc, groups_that_are_not_said_are_not_guessed);
	tcase_add_test(tc, one_host_has_one_clock);
	tcase_add_test(tc, groups_collectives_that_one_lacks_are_alone);
	return unit_run(tc, "report_ranks_groups");
}
