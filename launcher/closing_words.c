/* SPDX-License-Identifier: Apache-2.0 */
/* Lists and counts as the closing lines put them. */
#include "launcher/closing_words.h"
#include "agent/sched/marker.h"
#include "launcher/say.h"

#include <stdio.h>
#include <string.h>

/* Warns that n things were lost, and by what. */
void closing_warn(uint64_t n, const char *noun, const char *what)
{
	if (n)
		say_warn("%s %s", say_count(n, noun), what);
}

/* Adds an item to a list in words; returns the list's length so far. */
size_t closing_list(char *list, size_t size, size_t n, uint64_t count, const char *what)
{
	if (!count || n >= size)
		return n;
	return n + (size_t)snprintf(list + n, size - n, "%s%s %s", n ? ", " : "",
				    say_number(count), what);
}

static const char *list_tally(const struct tally *t, unsigned most, const char *sign)
{
	static char text[TALLY_ROWS * 96];
	const struct tally_row *r;
	uint64_t others = tally_all(t);
	size_t n = 0;

	text[0] = '\0';
	for (unsigned k = 0; k < most && (r = tally_rank(t, k)); k++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.63s %s%s",
				      n ? ", " : "", *r->name ? r->name : "?",
				      say_number(r->n), sign);
		others -= r->n;
	}
	closing_list(text, sizeof(text), n, others, *sign ? "times others" : "others");
	return text;
}

const char *closing_tally(const struct tally *t, unsigned most)
{
	const struct tally_row *first = tally_rank(t, 0);

	if (first && *first->name && first->n == tally_all(t))
		return first->name;
	return list_tally(t, most, "");
}

const char *closing_seen(const struct tally *t, unsigned most)
{
	return list_tally(t, most, "×");
}

/* MARKER_NONE for a marker that cannot be read: the launcher has refused such a one. */
enum marker_kind closing_marker(const struct closing *c)
{
	struct marker m;

	return marker_parse(&m, c->config->marker) ? MARKER_NONE : m.kind;
}
