/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a profile.conf holds: nothing is read or written out of bounds, a refused
 * line changes nothing, and what was taken is the same after printing and reading back.
 */
#include "agent/core/config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* Printed lines, read back: the same configuration, and no line is refused. */
static void check_printed(const struct config *c)
{
	static struct config again;
	static char text[32768], twice[32768];
	size_t n = config_print(c, text, sizeof(text));
	char *line, *next;

	check(n < sizeof(text) && n == strlen(text));
	memcpy(twice, text, n + 1);
	config_defaults(&again);
	for (line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		check(!config_line(&again, line));
	}
	config_print(&again, text, sizeof(text));
	check(!strcmp(text, twice));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config c, before;
	char *text = malloc(size + 1), *line, *next;

	memcpy(text, data, size);
	text[size] = '\0';
	config_defaults(&c);
	for (line = text; line; line = next) {
		char *end = strchr(line, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		before = c;
		if (config_line(&c, line))
			check(!memcmp(&before, &c, sizeof(c)));
	}
	check_printed(&c);
	free(text);
	return 0;
}
