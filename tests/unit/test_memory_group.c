/* SPDX-License-Identifier: Apache-2.0 */
/* What control groups leave, in both hierarchies, and what the finisher makes of it. */
#include "base/cpu_group.h"
#include "base/memory_group.h"
#include "base/sys.h"
#include "finisher/share.h"
#include "tests/unit/known_folder.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#define MIB      (1ull << 20)
#define GROUP    "/sys/fs/cgroup"
#define V1       "/sys/fs/cgroup/memory"
#define OWN      "/proc/self/cgroup"
#define A_SECOND 1000000000ll

/* Below /proc/self/cgroup and /sys/fs/cgroup only these files are there. */
static struct {
	const char *path, *text;
} files[8];
static size_t n_files;
static unsigned asked;

static void has(const char *path, const char *text)
{
	files[n_files].path = path;
	files[n_files++].text = text;
}

static void begin_with(const char *groups)
{
	n_files = 0;
	has(OWN, groups);
}

static bool say_files(long nr, const long a[6], long *result)
{
	const char *path = (const char *)a[1];

	if (nr != SYS_openat ||
	    (strcmp(path, OWN) && strncmp(path, GROUP, strlen(GROUP))))
		return false;
	asked += !strcmp(path, OWN);
	*result = -ENOENT;
	for (size_t i = 0; i < n_files; i++)
		if (!strcmp(path, files[i].path))
			*result = seam_text(files[i].text);
	return true;
}

/* ---- what is left ---- */

START_TEST(a_small_control_group_is_a_limit)
{
	static const struct {
		const char *groups, *most, *now;
		uint64_t left;
	} rows[] = {
		{ "0::/mine\n", "536870912\n", "268435456\n", 256 * MIB },
		{ "4:cpu:/other\n1:x:/other\n0::/mine\n", "104857600", "4857600",
		  100000000 },
		{ "0::/mine\n", "max\n", "4096\n", UINT64_MAX },
		{ "0::/mine\n", "1073741824\n", "4096\n", UINT64_MAX },
		{ "0::/mine\n", "1073741823\n", "0\n", 1073741823 },
		{ "0::/mine\n", "536870912\n", "536870913\n", 0 },
		{ "0::/mine\n", "99999999999999999999999999\n", "1\n", UINT64_MAX },
		{ "4:memory:/mine\n", "536870912\n", "1\n", UINT64_MAX },
		{ "", "536870912\n", "1\n", UINT64_MAX },
	};

	seam = say_files;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin_with(rows[i].groups);
		has(GROUP "/mine/memory.max", rows[i].most);
		has(GROUP "/mine/memory.current", rows[i].now);
		ck_assert_uint_eq(memory_group_left(), rows[i].left);
	}
}
END_TEST

START_TEST(the_older_hierarchy_is_asked_as_well)
{
	static const struct {
		const char *groups;
		uint64_t left;
	} rows[] = {
		{ "4:memory:/mine\n0::/\n", 99 * MIB },
		{ "4:cpu,memory,pids:/mine\n", 99 * MIB },
		{ "4:cpu,memory:/mine", 99 * MIB },
		{ "5:memory_more:/mine\n", UINT64_MAX },
		{ "5:name=memory:/mine\n", UINT64_MAX },
		{ "5:cpu:/mine:memory:/mine\n", UINT64_MAX },
		{ "5\n5:memory\n", UINT64_MAX },
	};

	seam = say_files;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin_with(rows[i].groups);
		has(V1 "/mine/memory.limit_in_bytes", "104857600\n");
		has(V1 "/mine/memory.usage_in_bytes", "1048576\n");
		has(V1 "/memory.limit_in_bytes", "9223372036854771712\n");
		ck_assert_uint_eq(memory_group_left(), rows[i].left);
	}
	/* A container sees the path of its host, and its own group as the root. */
	begin_with("4:memory:/docker/0123\n");
	has(V1 "/memory.limit_in_bytes", "4194304\n");
	has(V1 "/memory.usage_in_bytes", "1048576\n");
	ck_assert_uint_eq(memory_group_left(), 3 * MIB);
}
END_TEST

