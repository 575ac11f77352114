/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/cupti_bench.h"
#include "tests/unit/spool_open.h"

#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char root[] = "/tmp/test_cupti_XXXXXX";

/* Links <root>/<to> to a file of the fakes, and maps it when asked to. */
static void lay(const char *from, const char *to, bool map)
{
	const char *build = getenv("BUILD");
	char source[PATH_MAX], path[PATH_MAX], real[PATH_MAX];

	snprintf(source, sizeof(source), "%s/fake/%s", build ? build : "build", from);
	ck_assert_msg(realpath(source, real), "%s", source);
	snprintf(path, sizeof(path), "%s/%s", root, to);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	ck_assert_int_eq(symlink(real, path), 0);
	if (map)
		ck_assert_msg(dlopen(path, RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
}

static void is_found(const char *path, int major, bool mapped)
{
	struct found f;
	char want[PATH_MAX], have[PATH_MAX];

	ck_assert(find_library(&f, 13000));
	snprintf(want, sizeof(want), "%s/%s", root, path);
	ck_assert(realpath(want, have));
	strcpy(want, have);
	ck_assert(realpath(f.path, have));
	ck_assert_str_eq(have, want);
	ck_assert_int_eq(f.major, major);
	ck_assert_int_eq(f.mapped, mapped);
}

static void begin(void)
{
	ck_assert(mkdtemp(root));
}

static void end(void)
{
	char command[PATH_MAX + 8];

	snprintf(command, sizeof(command), "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(wheels_of_cuda_12)
{
	begin();
	lay("cudart/libcudart.so.12", "nvidia/cuda_runtime/lib/libcudart.so.12", true);
	lay("12.4/libcupti.so.12", "nvidia/cuda_cupti/lib/libcupti.so.12", false);
	is_found("nvidia/cuda_cupti/lib/libcupti.so.12", 12, false);
	end();
}
END_TEST

START_TEST(wheels_of_cuda_13)
{
	begin();
	lay("cudart/libcudart.so.13", "nvidia/cu13/lib/libcudart.so.13", true);
	lay("13.1/libcupti.so.13", "nvidia/cu13/lib/libcupti.so.13", false);
	is_found("nvidia/cu13/lib/libcupti.so.13", 13, false);
	end();
}
END_TEST

START_TEST(toolkits)
{
	begin();
	lay("cudart/libcudart.so.12", "targets/x86_64-linux/lib/libcudart.so.12", true);
	lay("12.8/libcupti.so.12", "extras/CUPTI/lib64/libcupti.so.12", false);
	is_found("extras/CUPTI/lib64/libcupti.so.12", 12, false);
	end();
}
END_TEST

START_TEST(renamed_sonames)
{
	begin();
	lay("cudart/libcudart-e409450e.so.11.0", "lib/libcudart-e409450e.so.11.0", true);
	lay("11.7/libcupti.so.11.7", "lib/libcupti.so.11.7", false);
	is_found("lib/libcupti.so.11.7", 11, false);
	end();
}
END_TEST

START_TEST(names_without_a_number)
{
	begin();
	lay("cudart/libcudart.so.13", "a/libcudart.so", true);
	lay("12.8/libcupti.so.12", "a/libcupti.so.12", false);
	lay("13.0/libcupti.so.13", "a/libcupti.so.13", false);
	is_found("a/libcupti.so.13", 13, false);
	end();
}
END_TEST

START_TEST(one_that_is_mapped_comes_first)
{
	begin();
	lay("cudart/libcudart.so.13", "a/libcudart.so.13", true);
	lay("13.0/libcupti.so.13", "a/libcupti.so.13", false);
	lay("13.1/libcupti.so.13", "b/libcupti.so.13", true);
	is_found("b/libcupti.so.13", 13, true);
	end();
}
END_TEST

START_TEST(never_another_major)
{
	struct found f;

	begin();
	lay("cudart/libcudart.so.11.0", "a/libcudart.so.11.0", true);
	lay("13.1/libcupti.so.13", "b/libcupti.so.13", true);
	ck_assert(!find_library(&f, 13000));
	ck_assert_int_eq(f.runtime, 11);
	ck_assert_msg(strstr(f.why, "CUPTI 13") && strstr(f.why, "CUDA 11"), "%s", f.why);
	end();
}
END_TEST

START_TEST(two_runtimes)
{
	begin();
	lay("cudart/libcudart.so.12", "a/libcudart.so.12", true);
	lay("cudart/libcudart.so.13", "b/libcudart.so.13", true);
	lay("12.4/libcupti.so.12", "c/libcupti.so.12", true);
	lay("13.0/libcupti.so.13", "b/libcupti.so.13", false);
	is_found("c/libcupti.so.12", 12, true);
	end();
}
END_TEST

/* The newest runtime is the program's: the CUPTI beside it is taken. */
START_TEST(the_newest_runtime_counts)
{
	struct found f;

	begin();
	lay("cudart/libcudart.so.12", "a/libcudart.so.12", true);
	lay("cudart/libcudart.so.13", "b/libcudart.so.13", true);
	lay("12.4/libcupti.so.12", "a/libcupti.so.12", false);
	lay("13.0/libcupti.so.13", "b/libcupti.so.13", false);
	ck_assert(find_library(&f, 13000));
	ck_assert_int_eq(f.runtime, 13);
	ck_assert_int_eq(f.major, 13);
	ck_assert(strstr(f.cudart, "libcudart.so.13"));
	end();
}
END_TEST

/* More copies than anybody has: what does not fit is left out. */
START_TEST(a_dozen_runtimes)
{
	struct found f;
	char from[PATH_MAX], to[PATH_MAX], command[3 * PATH_MAX];

	begin();
	lay("cudart/libcudart.so.12", "a/libcudart.so.12", true);
	snprintf(from, sizeof(from), "%s/a/libcudart.so.12", root);
	for (unsigned i = 0; i < 12; i++) {
		snprintf(to, sizeof(to), "%s/libcudart-%u.so.12", root, i);
		snprintf(command, sizeof(command), "cp -L %s %s", from, to);
		ck_assert_int_eq(system(command), 0);
		ck_assert_msg(dlopen(to, RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
	}
	lay("12.4/libcupti.so.12", "a/libcupti.so.12", false);
	is_found("a/libcupti.so.12", 12, false);
	ck_assert(find_library(&f, 13000));
	ck_assert_int_eq(f.runtime, 12);
	end();
}
END_TEST

/* A runtime that is linked in: what the loader has, as far as the driver can tell. */
START_TEST(no_newer_than_the_driver)
{
	const char *build = getenv("BUILD") ?: "build";
	char command[4 * PATH_MAX], line[PATH_MAX] = "";
	FILE *f;

	snprintf(command, sizeof(command),
		 "LD_LIBRARY_PATH=%s/fake/12.8:%s/fake/13.0 /proc/%d/exe --find %u",
		 build, build, getpid(), _i ? 13000 : 12080);
	f = popen(command, "r");
	ck_assert(f && fgets(line, sizeof(line), f));
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_msg(strstr(line, _i ? "libcupti.so.13" : "libcupti.so.12"), "%s", line);
}
END_TEST

START_TEST(no_cupti_anywhere)
{
	struct found f;

	begin();
	lay("cudart/libcudart.so.11.0", "a/libcudart.so.11.0", true);
	ck_assert(!find_library(&f, 11080));
	ck_assert_msg(strstr(f.why, "nvidia-cuda-cupti-cu11"), "%s", f.why);
	end();
}
END_TEST

/* ---- a program that just ends ---- */

/* Kernels that lie in the spool of a process that is gone. */
static unsigned kernels_in(const char *dir)
{
	char command[PATH_MAX], path[PATH_MAX] = "";
	struct stat st;
	unsigned n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "ls %s/*", dir);
	f = popen(command, "r");
	ck_assert(f && fgets(path, sizeof(path), f));
	pclose(f);
	path[strcspn(path, "\n")] = '\0';
	f = fopen(path, "r");
	ck_assert(f && !fstat(fileno(f), &st));
	spool.base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
	fclose(f);
	ck_assert(spool.base != MAP_FAILED);
	spool.head = (struct spool_header *)spool.base;
	while (bench_record(&(struct cycle_info){ .number = 1 }, REC_KERNEL, n))
		n++;
	return n;
}

/* The driver's own handler at exit takes all with it: ours has to come before. */
START_TEST(exit_fetches_what_is_there)
{
	int status;
	pid_t child;

	begin();
	child = fork();
	if (!child) {
		clock_start();
		gate_start();
		spool_open(root, 16 << 20);
		spool_prepare(16 << 20);
		clock_sample(spool.head);
		config_defaults(&bench.config);
		setenv("FAKE_EXIT", "lost", 1);
		bench_libraries(versions[_i]);
		bench_begin_session();
		bench_open();
		for (int i = 0; i < 7; i++)
			bench_launch("_Z3addPf");
		exit(0); /* the window is still open */
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(kernels_in(root), 7);
	end();
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tc = tcase_create("find");
	struct found f;

	if (argc == 3 && !strcmp(argv[1], "--find")) {
		find_library(&f, (uint32_t)atoi(argv[2]));
		return puts(f.path) < 0;
	}
	tcase_add_test(tc, wheels_of_cuda_12);
	tcase_add_test(tc, wheels_of_cuda_13);
	tcase_add_test(tc, toolkits);
	tcase_add_test(tc, renamed_sonames);
	tcase_add_test(tc, names_without_a_number);
	tcase_add_test(tc, one_that_is_mapped_comes_first);
	tcase_add_test(tc, never_another_major);
	tcase_add_test(tc, two_runtimes);
	tcase_add_test(tc, the_newest_runtime_counts);
	tcase_add_test(tc, a_dozen_runtimes);
	tcase_add_loop_test(tc, no_newer_than_the_driver, 0, 2);
	tcase_add_test(tc, no_cupti_anywhere);
	tcase_add_loop_test(tc, exit_fetches_what_is_there, 0, VERSIONS);
	return unit_run(tc, "which libcupti");
}
