/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a call site: its innermost native frames that belong to no allocator and no
 * dispatcher; all native frames where no others are left. */
#include "writer/symbols/site_text.h"
#include "base/fmt.h"
#include "base/frame_text.h"

/* Shortens a long name at its end, but keeps its place in the source. */
static size_t put_name(char *to, const char *name)
{
	const char *place = strrchr(name, '(');
	size_t len = strlen(name), rest = place ? strlen(place) : 0;

	if (len < SITE_WIDE)
		return fmt(to, SITE_WIDE, "%s", name);
	rest = rest < SITE_WIDE / 2 ? rest : 0;
	memcpy(to, name, SITE_WIDE - rest - 5);
	return SITE_WIDE - rest - 5 +
	       fmt(to + SITE_WIDE - rest - 5, rest + 5, "... %s", rest ? place : "");
}

static size_t put_frames(const char *(*frame)(void *arg, unsigned i), void *arg,
			 char *text, bool all)
{
	const char *name;
	size_t len = 0;
	unsigned n = 0;
	bool outside = all, line;

	for (unsigned i = 0; n < SITE_DEPTH && (name = frame(arg, i)); i++) {
		line = frame_place(name, strlen(name));
		/* What the interpreter calls Python for is not what allocates. */
		if (line && !n)
			break;
		outside |= !frame_allocates(name);
		if (!outside || line || (!all && frame_dispatches(name)))
			continue;
		if (n++)
			len += fmt(text + len, 4, " < ");
		len += put_name(text + len, name);
	}
	return len;
}

size_t site_text(const char *(*frame)(void *arg, unsigned i), void *arg,
		 char text[SITE_ROOM])
{
	size_t len = put_frames(frame, arg, text, false);

	return len ? len : put_frames(frame, arg, text, true);
}
