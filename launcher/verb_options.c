/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a verb's command line by its table: what is misspelt, lacks its value or has one
 * too many is said here, what a value means is the verb's. */
#include "launcher/verb_options.h"
#include "base/near.h"
#include "launcher/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_unknown(const struct verb_options *o, const char *arg, size_t len)
{
	char typed[64];
	struct near near;

	snprintf(typed, sizeof(typed), "%.*s", (int)len, arg + 2);
	near = near_begin(typed);
	for (const struct verb_option *row = o->rows; row->name; row++)
		near_try(&near, row->name);
	if (near.best)
		say_warn("--%s: no such option (did you mean --%s?)", typed, near.best);
	else
		say_warn("--%s: no such option; proflaunch %s --help lists them", typed,
			 o->verb);
}

static const struct verb_option *find_row(const struct verb_options *o, const char *name,
					  size_t len)
{
	const struct verb_option *row = o->rows;

	while (row->name && (strlen(row->name) != len || memcmp(row->name, name, len)))
		row++;
	return row->name ? row : NULL;
}

/* Hands an option to the verb. Returns whether it was right. */
static bool hand_over(const struct verb_options *o, const struct verb_option *row,
		      const char *value)
{
	const char *why;

	if (*row->value && (!value || !*value)) {
		say_warn("--%s: its value is missing", row->name);
		return false;
	}
	why = o->take(o->arg, row->name, value);
	if (why)
		say_warn("--%s%s%s: %s", row->name, value ? " " : "", value ? value : "",
			 why);
	return !why;
}

/* Takes an argument that begins with "--". Returns how many words it took; 0 = wrong. */
static unsigned take_long(const struct verb_options *o, char **argv)
{
	const char *equals = strchr(argv[0], '=');
	size_t len = (equals ? (size_t)(equals - argv[0]) : strlen(argv[0])) - 2;
	const struct verb_option *row = find_row(o, argv[0] + 2, len);

	if (!row) {
		say_unknown(o, argv[0], len);
		return 0;
	}
	if (!*row->value && equals) {
		say_warn("--%s: takes no value", row->name);
		return 0;
	}
	if (!*row->value)
		return hand_over(o, row, NULL);
	if (equals)
		return hand_over(o, row, equals + 1);
	return hand_over(o, row, argv[1]) ? 2 : 0;
}

/* Takes -h, -o FILE and -oFILE. Returns how many words it took; 0 = wrong, or, with
 * *other, none of these. */
static unsigned take_short(const struct verb_options *o, char **argv, bool *other)
{
	const struct verb_option *output = find_row(o, "output", 6);
	bool is_output = output && !strncmp(argv[0], "-o", 2);

	*other = !is_output && strcmp(argv[0], "-h") != 0;
	if (*other)
		return 0;
	if (!is_output)
		return hand_over(o, find_row(o, "help", 4), NULL);
	if (argv[0][2])
		return hand_over(o, output, argv[0] + 2);
	return hand_over(o, output, argv[1]) ? 2 : 0;
}

bool verb_options_read(const struct verb_options *o, char **argv, unsigned *n)
{
	char **words = argv;
	unsigned took;
	bool other;

	*n = 0;
	while (*argv) {
		other = strcmp(*argv, "--") == 0;
		took = other;
		if (!took && !strncmp(*argv, "--", 2))
			took = take_long(o, argv);
		else if (!took)
			took = take_short(o, argv, &other);
		if (!took && !other)
			return false;
		if (!took)
			words[(*n)++] = *argv;
		argv += took ? took : 1;
	}
	return true;
}

bool verb_options_number(const char *text, int64_t low, int64_t high, int64_t *to)
{
	char *end;

	errno = 0;
	*to = strtoll(text, &end, 10);
	return !errno && end != text && !*end && *to >= low && *to <= high;
}

bool verb_options_range(const char *text, int64_t *first, int64_t *last)
{
	char begin[32];
	const char *dash = strchr(text, '-');
	size_t len = dash ? (size_t)(dash - text) : strlen(text);

	snprintf(begin, sizeof(begin), "%.*s", (int)(len < 31 ? len : 31), text);
	if (!verb_options_number(begin, 0, INT64_MAX, first))
		return false;
	*last = *first;
	return !dash || verb_options_number(dash + 1, *first, INT64_MAX, last);
}

void verb_options_print(const struct verb_options *o)
{
	for (const struct verb_option *row = o->rows; row->name; row++) {
		char left[64];

		snprintf(left, sizeof(left), "  --%s %s", row->name, row->value);
		printf("%-22s %s\n", left, row->text);
	}
}

int verb_options_word(const char *const *list, unsigned n, const char *word)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(word, list[i]))
			return (int)i;
	return -1;
}

int verb_options_printed(void)
{
	return fflush(stdout) || ferror(stdout) ? 2 : 0;
}
