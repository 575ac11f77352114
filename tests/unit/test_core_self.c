/* SPDX-License-Identifier: Apache-2.0 */
/* Who we are, where records may lie, what is said, and what is known of CUDA. */
#include "agent/core/self.h"
#include "base/frame_text.h"
#include "base/log.h"
#include "base/sys.h"
#include "config/cuda_files.h"
#include "config/deny.h"
#include "config/place.h"
#include "tests/unit/seam.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>

/* ---- self ---- */

START_TEST(a_program_is_the_last_part_of_its_path)
{
	static const char *const rows[][2] = {
		{ "/usr/bin/python3", "python3" },
		{ "python3", "python3" },
		{ "/a/b: worker 7", "b:" },
		{ "sshd: x [priv]", "sshd:" },
		{ "", "" },
		{ NULL, "" },
		{ "a\tb\n", "a" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		self_look(rows[i][0]);
		ck_assert_str_eq(self.exe, rows[i][1]);
	}
	ck_assert_uint_eq(self.pid, (uint32_t)getpid());
}
END_TEST

/* Known: its parent is the first of its ancestors, and it is itself. */
static int check_child(uint32_t parent, uint64_t start)
{
	self_fork_child();
	if (self.pid != (uint32_t)getpid() || self.ancestor[0].pid != parent ||
	    self.ancestor[0].start_time != start)
		return 1;
	self_settle(0);
	if (self.ppid != parent || self.start_time != sys_start_time(sys_pid()))
		return 2;
	return self.ancestor[0].pid != parent || self.ancestors < 2;
}

START_TEST(a_childs_first_ancestor_is_its_parent)
{
	int status;
	pid_t pid;

	self_look("test");
	self_settle(0);
	ck_assert_uint_eq(self.ppid, (uint32_t)getppid());
	ck_assert_uint_eq(self.ancestor[0].pid, self.ppid);
	pid = fork();
	if (!pid)
		_exit(check_child(self.pid, self.start_time));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(nobody_above_the_launcher_is_asked_for)
{
	self_look("test");
	self_settle((uint32_t)getppid());
	ck_assert_uint_eq(self.ancestors, 0);
}
END_TEST

/* Each forks the next: the farthest are forgotten. */
START_TEST(a_long_line_of_forks_has_so_many_ancestors)
{
	self_look("test");
	self_settle(0);
	for (int i = 0; i < 200; i++) {
		self.start_time = 1000 + (uint64_t)i;
		self_fork_child();
		ck_assert_uint_le(self.ancestors, SELF_ANCESTORS);
		ck_assert_uint_eq(self.ancestor[0].start_time, 1000 + (uint64_t)i);
		self_settle(0);
	}
	ck_assert_uint_eq(self.ancestors, SELF_ANCESTORS);
}
END_TEST

/* ---- places ---- */

static long file_system, statfs_error;
static char asked[PATH_MAX];

static bool is_on(long nr, const long a[6], long *result)
{
	if (nr != SYS_statfs)
		return false;
	strcpy(asked, (const char *)a[0]);
	((struct statfs *)a[1])->f_type = file_system;
	*result = -statfs_error;
	return true;
}

START_TEST(another_machines_disk_is_not_local)
{
	static const long far[] = { 0x6969,     0x517b,     0xff534d42, 0xfe534d42,
				    0x65735546, 0x01021997, 0x0bd00bd0, 0x00c36400,
				    0x47504653, 0x786f4256 };
	static const long near[] = { 0xef53, 0x58465342, 0x9123683e, 0x794c7630 };

	errno = 4711;
	seam = is_on;
	for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
		file_system = far[i];
		ck_assert_msg(!place_is_local("/tmp"), "%lx", far[i]);
	}
	for (size_t i = 0; i < sizeof(near) / sizeof(*near); i++) {
		file_system = near[i];
		ck_assert(place_is_local("/tmp"));
	}
	/* What is not there yet is where it will be made. */
	ck_assert(place_is_local("/tmp/no/such/folder"));
	ck_assert_str_eq(asked, "/tmp");
	ck_assert(place_is_local("/no_such_folder"));
	ck_assert_str_eq(asked, "/");
	ck_assert(place_is_local("no_such_folder"));
	ck_assert_str_eq(asked, ".");
	ck_assert(place_is_local("no/such/folder"));
	ck_assert_str_eq(asked, ".");
	statfs_error = EIO;
	ck_assert(!place_is_local("/tmp"));
	ck_assert_int_eq(errno, 4711);
}
END_TEST

static struct config config;
static char tmp[64], dir[PATH_MAX];
static const char *why;

/* The log directory is far, TMPDIR is not. */
static bool far_log(long nr, const long a[6], long *result)
{
	if (nr != SYS_statfs)
		return false;
	*result = 0;
	((struct statfs *)a[1])->f_type =
		strncmp((const char *)a[0], "/tmp/unit", 9) ? 0x6969 : 0xef53;
	return true;
}

static void expect_place(bool taken)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/proflaunch-%u", tmp, geteuid());
	errno = 4711;
	ck_assert_int_eq(place_spool(&config, tmp, dir, sizeof(dir), &why), 0);
	ck_assert_int_eq(errno, 4711);
	ck_assert_str_eq(dir, taken ? path : "");
	ck_assert_ptr_nonnull(strstr(why, taken ? "is on a network" : "neither"));
}

