/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that is linked into the program is out of the agent's reach: the
 * program calls it directly, and looks no symbol up. Its file's own symbol table
 * tells, where that was not stripped. */
#include "launcher/doctor/malloc.h"
#include "launcher/doctor/verdict.h"
#include "launcher/symbols/frames.h"

#include <stdlib.h>
#include <string.h>

/* The path of a library in the loader's list, up to its blank; NULL: the list has
 * none. */
static const char *loaded_as(const char *loaded, const char *name)
{
	const char *at = strstr(loaded, name);

	while (at && at > loaded && !strchr(" :\t\n", at[-1]))
		at--;
	return at;
}

static void look_at_allocator(const struct config *c, const char *image,
			      const char *loaded)
{
	static const char *const others[][2] = { { "libjemalloc", "jemalloc" },
						 { "libtcmalloc", "tcmalloc" },
						 { "libmimalloc", "mimalloc" } };
	const char *preload = getenv("LD_PRELOAD") ?: "";
	struct symbol_file f;
	bool own = symbol_file_open(&f, image) && symbol_file_defines(&f, "malloc");

	symbol_file_close(&f);
	if (own) {
		verdict_say(
			c->malloc ? VERDICT_BAD : VERDICT_NOTE,
			"malloc: %s has one of its own inside: what it allocates cannot be recorded",
			image);
		return;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const char *at = loaded_as(loaded, others[i][0]);

		if (!at)
			at = loaded_as(preload, others[i][0]);
		if (!at)
			continue;
		verdict_good("malloc: %s's (%.*s)", others[i][1],
			     (int)strcspn(at, " :\n"), at);
		return;
	}
	verdict_good("malloc: the C library's");
}

void doctor_malloc(const struct config *c, const char *image, const char *loaded)
{
	look_at_allocator(c, image, loaded);
	if (symbol_libdw_open())
		verdict_good("call stacks: libdw is there, for functions and lines");
	else
		verdict_note(
			"call stacks: functions without lines, for there is no libdw.so.1; install libdw1");
}
