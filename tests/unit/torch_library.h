/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_library - the fake libtorch_cpu (tests/fake/torch.h), mapped under a name.
 *
 * Threads  one.  Memory  a folder that is gone again when it is mapped.
 * Errors   assertions.  Units  none.
 */
#ifndef TESTS_TORCH_LIBRARY_H
#define TESTS_TORCH_LIBRARY_H

#include "agent/torch/torch.h"
#include "tests/fake/torch.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct fake_torch *fake;

static inline void library_copy(const char *from, const char *to)
{
	FILE *in = fopen(from, "r"), *out = fopen(to, "w");
	static char bytes[1 << 16];

	ck_assert_msg(in && out, "%s: make fake", from);
	for (size_t n; (n = fread(bytes, 1, sizeof(bytes), in));)
		ck_assert_uint_eq(fwrite(bytes, 1, n, out), n);
	fclose(in);
	fclose(out);
}

/* `kind`: new, old, half. `version`: what version.py beside its folder says, or NULL. */
static inline void library_map(const char *kind, const char *name, const char *version)
{
	char top[] = "/tmp/proflaunch_torch_XXXXXX", lib[64], path[256], from[256];
	const char *build = getenv("BUILD");
	void *handle;

	ck_assert_ptr_nonnull(mkdtemp(top));
	snprintf(lib, sizeof(lib), "%s/lib", top);
	ck_assert_int_eq(mkdir(lib, 0700), 0);
	snprintf(from, sizeof(from), "%s/fake/torch/%s.so", build ? build : "build",
		 kind);
	snprintf(path, sizeof(path), "%s/%s", lib, name);
	library_copy(from, path);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(handle, "%s", dlerror());
	fake = dlsym(handle, "fake_torch");
	unlink(path);
	snprintf(path, sizeof(path), "%s/version.py", top);
	if (version) {
		FILE *f = fopen(path, "w");

		fprintf(f,
			"from typing import Optional\n__version__ = '%s'\n"
			"debug = False\n",
			version);
		fclose(f);
		abi_find();
		unlink(path);
	}
	rmdir(lib);
	rmdir(top);
}

#endif
