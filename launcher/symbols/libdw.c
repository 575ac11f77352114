/* SPDX-License-Identifier: Apache-2.0 */
/* libdw is opened by dlopen: without it names come from symbol tables, without lines, and
 * nothing else is lost. */
#include "launcher/symbols/libdw.h"
#include "base/bound.h"
#include "launcher/find.h"
#include "launcher/symbols/frames.h"

#include <limits.h>
#include <stdlib.h>

struct symbol_libdw libdw;

/* Looks for a copy beside the launcher, or where the agent lies, before the system's.
 * `make install` puts none there, as libdw needs liblzma and libbz2 as its own system
 * names them. A user may have put one there, with its libelf: for a machine without
 * libdw1, or with an old one. */
static void *open_library(const char *name)
{
	char path[PATH_MAX + 64];
	void *library = NULL;

	for (unsigned n = 0; !library && find_place(n, name, path, sizeof(path)); n++)
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	return library ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

bool symbol_libdw_open(void)
{
	static const struct bound_function all[] = {
#define LIBDW(result, name, arguments) { #name, (void **)&libdw.name },
#include "launcher/symbols/libdw.def"
#undef LIBDW
	};
	static bool tried, good;

	if (tried)
		return good;
	tried = true;
	/* libdw would ask the network for files that are not on this machine. */
	unsetenv("DEBUGINFOD_URLS");
	open_library("libelf.so.1"); /* libdw takes the libelf that is loaded */
	good = bound_all(open_library("libdw.so.1"), all, sizeof(all) / sizeof(*all));
	return good;
}
