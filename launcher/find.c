/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries are found from the launcher's own path: so an installation, or a build
 * folder, may be moved as a whole. /proc/self/exe is the file that runs, where the
 * loader's word (AT_EXECFN) may be a link or a relative path. */
#include "launcher/find.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define AGENT "libproflaunch.so"

const char *find_self(void)
{
	static char self[PATH_MAX];
	ssize_t n = *self ? 0 : readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *given = (const char *)getauxval(AT_EXECFN);

	if (n > 0)
		self[n] = '\0';
	else if (!*self &&
		 (!given || !realpath(given, self))) /* a chroot without /proc */
		*self = '\0';
	return *self ? self : "proflaunch";
}

bool find_place(unsigned n, const char *name, char *path, size_t size)
{
	/* PREFIX/bin/proflaunch finds PREFIX/lib, wherever PREFIX was moved to. */
	static const char *const places[] = { "", "../lib/proflaunch/", "../lib/",
					      "../lib64/" };
	const char *self = find_self(), *slash = strrchr(self, '/');

	if (!slash || n >= sizeof(places) / sizeof(*places))
		return false;
	snprintf(path, size, "%.*s/%s%s", (int)(slash - self), self, places[n], name);
	return true;
}

int find_agent(char *path, size_t size)
{
	char guess[PATH_MAX + 64], real[PATH_MAX];

	for (unsigned n = 0; find_place(n, AGENT, guess, sizeof(guess)); n++) {
		/* A full path, as LD_PRELOAD is also read by programs that change their
		 * directory, or are started from there. */
		if (access(guess, R_OK) || !realpath(guess, real) || strlen(real) >= size)
			continue;
		strcpy(path, real);
		return 0;
	}
	return -ENOENT;
}
