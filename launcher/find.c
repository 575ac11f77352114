/* SPDX-License-Identifier: Apache-2.0 */
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

int find_agent(char *path, size_t size)
{
	/* PREFIX/bin/proflaunch finds PREFIX/lib, wherever PREFIX was moved to. */
	static const char *const places[] = { "", "../lib/", "../lib64/",
					      "../lib/proflaunch/" };
	const char *self = find_self(), *slash = strrchr(self, '/');
	char guess[PATH_MAX + 64], real[PATH_MAX];

	for (size_t i = 0; slash && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(guess, sizeof(guess), "%.*s/%s" AGENT, (int)(slash - self), self,
			 places[i]);
		if (access(guess, R_OK) || !realpath(guess, real) || strlen(real) >= size)
			continue;
		strcpy(path, real);
		return 0;
	}
	return -ENOENT;
}