START_TEST(in_tmpdir_a_directory_of_ones_own_is_taken)
{
	unsigned before = seam_open_files();
	char path[96];

	seam = far_log;
	config_defaults(&config);
	strcpy(config.logdir, "/far/log");
	strcpy(tmp, "/tmp/unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(tmp));
	snprintf(path, sizeof(path), "%s/proflaunch-%u", tmp, geteuid());
	expect_place(true);
	expect_place(true); /* it is there */
	ck_assert_int_eq(chmod(path, 0770), 0);
	expect_place(false);
	ck_assert_int_eq(chmod(path, 0707), 0);
	expect_place(false);
	ck_assert_int_eq(chmod(path, 0755), 0);
	expect_place(true);
	if (!geteuid()) {
		ck_assert_int_eq(chown(path, 65533, 65533), 0);
		expect_place(false);
	}
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(symlink(tmp, path), 0);
	expect_place(false);
	unlink(path);
	ck_assert_int_eq(symlink("/nowhere", path), 0);
	expect_place(false);
	ck_assert_uint_eq(seam_open_files(), before);
}
END_TEST

START_TEST(an_empty_tmpdir_is_none)
{
	file_system = 0xef53;
	config_defaults(&config);
	strcpy(config.logdir, "/dev/shm/unit/log"); /* never there, where it is small */
	ck_assert_int_eq(place_spool(&config, "", dir, sizeof(dir), &why), 0);
	if (*dir && strncmp(dir, "/dev/shm", 8))
		ck_assert_int_eq(strncmp(dir, "/tmp/proflaunch-", 16), 0);
	if (!strncmp(dir, "/tmp/proflaunch-", 16))
		rmdir(dir); /* stays where somebody has files in it */
	ck_assert_int_ne(strncmp(dir, "/proflaunch-", 12), 0);
}
END_TEST

/* ---- what is said ---- */

static char said[128 * 1024];

static void listen(void (*talk)(void))
{
	char path[] = "/tmp/unit-XXXXXX";
	int fd = mkstemp(path), kept = dup(2);

	dup2(fd, 2);
	talk();
	dup2(kept, 2);
	memset(said, 0, sizeof(said));
	ck_assert_int_ge(pread(fd, said, sizeof(said) - 1, 0), 0);
	unlink(path);
}

static void talk_long(void)
{
	char text[5000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	log_warn("%s", text);
	log_note("%s", "note");
	log_quiet = true;
	log_note("%s", "hidden");
	log_warn("%s", "warning");
}

START_TEST(a_line_is_a_line_and_quiet_is_for_notes)
{
	listen(talk_long);
	ck_assert_int_eq(strncmp(said, "proflaunch[", 11), 0);
	ck_assert_uint_eq(strcspn(said, "\n"), 1023);
	ck_assert_ptr_nonnull(strstr(said, "]: note\n"));
	ck_assert_ptr_null(strstr(said, "hidden"));
	ck_assert_ptr_nonnull(strstr(said, "]: warning\n"));
}
END_TEST

static void talk_much(void)
{
	for (int i = 0; i < 1000; i++)
		log_warn("line %d", i);
}

START_TEST(a_loop_does_not_fill_a_terminal)
{
	unsigned lines = 0;

	listen(talk_much);
	for (const char *p = said; (p = strchr(p, '\n')); p++)
		lines++;
	ck_assert_uint_eq(lines, LOG_MOST + 1);
	ck_assert_ptr_nonnull(strstr(said, "line 49\n"));
	ck_assert_ptr_nonnull(strstr(said, "more lines are not shown\n"));
	ck_assert_ptr_null(strstr(said, "line 50\n"));
}
END_TEST

/* ---- CUDA ---- */

START_TEST(libraries_of_cuda_are_told_by_their_names)
{
	static const struct {
		const char *path;
		int major;
	} rows[] = {
		{ "/a/libcudart.so.12", 12 },   { "libcudart.so", 0 },
		{ "libcudart.so.11.8.89", 11 }, { "/a/libcudart-d0da41ae.so.11.0", 11 },
		{ "libcudartx.so.12", -1 },     { "libcudart.sox", -1 },
		{ "libcuda.so.1", -1 },         { "libcudart", -1 },
		{ "libcudart.a", -1 },          { "/libcudart.so.12/x", -1 },
	};
	char name[64];
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ck_assert_int_eq(cuda_major(rows[i].path, "libcudart"), rows[i].major);
	ck_assert_int_lt(cuda_major("libcudart.so.99999999999999", "libcudart"), 100000);
	while (cuda_cupti_name(name, sizeof(name), 11, n))
		n++;
	ck_assert_uint_eq(n, 9); /* 11.8 to 11.0 */
	ck_assert(cuda_cupti_name(name, sizeof(name), 11, 8));
	ck_assert_str_eq(name, "libcupti.so.11.0");
	ck_assert(cuda_cupti_name(name, sizeof(name), 13, 0));
	ck_assert_str_eq(name, "libcupti.so.13");
	ck_assert(!cuda_cupti_name(name, sizeof(name), 13, 1));
	for (n = 0; n < 5; n++)
		ck_assert(!*cuda_beside(n) || *cuda_beside(n) == '/');
	for (; n < 200; n++)
		ck_assert_ptr_null(cuda_beside(n));
}
END_TEST

static const char *control;

static bool note_control(long nr, const long a[6], long *result)
{
	if (nr != SYS_newfstatat)
		return false;
	*result = strcmp((const char *)a[1], control) ? -ENOENT : 0;
	return true;
}

START_TEST(mps_is_there_where_its_pipe_is)
{
	char *none[] = { "A=b", NULL }, *empty[] = { "CUDA_MPS_PIPE_DIRECTORY=", NULL },
	     *named[] = { "CUDA_MPS_PIPE_DIRECTORY=/pipe", NULL }, path[64];

	seam = note_control;
	control = "/tmp/nvidia-mps/control";
	ck_assert(cuda_mps(none, path, sizeof(path)));
	ck_assert(cuda_mps(empty, path, sizeof(path)));
	ck_assert(!cuda_mps(named, path, sizeof(path)));
	control = "/pipe/control";
	ck_assert(cuda_mps(named, path, sizeof(path)));
	ck_assert_str_eq(path, "/pipe/control");
	ck_assert(!cuda_mps(none, path, sizeof(path)));
}
END_TEST

START_TEST(what_does_harm_is_left_out_and_nothing_else)
{
	const char *sentence;
	unsigned all = deny_look(130000, 13000, true, &sentence);

	ck_assert_uint_eq(all, DENY_USE | DENY_FLUSH | DENY_KERNELS_OFF | DENY_EMPTY);
	ck_assert_ptr_nonnull(strstr(sentence, "under MPS")); /* of the first row */
	ck_assert_uint_eq(deny_look(130000, 13009, true, &sentence) & DENY_USE, DENY_USE);
	ck_assert_uint_eq(deny_look(130000, 13010, true, &sentence) & DENY_USE, 0);
	ck_assert_uint_eq(deny_look(130000, 13009, false, &sentence) & DENY_USE, 0);
	ck_assert_ptr_nonnull(strstr(sentence, "without its Update 1"));
	ck_assert_uint_eq(deny_look(130001, 12090, true, &sentence), DENY_EMPTY);
	ck_assert_uint_eq(deny_look(23, 12050, false, &sentence), DENY_GRAPH_TRACE);
	ck_assert_uint_eq(deny_look(24, 12060, false, &sentence), 0);
	ck_assert_uint_eq(deny_look(26, 12080, false, &sentence), DENY_KERNELS_OFF);
	ck_assert_uint_eq(deny_look(22, 12040, false, &sentence), 0);
	ck_assert_ptr_null(sentence);
	ck_assert_uint_eq(deny_look(130100, 13010, true, &sentence), 0);
}
END_TEST

START_TEST(frames_that_only_pass_on_are_known_by_their_text)
{
	static const char *const inner[] = { "malloc",
					     "malloc+0x12",
					     "operator new(unsigned long)",
					     "std::vector<int>::push_back",
					     "??",
					     "at::detail::empty_cpu" };
	static const char *const outer[] = { "main", "my_malloc", "train::malloc",
					     "at::native::empty", "" };

	for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++)
		ck_assert_msg(frame_allocates(inner[i]), "%s", inner[i]);
	for (size_t i = 0; i < sizeof(outer) / sizeof(*outer); i++)
		ck_assert_msg(!frame_allocates(outer[i]), "%s", outer[i]);
	ck_assert(frame_dispatches("at::Tensor c10::Dispatcher::call<at::Tensor>()"));
	ck_assert(frame_dispatches("c10::impl::call_functor"));
	ck_assert(!frame_dispatches("at::_ops::mm::call"));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("core self");

	tcase_add_test(tc, a_program_is_the_last_part_of_its_path);
	tcase_add_test(tc, a_childs_first_ancestor_is_its_parent);
	tcase_add_test(tc, nobody_above_the_launcher_is_asked_for);
	tcase_add_test(tc, a_long_line_of_forks_has_so_many_ancestors);
	tcase_add_test(tc, another_machines_disk_is_not_local);
	tcase_add_test(tc, in_tmpdir_a_directory_of_ones_own_is_taken);
	tcase_add_test(tc, an_empty_tmpdir_is_none);
	tcase_add_test(tc, a_line_is_a_line_and_quiet_is_for_notes);
	tcase_add_test(tc, a_loop_does_not_fill_a_terminal);
	tcase_add_test(tc, libraries_of_cuda_are_told_by_their_names);
	tcase_add_test(tc, mps_is_there_where_its_pipe_is);
	tcase_add_test(tc, what_does_harm_is_left_out_and_nothing_else);
	tcase_add_test(tc, frames_that_only_pass_on_are_known_by_their_text);
	return unit_run(tc, "core self");
}