/* A service's limit is its slice's, or a container's whole. */
START_TEST(a_group_above_limits_as_well)
{
	seam = say_files;
	begin_with("0::/above/mine\n");
	has(GROUP "/above/mine/memory.max", "max\n");
	has(GROUP "/above/mine/memory.current", "2000\n");
	has(GROUP "/above/memory.current", "1000\n");
	has(GROUP "/memory.current", "1000\n");
	ck_assert_uint_eq(memory_group_left(), UINT64_MAX);
	has(GROUP "/above/memory.max", "104857600\n");
	ck_assert_uint_eq(memory_group_left(), 104856600);
	has(GROUP "/memory.max", "1001000\n");
	ck_assert_uint_eq(memory_group_left(), 1000000);
	files[1].text = "3000\n";
	ck_assert_uint_eq(memory_group_left(), 1000);
	files[0].text = "0::/\n";
	ck_assert_uint_eq(memory_group_left(), 1000000);
}
END_TEST

START_TEST(pages_of_files_are_room)
{
	seam = say_files;
	begin_with("0::/mine\n");
	has(GROUP "/mine/memory.max", "10485760\n");
	has(GROUP "/mine/memory.current", "10485760\n");
	has(GROUP "/mine/memory.stat",
	    "anon 1048576\nfile 5242880\nkernel 3000\nkernel_stack 16\npagetables 32\n"
	    "shmem 2097152\nfile_mapped 7\nunevictable 64\nslab_reclaimable 9\n"
	    "slab_unreclaimable 128\nslab 137\nanon_thp 4\n");
	ck_assert_uint_eq(memory_group_left(), 0);
	ck_assert_uint_eq(memory_group_room(), 7 * MIB - 16 - 32 - 64 - 128);
	begin_with("4:memory:/mine\n");
	has(V1 "/mine/memory.limit_in_bytes", "10485760\n");
	has(V1 "/mine/memory.stat",
	    "cache 9\nrss 5\ntotal_cache 900000\ntotal_rss 1048576\n"
	    "total_rss_huge 1048576\ntotal_shmem 1048576\ntotal_unevictable 4\n");
	ck_assert_uint_eq(memory_group_room(), 8 * MIB - 4);
	n_files = 2; /* a kernel without memory.stat: nobody knows */
	ck_assert_uint_eq(memory_group_room(), 0);
}
END_TEST

/* ---- CPU time ---- */

START_TEST(quota_is_the_least_on_the_way_to_the_root)
{
	static const struct {
		const char *text;
		uint64_t quota;
	} rows[] = {
		{ "max 100000\n", UINT64_MAX },
		{ "400000 100000\n", 400 },
		{ "150000 100000\n", 150 },
		{ "1000 100000", 1 },
		{ "100000\n", UINT64_MAX },
		{ "100000 0\n", UINT64_MAX },
		{ "100000 max\n", UINT64_MAX },
		{ "-1 100000\n", UINT64_MAX },
		{ "", UINT64_MAX },
		{ "9999999999999 1\n", UINT64_MAX },
	};

	seam = say_files;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin_with("0::/above/mine\n");
		has(GROUP "/above/mine/cpu.max", rows[i].text);
		ck_assert_uint_eq(cpu_group_quota(), rows[i].quota);
	}
	begin_with("0::/above/mine\n");
	ck_assert_uint_eq(cpu_group_quota(), UINT64_MAX);
	has(GROUP "/above/mine/cpu.max", "800000 100000\n");
	has(GROUP "/above/cpu.max", "200000 100000\n");
	ck_assert_uint_eq(cpu_group_quota(), 200);
	has(GROUP "/cpu.max", "100000 100000\n"); /* a container's own group */
	ck_assert_uint_eq(cpu_group_quota(), 100);
}
END_TEST

