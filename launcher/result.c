/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a text until it is whole, so that no half of one is shown. */
#include "launcher/result.h"
#include "launcher/new_file.h"
#include "launcher/pager.h"
#include "launcher/say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool result_may_go_to(const char *path, char *const *sources, size_t n)
{
	char why[8192];

	for (size_t i = 0; path && i < n; i++) {
		if (!new_file_is(path, sources[i]))
			continue;
		say_warn("%s: is one of the traces: name another file", path);
		return false;
	}
	if (!path || new_file_may_be(path, why, sizeof(why)))
		return true;
	say_warn("%s", why);
	return false;
}

mode_t result_most(char *const *sources, size_t n)
{
	mode_t most = 0666;

	for (size_t i = 0; i < n; i++)
		most &= new_file_as(sources[i]);
	return most;
}

bool result_begin(struct result *r)
{
	*r = (struct result){ .most = 0666 };
	r->out = open_memstream(&r->text, &r->len);
	if (!r->out)
		say_warn("%s", strerror(errno));
	return r->out;
}

static bool write_file(const char *path, const struct result *r)
{
	struct new_file f;
	char why[8192];

	if (!new_file_open(&f, path, r->most, why, sizeof(why))) {
		say_warn("%s", why);
		return false;
	}
	fwrite(r->text, 1, r->len, f.out);
	if (new_file_keep(&f, why, sizeof(why)))
		return true;
	say_warn("%s", why);
	return false;
}

bool result_show(struct result *r, const char *path, bool keep)
{
	bool fine = !fclose(r->out);

	if (!fine)
		say_warn("%s", strerror(errno));
	else if (keep && path)
		fine = write_file(path, r);
	else if (keep && !(fine = pager_write(r->text, r->len)))
		say_warn("standard output: %s", strerror(errno));
	free(r->text);
	return fine;
}
