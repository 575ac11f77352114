/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a profile.conf holds: nothing is read or written out of bounds, a refused
 * line changes nothing, and what was taken is the same after printing and reading back.
 */
#include "config/config.h"
#include "config/config_comment.h"
#include "config/stages.h"
#include "tests/fuzz/fuzz.h"

#define MOST 3000

/* Pieces that are near to what is accepted: chance alone hardly gets past a name. */
static const char *const pieces[] = {
	"\n",
	" = ",
	"=",
	"\"",
	"'",
	"#",
	" # ",
	" ",
	"\r",
	"logdir",
	"buffer_mb",
	"record_shapes",
	"on",
	"off",
	"256",
	"99999999999",
	"format",
	"json.gz",
	"json|",
	"metadata.",
	"metadata.key = value",
	"metadata.key",
	"on_trace",
	"logdri",
	"buffer-mb",
	"metadata.k = 'v' ",
	"schedule = ",
	"quiet = YES",
	"on_trace = a {} \"b\"",
	"[stage ",
	"[stage val]\n",
	"]",
	"[",
	"stage.val.marker = ",
	"stage.",
	"stage = val=",
	".within",
	"within = ",
	"file = ",
	"python:f|g",
	"preset = hf\n",
	"-",
};
#define PIECES (sizeof(pieces) / sizeof(*pieces))

/* Printed lines, read back: the same configuration, and no line is refused. */
static void check_printed(const struct config *c)
{
	static struct config again;
	static char text[32768], twice[32768];
	size_t n = config_print(c, text, sizeof(text));
	char *line, *next;

	fuzz_require(n < sizeof(text) && n == strlen(text));
	memcpy(twice, text, n + 1);
	config_defaults(&again);
	for (line = text; *line; line = next) {
		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		fuzz_require(!config_line(&again, line));
	}
	config_print(&again, text, sizeof(text));
	fuzz_require(!strcmp(text, twice));
}

/* Whatever was said: texts that end, and as many stages as there is room for. */
static void check_stages(const struct config *c)
{
	static struct stages_row rows[STAGES_MOST];
	char name[STAGES_NAME], suffix[STAGES_TEXT];
	size_t n = stages_of(c, rows);

	fuzz_require(n <= STAGES_MOST && (n || !*c->stages));
	for (unsigned i = 0; i < n; i++) {
		stages_name(c, i + 1, name, sizeof(name));
		stages_suffix(c, i + 1, suffix, sizeof(suffix));
		fuzz_require(*name && !strcmp(name, rows[i].name) && *suffix);
		fuzz_require(!strpbrk(name, ".-/ \n") && !strpbrk(suffix, "/\n"));
	}
	stages_check(c);
}

/* A line of a file, its comment cut off. NULL: it is fine. */
static const char *take_line(struct config *c, char section[STAGES_SECTION], char *line)
{
	if (*line == '[')
		return stages_head(line, section);
	return config_line_in(c, *section ? section : NULL, line);
}

/* A block of its exact size, so that a byte too far is seen. */
static void try_text(const uint8_t *data, size_t size)
{
	static struct config c, before;
	char *text = malloc(size + 1), section[STAGES_SECTION] = "", *line, *next;

	fuzz_require(text);
	memcpy(text, data, size);
	text[size] = '\0';
	config_defaults(&c);
	for (line = text; line; line = next) {
		char *end = strchr(line, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		before = c;
		config_comment_cut(line);
		if (take_line(&c, section, line))
			fuzz_require(!memcmp(&before, &c, sizeof(c)));
	}
	check_printed(&c);
	check_stages(&c);
	free(text);
}

int main(int argc, char **argv)
{
	static uint8_t data[MOST];

	while (fuzz_goes_on(argc, argv)) {
		size_t size = 0, want = fuzz_below(fuzz_below(8) ? 200 : MOST);

		while (size < want) {
			const char *piece = pieces[fuzz_below(PIECES)];
			size_t len = strlen(piece),
			       times = fuzz_below(30) ? 1 : fuzz_below(200);

			for (; times-- && size + len < MOST; size += len)
				memcpy(data + size, piece, len);
			if (size + len >= MOST)
				break;
		}
		if (fuzz_below(4))
			fuzz_mutate(data, size, (unsigned)fuzz_below(8));
		try_text(data, size);
	}
	return 0;
}
