/* SPDX-License-Identifier: Apache-2.0 */
/* Says how far a file could be read. A reason is a constant text of the reader's. */
#include "report/damage.h"
#include "report/input.h"
#include "report/out.h"
#include "report/parse.h"

#include <string.h>

static const char *count_words(uint64_t n)
{
	return out_count(n < INT64_MAX ? (int64_t)n : INT64_MAX);
}

bool damage_is_cut(const char *why)
{
	return !strcmp(why, PARSE_CUT) || !strcmp(why, INPUT_CUT);
}

/* A file that ends may be one that somebody is still writing. */
static const char *broken_hint(const struct damage *d)
{
	return damage_is_cut(d->broken_why) ? " (truncated, or still being written)" : "";
}

static void broken_words(const struct damage *d, char *to, size_t size)
{
	snprintf(to, size,
		 "INCOMPLETE: %s at byte %s%s: what follows is of the events before it",
		 d->broken_why, count_words(d->broken_at), broken_hint(d));
}

static void passed_words(const struct damage *d, char *to, size_t size)
{
	snprintf(to, size,
		 "INCOMPLETE: %s stretch%s of the file %s no JSON and passed over, %s "
		 "bytes, the first at byte %s: events are missing",
		 count_words(d->passed), d->passed == 1 ? "" : "es",
		 d->passed == 1 ? "is" : "are", count_words(d->passed_bytes),
		 count_words(d->passed_at));
}

void damage_words(const struct damage *d, char *to, size_t size)
{
	*to = '\0';
	if (d->broken_why)
		broken_words(d, to, size);
	else if (d->passed)
		passed_words(d, to, size);
}

void damage_print(const struct damage *d, FILE *out)
{
	char line[256];

	if (d->broken_why) {
		broken_words(d, line, sizeof(line));
		fprintf(out, "%s\n", line);
	}
	if (d->passed) {
		passed_words(d, line, sizeof(line));
		fprintf(out, "%s\n", line);
	}
	if (d->repaired)
		fprintf(out,
			"%s event%s no JSON as written (quotes or line ends in names, or "
			"words such as N/A), and %s read by a guess\n",
			count_words(d->repaired), d->repaired == 1 ? " is" : "s are",
			d->repaired == 1 ? "is" : "are");
}

void damage_json(const struct damage *d, FILE *out)
{
	if (d->broken_why)
		fprintf(out, "\"broken_at\": %llu, \"broken_why\": \"%s\"",
			(unsigned long long)d->broken_at, d->broken_why);
	else
		fputs("\"broken_at\": null, \"broken_why\": null", out);
	fprintf(out, ", \"repaired\": %llu, \"passed_over\": %llu",
		(unsigned long long)d->repaired, (unsigned long long)d->passed);
}
