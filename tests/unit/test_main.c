/* SPDX-License-Identifier: Apache-2.0 */
/* proflaunch's own main: this program is the launcher when it is called so. */
int launcher_main(int argc, char **argv);
#define main launcher_main
#include "launcher/main.c"
#undef main
#include "launcher/find.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>

#define WORDS 16

static char dir[] = "/tmp/test_main-XXXXXX", said[8192], self[4096];

/* What is preloaded is there already: nothing is recorded, all else is as ever. */
int find_agent(char *path, size_t size)
{
	Dl_info c_library = { 0 };

	if (!dladdr(dlsym(RTLD_DEFAULT, "printf"), &c_library))
		return -1;
	snprintf(path, size, "%s", c_library.dli_fname);
	return 0;
}

const char *find_self(void)
{
	return self;
}

bool find_place(unsigned n, const char *name, char *path, size_t size)
{
	(void)n, (void)name, (void)path, (void)size;
	return false;
}

int doctor_main(struct args *a)
{
	(void)a;
	return 0;
}

static void enter(void)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	ck_assert_int_gt(n, 0);
	self[n] = '\0';
	strcpy(dir, "/tmp/test_main-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
}

/* Words are separated by bars. Returns its exit status; `said` is its stderr. */
static int launch(const char *line, const char *out)
{
	char buf[1024], *p = buf, *argv[WORDS + 1] = { "proflaunch" };
	int argc = 1, status = -1, err = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);
	pid_t pid;
	ssize_t n;

	snprintf(buf, sizeof(buf), "%s", line);
	while (p && argc < WORDS)
		argv[argc++] = strsep(&p, "|");
	pid = fork();
	if (!pid) {
		dup2(err, 2);
		dup2(open(out, O_WRONLY), 1);
		exit(launcher_main(argc, argv));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	n = pread(err, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = '\0';
	close(err);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Nothing is started by a line that is not understood. */
START_TEST(wrong_options_start_nothing)
{
	static const char *const lines[] = {
		"--tpyo=x|--|touch|started",
		"--format=xml|--tpyo=x|--|touch|started",
		"doctor|--tpyo=x|--|touch|started",
		"bottleneck|--tpyo=x|--|touch|started",
		"recover|--tpyo=x",
	};

	ck_assert_int_eq(launch(lines[_i], "/dev/null"), 2);
	ck_assert_ptr_nonnull(strstr(said, "--tpyo: no such option"));
	ck_assert_ptr_nonnull(strstr(said, "proflaunch --help lists the options"));
	ck_assert_int_eq(access("started", F_OK), -1);
}
END_TEST

/* What is not heard is not taken. A broken ./profile.conf is what one may want to make
 * anew. */
START_TEST(print_config_takes_no_other_word)
{
	static const struct {
		const char *line;
		int status;
	} rows[] = {
		{ "--print-config|--tpyo", 2 },
		{ "--print-config|--malloc|all", 2 },
		{ "--malloc=all|--print-config", 2 },
		{ "--print-config|here", 2 },
		{ "--print-config|--|true", 2 },
		{ "--print-config|-q", 0 },
		{ "--print-config", 0 },
	};
	int fd = open("profile.conf", O_WRONLY | O_CREAT, 0600);

	ck_assert_int_eq(write(fd, "tpyo = 1\n", 9), 9);
	close(fd);
	ck_assert_int_eq(launch(rows[_i].line, "/dev/null"), rows[_i].status);
	ck_assert_msg(!rows[_i].status == !strstr(said, "no other word goes with it"),
		      "%s", said);
	unlink("profile.conf");
}
END_TEST

START_TEST(what_cannot_be_printed_is_a_failure)
{
	ck_assert_int_eq(launch("--help", "/dev/null"), 0);
	ck_assert_int_eq(launch("--version", "/dev/null"), 0);
	ck_assert_int_eq(launch("--help", "/dev/full"), 1);
	ck_assert_int_eq(launch("--version", "/dev/full"), 1);
}
END_TEST

/* ---- a run ---- */

static long pages;

/* In the place of libc's: another machine. */
long sysconf(int name)
{
	static long (*real)(int);

	if (name == _SC_PHYS_PAGES && pages)
		return pages;
	if (!real)
		real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
	return real(name);
}

START_TEST(no_more_memory_than_there_is)
{
	static const struct {
		const char *line;
		long mib;
		int status;
	} rows[] = {
		{ "--buffer-mb=1025|--|true", 1024, 2 },
		{ "--buffer-mb=1024|--|true", 1024, 0 },
		{ "--|true", 200, 0 },
		{ "--buffer-mb=256|--|true", 200, 0 },
		{ "--buffer-mb=257|--|true", 200, 2 },
	};

	pages = rows[_i].mib * ((1 << 20) / getpagesize());
	ck_assert_int_eq(launch(rows[_i].line, "/dev/null"), rows[_i].status);
	pages = 0;
	ck_assert_msg(!rows[_i].status == !strstr(said, "MiB of memory"), "%s", said);
}
END_TEST

/* Who runs a script that is not executable is a note; what is not there is a warning. */
START_TEST(of_many_ranks_one_speaks)
{
	static const struct {
		const char *rank, *line;
		bool speaks;
	} rows[] = {
		{ "0", "./note.py", true },
		{ "1", "./note.py", false },
		{ "12", "./note.py", false },
		{ "00", "./note.py", true },
		{ "1", "--quiet=off|./note.py", true },
		{ "1", "--quiet|off|./note.py", true },
		{ "0", "--quiet|./note.py", false },
	};

	ck_assert_int_ge(close(open("note.py", O_WRONLY | O_CREAT, 0600)), 0);
	setenv("OMPI_COMM_WORLD_RANK", rows[_i].rank, 1);
	ck_assert_int_eq(launch(rows[_i].line, "/dev/null"), 0);
	ck_assert_msg(!strstr(said, "is not executable") == !rows[_i].speaks, "%s", said);
	ck_assert_int_eq(launch("--|/no/such/command", "/dev/null"), 127);
	ck_assert_ptr_nonnull(strstr(said, "/no/such/command"));
	unsetenv("OMPI_COMM_WORLD_RANK");
}
END_TEST

/* One that was made for nothing goes again; one that was there does not. */
START_TEST(an_empty_directory_stays_where_it_was)
{
	ck_assert_int_eq(mkdir("there", 0777), 0);
	ck_assert_int_eq(launch("--logdir=there|--|true", "/dev/null"), 0);
	ck_assert_int_eq(access("there", F_OK), 0);
	ck_assert_int_eq(launch("--logdir=made|--|true", "/dev/null"), 0);
	ck_assert_int_eq(access("made", F_OK), -1);
}
END_TEST

/* A proflaunch inside has a job of its own: none of its programs went unprofiled. */
START_TEST(a_launcher_inside_is_no_program_without_a_profile)
{
	char line[sizeof(self) + 128];

	snprintf(line, sizeof(line), "--logdir=outer|--|%s|--logdir=inner|--|true", self);
	ck_assert_msg(launch(line, "/dev/null") == 0, "%s", said);
	ck_assert_msg(strstr(said, "1 inner proflaunch job") != NULL, "%s", said);
	ck_assert_msg(strstr(said, "not recorded") == NULL, "%s", said);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tc = tcase_create("main");

	if (argc > 1)
		return launcher_main(argc, argv);
	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_loop_test(tc, wrong_options_start_nothing, 0, 5);
	tcase_add_loop_test(tc, print_config_takes_no_other_word, 0, 7);
	tcase_add_test(tc, what_cannot_be_printed_is_a_failure);
	tcase_add_loop_test(tc, no_more_memory_than_there_is, 0, 5);
	tcase_add_loop_test(tc, of_many_ranks_one_speaks, 0, 7);
	tcase_add_test(tc, an_empty_directory_stays_where_it_was);
	tcase_add_test(tc, a_launcher_inside_is_no_program_without_a_profile);
	return unit_run(tc, "main");
}
