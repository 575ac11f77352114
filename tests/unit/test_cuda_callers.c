/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cuda/libraries.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* Who gets the driver's own functions, by the name of the library that asks. */
static const struct {
	const char *name;
	bool nvidia;
} rows[] = {
	{ "libcupti.so.13", true },     { "libcuda.so.1", true },
	{ "libnvrtc.so.12", true },     { "libnvJitLink.so.13", true },
	{ "libnvshmem_host.so", true }, { "libcufile.so.0", true },
	{ "libcublasLt.so.13", false }, { "libcudnn_ops.so.9", false },
	{ "libtorch_cuda.so", false },  { "libmine.so", false },
};

START_TEST(own_functions_by_name)
{
	const char *build = getenv("BUILD");
	char dir[] = "/tmp/test_callers_XXXXXX", source[PATH_MAX], path[PATH_MAX];
	char real[PATH_MAX];
	void *library, *at;

	ck_assert(mkdtemp(dir));
	snprintf(source, sizeof(source), "%s/fake/13.0/libcupti.so.13",
		 build ? build : "build");
	ck_assert_msg(realpath(source, real), "%s", source);
	snprintf(path, sizeof(path), "%s/%s", dir, rows[_i].name);
	ck_assert_int_eq(symlink(real, path), 0);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(library, "%s", dlerror());
	at = dlsym(library, "cuptiGetVersion");
	ck_assert(at);
	ck_assert_int_eq(cuda_is_nvidia(at), rows[_i].nvidia);
	unlink(path);
	rmdir(dir);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("callers");

	tcase_add_loop_test(tc, own_functions_by_name, 0,
			    (int)(sizeof(rows) / sizeof(*rows)));
	return unit_run(tc, "who asks for the driver");
}
