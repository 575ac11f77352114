/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/symbol_libdw.h"
#include "launcher/find.h"
#include "launcher/symbol_parts.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol_libdw libdw;

/* The copy beside us, or where the agent lies, before the system's. `make install` puts
 * none there, for it needs liblzma and libbz2 as its system names them. There is one
 * where somebody has put it, with its libelf: for a machine without libdw1, or with an
 * old one.
 */
static void *open_library(const char *name)
{
	static const char *const places[] = { "", "../lib/", "../lib64/",
					      "../lib/proflaunch/" };
	const char *self = find_self(), *slash = strrchr(self, '/');
	char path[PATH_MAX + 64];
	void *library;

	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%.*s/%s%s", (int)(slash - self), self,
			 places[i], name);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (library)
			return library;
	}
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

bool symbol_libdw_open(void)
{
	static const struct {
		const char *name;
		void **at;
	} all[] = {
#define LIBDW(result, name, arguments) { #name, (void **)&libdw.name },
#include "launcher/symbol_libdw.def"
#undef LIBDW
	};
	static bool tried, good;
	void *library;

	if (tried)
		return good;
	tried = true;
	/* It would ask the network for what is not on this machine. */
	unsetenv("DEBUGINFOD_URLS");
	open_library("libelf.so.1"); /* libdw takes the one that is there */
	library = open_library("libdw.so.1");
	good = library != NULL;
	for (size_t i = 0; good && i < sizeof(all) / sizeof(*all); i++) {
		*all[i].at = dlsym(library, all[i].name);
		good = *all[i].at != NULL;
	}
	return good;
}
