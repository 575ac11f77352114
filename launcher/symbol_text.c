/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/symbol_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MOST 4096 /* of a name as it is shown */

/* libiberty's; its header is not worth another dependency. */
#define WITH_PARAMETERS  (1 << 0)
#define WITH_QUALIFIERS  (1 << 1)
#define AS_DEEP_AS_IT_IS (1 << 18)
int cplus_demangle_v3_callback(const char *mangled, int options,
			       void (*put)(const char *text, size_t len, void *arg),
			       void *arg);

static void put(struct symbol_text *t, const char *text, size_t len)
{
	if (t->room - t->used < len) {
		size_t room = 2 * t->room + len + 65536;
		char *more = realloc(t->mem, room);

		t->failed |= !more;
		if (!more)
			return;
		t->mem = more;
		t->room = room;
	}
	memcpy(t->mem + t->used, text, len);
	t->used += len;
}

struct shown {
	char text[NAME_MOST];
	size_t len;
};

static void keep(const char *text, size_t len, void *arg)
{
	struct shown *s = arg;
	size_t room = sizeof(s->text) - s->len;

	len = len < room ? len : room;
	memcpy(s->text + s->len, text, len);
	s->len += len;
}

/* A template's name can be longer than anybody reads: its begin is shown. */
static void put_name(struct symbol_text *t, const char *name)
{
	static struct shown s;

	s.len = 0;
	if (!name || name[0] != '_' || name[1] != 'Z' ||
	    !cplus_demangle_v3_callback(
		    name, WITH_PARAMETERS | WITH_QUALIFIERS | AS_DEEP_AS_IT_IS, keep,
		    &s)) {
		s.len = 0;
		keep(name ? name : "??", name ? strlen(name) : 2, &s);
	}
	put(t, s.text, s.len);
	if (s.len == sizeof(s.text))
		put(t, "...", 3);
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void symbol_put_line(struct symbol_text *t, const char *name, const char *file,
		     unsigned line)
{
	char number[16];

	/* Some templates are named in DWARF only, and without what they are in. */
	if (name && strncmp(name, "_Z", 2) && strstr(file, "/include/c++/"))
		put(t, "std::", 5);
	put_name(t, name);
	file = base_of(file);
	put(t, " (", 2);
	put(t, file, strlen(file));
	put(t, number, (size_t)snprintf(number, sizeof(number), ":%u)", line) + 1);
}

void symbol_put_offset(struct symbol_text *t, const char *name, const char *module,
		       uint64_t offset)
{
	char number[32];

	put_name(t, name);
	module = base_of(module);
	put(t, " (", 2);
	put(t, module, strlen(module));
	put(t, number,
	    (size_t)snprintf(number, sizeof(number), "+0x%llx)",
			     (unsigned long long)offset) +
		    1);
}

void symbol_put_end(struct symbol_text *t)
{
	put(t, "", 1);
}
