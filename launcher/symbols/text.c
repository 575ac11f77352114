/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as text: frames with function, file and line. */
#include "base/text.h"
#include "base/libiberty.h"
#include "launcher/symbols/frames.h"

#include <stdio.h>
#include <string.h>

#define NAME_MOST 4096 /* bytes of a name that are shown */

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

/* Writes a name. A template's name can be longer than anybody reads: its begin is
 * shown. */
static void put_name(struct text *t, const char *name)
{
	static struct shown s;

	s.len = 0;
	if (!name || name[0] != '_' || name[1] != 'Z' ||
	    !cplus_demangle_v3_callback(name, DEMANGLE_WHOLE, keep, &s)) {
		s.len = 0;
		keep(name ? name : "??", name ? strlen(name) : 2, &s);
	}
	text_put(t, s.text, s.len);
	if (s.len == sizeof(s.text))
		text_put(t, "...", 3);
}

static void put_place(struct text *t, const char *name, const char *path,
		      const char *behind)
{
	const char *file = text_base(path);

	put_name(t, name);
	text_put(t, " (", 2);
	text_put(t, file, strlen(file));
	text_put(t, behind, strlen(behind) + 1);
}

void symbol_put_line(struct text *t, const char *name, const char *file, unsigned line)
{
	char number[16];

	snprintf(number, sizeof(number), ":%u)", line);
	/* Some templates are named in DWARF only, and there without their namespace. */
	if (name && strncmp(name, "_Z", 2) && strstr(file, "/include/c++/"))
		text_put(t, "std::", 5);
	put_place(t, name, file, number);
}

void symbol_put_offset(struct text *t, const char *name, const char *module,
		       uint64_t offset)
{
	char number[32];

	snprintf(number, sizeof(number), "+0x%llx)", (unsigned long long)offset);
	put_place(t, name, module, number);
}

void symbol_put_end(struct text *t)
{
	text_put(t, "", 1);
}
