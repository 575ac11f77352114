/* SPDX-License-Identifier: Apache-2.0 */
/* Room doubles, so that a text of n bytes costs O(n), and 4096 bytes more keep short
 * texts to one allocation. A failure stays noted: the caller looks once, at the end. */
#include "launcher/text.h"

#include <stdlib.h>
#include <string.h>

bool text_put(struct text *t, const void *text, size_t len)
{
	if (t->failed)
		return false;
	if (t->room - t->n < len) {
		size_t room = 2 * t->room + len + 4096;
		char *more = realloc(t->mem, room);

		t->failed = !more;
		if (!more)
			return false;
		t->mem = more;
		t->room = room;
	}
	memcpy(t->mem + t->n, text, len);
	t->n += len;
	return true;
}
