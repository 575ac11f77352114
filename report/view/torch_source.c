/* SPDX-License-Identifier: Apache-2.0 */
/* Writes frames as torch's profiler_util.py does (_build_table, trim_path). */
#include "report/view/torch_source.h"
#include "report/out.h"
#include "report/view/group.h"

#include <stdlib.h>
#include <string.h>

/* How many characters a part of a text has. */
static size_t count_characters(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += (text[i] & 0xc0) != 0x80;
	return n;
}

/* The part of a text behind so many characters. */
static const char *skip_characters(const char *text, const char *end, size_t n)
{
	while (text < end && n--)
		do
			text++;
		while (text < end && (*text & 0xc0) == 0x80);
	return text;
}

/* Frames are parted as group_make does it for torch. */
static const char *frame_end(const char *frame)
{
	return frame + strcspn(frame, (const char[]){ GROUP_FRAME_END, '\0' });
}

size_t torch_source_columns(const char *frames)
{
	size_t widest = 0;

	while (frames && *frames) {
		const char *end = frame_end(frames);
		size_t n = count_characters(frames, (size_t)(end - frames));

		widest = n > widest ? n : widest;
		frames = *end ? end + 1 : end;
	}
	return widest;
}

/* Writes bytes, of which a terminal would obey none. */
static void put_part(FILE *out, const char *text, const char *end)
{
	char *part = strndup(text, (size_t)(end - text));

	out_text(out, part ? part : "?", SIZE_MAX);
	free(part);
}

static void put_frame(FILE *out, const char *frame, const char *end, size_t width,
		      size_t right)
{
	size_t n = count_characters(frame, (size_t)(end - frame));

	if (n > width) {
		fprintf(out, "%*s", (int)(width < right ? right - width : 0), "");
		frame = skip_characters(frame, end, n - width);
		if (width > 3) {
			fputs("...", out);
			frame = skip_characters(frame, end, 3);
		}
		n = width;
	} else if (n < right) {
		fprintf(out, "%*s", (int)(right - n), "");
	}
	put_part(out, frame, end);
	fprintf(out, "%*s", right ? 2 : (int)(width - n) + 2, "");
}

void torch_source_first(FILE *out, const char *frames, size_t width, size_t right)
{
	const char *frame = frames ? frames : "";

	put_frame(out, frame, frame_end(frame), width, right);
}

void torch_source_rest(FILE *out, const char *frames, size_t before, size_t width,
		       size_t right)
{
	const char *end = frames ? frame_end(frames) : "";

	while (*end) {
		const char *frame = end + 1;

		end = frame_end(frame);
		fprintf(out, "%*s", (int)before, "");
		put_frame(out, frame, end, width, right);
		putc('\n', out);
	}
	fprintf(out, "%*s\n", (int)(before + (right ? right : width) + 2), "");
}
