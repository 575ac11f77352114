/* SPDX-License-Identifier: Apache-2.0 */
/* --version, and what a report of a fault should have with it. Each library is asked for
 * as a run asks for it. libdeflate tells its version to the compiler alone: a shared one
 * may be another. */
#include "launcher/version.h"
#include "config/zydis_files.h"
#include "launcher/find.h"
#include "launcher/symbols/frames.h"
#include "launcher/symbols/libdw.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <zlib.h>

#ifndef COMMIT /* the Makefile has it from git */
#define COMMIT ""
#endif
#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void put_name(const char *name)
{
	printf("%-11s ", name);
}

/* The file in which `function` lies, without links: its name often has the version. */
static void put_file_of(const void *function)
{
	Dl_info info;
	char real[PATH_MAX];

	if (!dladdr(function, &info) || !info.dli_fname)
		printf("somewhere");
	else
		printf("%s", realpath(info.dli_fname, real) ? real : info.dli_fname);
}

/* A function that is linked in has no name that the loader could find. */
static void put_linked(const char *name, const char *version, const char *function)
{
	const void *shared = dlsym(RTLD_DEFAULT, function);

	put_name(name);
	printf("%s, ", version);
	if (shared)
		put_file_of(shared);
	else
		printf("linked in");
	putchar('\n');
}

/* Debug symbols are found by it. */
static void put_build_id(const char *path)
{
	uint8_t id[SYMBOL_ID];
	struct symbol_file f;
	unsigned n;

	if (!symbol_file_open(&f, path))
		return;
	n = symbol_file_id(&f, id);
	printf("%s", n ? ", build id " : "");
	for (unsigned i = 0; i < n; i++)
		printf("%02x", id[i]);
	symbol_file_close(&f);
}

static void put_binary(const char *name, const char *path)
{
	put_name(name);
	printf("%s", path);
	put_build_id(path);
	putchar('\n');
}

static void put_agent(void)
{
	char path[PATH_MAX];

	if (!find_agent(path, sizeof(path))) {
		put_binary("agent", path);
		return;
	}
	put_name("agent");
	printf("not found: libproflaunch.so is neither beside proflaunch nor in ../lib\n");
}

static void put_libdw(void)
{
	put_name("libdw");
	if (symbol_libdw_open())
		put_file_of((const void *)libdw.dwfl_begin);
	else
		printf("not found: call stacks have functions without lines (Debian: libdw1)");
	putchar('\n');
}

/* As the agent does: beside itself, then where the loader looks. */
static void *open_zydis(void)
{
	static const char *const files[] = ZYDIS_FILES;
	char path[PATH_MAX + 64];
	size_t folder;
	void *lib = NULL;

	folder = find_agent(path, PATH_MAX) ? 0 : (size_t)(strrchr(path, '/') + 1 - path);
	for (size_t i = 0; folder && !lib && i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path + folder, sizeof(path) - folder, "%s", files[i]);
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	for (size_t i = 0; !lib && i < sizeof(files) / sizeof(*files); i++)
		lib = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
	return lib;
}

static void put_zydis(void)
{
	void *lib = open_zydis();
	void *function = lib ? dlsym(lib, "ZydisGetVersion") : NULL;

	put_name("Zydis");
	if (function)
		put_file_of(function);
	else
		printf("not found: functions that a program calls within itself are no markers (Debian: libzydis4.0)");
	putchar('\n');
}

static void put_system(void)
{
	struct utsname u;

	put_name("C library");
	printf("glibc %s\n", gnu_get_libc_version());
	put_name("kernel");
	if (uname(&u))
		printf("unknown\n");
	else
		printf("%s %s %s\n", u.sysname, u.release, u.machine);
}

void version_print(bool verbose)
{
	printf("proflaunch %s\n", VERSION);
	if (!verbose)
		return;
	put_name("commit");
	printf("%s\n", *COMMIT ? COMMIT : "not told by the build");
	put_name("compiler");
	printf("%s\n", COMPILER);
	put_linked("libdeflate", LIBDEFLATE_VERSION_STRING, "libdeflate_crc32");
	put_linked("zlib", zlibVersion(), "zlibVersion");
	put_binary("launcher", find_self());
	put_agent();
	put_libdw();
	put_zydis();
	put_system();
}