START_TEST(part_of_a_cpu_is_one)
{
	static const struct {
		uint64_t quota;
		unsigned usable;
	} rows[] = { { 0, 1 },   { 1, 1 },   { 100, 1 }, { 101, 2 },       { 150, 2 },
		     { 400, 4 }, { 799, 8 }, { 800, 8 }, { UINT64_MAX, 8 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ck_assert_uint_eq(cpu_group_usable(8, rows[i].quota), rows[i].usable);
}
END_TEST

START_TEST(quota_of_the_older_hierarchy)
{
	seam = say_files;
	begin_with("5:cpu,cpuacct:/mine\n0::/mine\n");
	has(GROUP "/cpu/mine/cpu.cfs_period_us", "50000\n");
	ck_assert_uint_eq(cpu_group_quota(), UINT64_MAX);
	has(GROUP "/cpu/mine/cpu.cfs_quota_us", "-1\n");
	ck_assert_uint_eq(cpu_group_quota(), UINT64_MAX);
	files[n_files - 1].text = "125000\n";
	ck_assert_uint_eq(cpu_group_quota(), 250);
	files[0].text = "5:cpuset:/mine\n";
	ck_assert_uint_eq(cpu_group_quota(), UINT64_MAX);
}
END_TEST

/* ---- what the heap's records may have of it ---- */

static struct share part;

/* A program that holds so much of 8 MiB, and `n` processes whose heap is recorded. */
static uint32_t told_for(const char *held, unsigned n, int64_t now)
{
	begin_with("0::/mine\n");
	has(GROUP "/mine/memory.max", "8388608\n");
	has(GROUP "/mine/memory.stat", held);
	for (size_t i = 0; i < all.n; i++)
		all.at[i]->watched = i < n;
	share_tend(&part, &all, now);
	return job->heap_most;
}

START_TEST(a_quarter_of_the_room_is_for_the_heaps_records)
{
	int fds[2] = { put_spool(4000001, 7, ""), put_spool(4000002, 7, "") };

	lock(fds[0]);
	lock(fds[1]);
	known_find(&all);
	ck_assert_uint_eq(all.n, 2);
	seam = say_files;
	job->memory = 8 * MIB;
	share_start(&part, &page, 256);
	ck_assert_uint_eq(told_for("anon 4194304\n", 1, A_SECOND), 1024);
	/* Not at each look: memory.stat is not free. */
	ck_assert_uint_eq(told_for("anon 0\n", 1, A_SECOND + 99999999), 1024);
	ck_assert_uint_eq(told_for("anon 0\n", 1, 2 * A_SECOND), 2048);
	ck_assert_uint_eq(told_for("anon 0\n", 2, 3 * A_SECOND), 1024);
	/* 0 would be no bound at all. */
	ck_assert_uint_eq(told_for("anon 8388608\n", 1, 4 * A_SECOND), 1);
	ck_assert_uint_eq(told_for("anon 8388608\n", 0, 5 * A_SECOND), 0);
	ck_assert_uint_eq(told_for("anon 4194304\n", 1, 6 * A_SECOND), 1024);
	all.at[0]->state = KNOWN_DEAD;
	ck_assert_uint_eq(told_for("anon 4194304\n", 1, 7 * A_SECOND), 0);
	close(fds[0]);
	close(fds[1]);
}
END_TEST

/* In a group of 256 MiB the spool has 16, or as little as the option says. */
START_TEST(what_a_file_takes_must_be_there)
{
	static const struct {
		uint32_t buffer_mb;
		const char *held;
		bool little;
	} rows[] = {
		{ 256, "anon 218103808\n", false }, /* 48 MiB are left */
		{ 256, "anon 218103809\n", true },
		{ 2, "anon 247463936\n", false }, /* 20 MiB */
		{ 2, "anon 247463937\n", true },
	};

	seam = say_files;
	job->memory = 256 * MIB;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin_with("4:memory:/mine\n0::/mine\n");
		has(GROUP "/mine/memory.max", "268435456\n");
		has(GROUP "/mine/memory.stat", rows[i].held);
		share_start(&part, &page, rows[i].buffer_mb);
		share_tend(&part, &all, A_SECOND);
		ck_assert_int_eq(part.little, rows[i].little);
	}
}
END_TEST

START_TEST(a_roomy_group_is_not_asked)
{
	int fd = put_spool(4000001, 7, "");

	lock(fd);
	known_find(&all);
	seam = say_files;
	asked = 0;
	job->memory = UINT64_MAX;
	share_start(&part, &page, 256);
	ck_assert_uint_eq(told_for("anon 8388608\n", 1, A_SECOND), 0);
	ck_assert(!part.little);
	ck_assert_uint_eq(asked, 0);
	close(fd);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("memory group");

	unit_not_under_thread_sanitizer(
		"it does not know tasks that share its thread's data");
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_small_control_group_is_a_limit);
	tcase_add_test(tc, the_older_hierarchy_is_asked_as_well);
	tcase_add_test(tc, a_group_above_limits_as_well);
	tcase_add_test(tc, pages_of_files_are_room);
	tcase_add_test(tc, quota_is_the_least_on_the_way_to_the_root);
	tcase_add_test(tc, part_of_a_cpu_is_one);
	tcase_add_test(tc, quota_of_the_older_hierarchy);
	tcase_add_test(tc, a_quarter_of_the_room_is_for_the_heaps_records);
	tcase_add_test(tc, what_a_file_takes_must_be_there);
	tcase_add_test(tc, a_roomy_group_is_not_asked);
	return unit_run(tc, "memory group");
}
