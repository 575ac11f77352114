/* SPDX-License-Identifier: Apache-2.0 */
/* Packs each run's payload, and writes it between the page's two parts. */
#include "report/page/page.h"
#include "report/page/parts.h"
#include "report/page/payload.h"
#include "report/view/difference_view.h"

#include <libdeflate.h>
#include <stdlib.h>

#define LEVEL 9 /* above it a page is 2 % smaller, and takes five times as long */

/* ---- base64 ---- */

/* No byte of it means anything to HTML. */
static void put_base64(FILE *out, const unsigned char *bytes, size_t n)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16;

		three |= i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0;
		three |= i + 2 < n ? bytes[i + 2] : 0;
		putc(digit[three >> 18], out);
		putc(digit[three >> 12 & 63], out);
		putc(i + 1 < n ? digit[three >> 6 & 63] : '=', out);
		putc(i + 2 < n ? digit[three & 63] : '=', out);
	}
}

/* ---- blocks ---- */

/* The lowest byte first, whatever the machine. */
static void put_length(unsigned char *to, size_t n)
{
	for (unsigned i = 0; i < 4; i++)
		to[i] = (unsigned char)(n >> 8 * i);
}

/* Two lengths of 32 bits, the JSON, the columns. NULL: not enough memory, or too long. */
static unsigned char *join_parts(const char *json, size_t json_n,
				 const struct columns *columns)
{
	unsigned char *all = NULL;

	if (json_n <= UINT32_MAX && columns->n <= UINT32_MAX)
		all = malloc(8 + json_n + columns->n);
	if (!all)
		return NULL;
	put_length(all, json_n);
	put_length(all + 4, columns->n);
	memcpy(all + 8, json, json_n);
	if (columns->n)
		memcpy(all + 8 + json_n, columns->bytes, columns->n);
	return all;
}

/* What a file's name may hold is no HTML either. */
static void open_block(FILE *out, const char *kind, const char *title)
{
	fprintf(out, "<script type=\"text/plain\" class=\"%s\" data-title=\"", kind);
	put_base64(out, (const unsigned char *)title, strlen(title));
	fputs("\">", out);
}

/* Writes a block of the page, packed as zlib does. */
static bool put_block(FILE *out, const char *kind, const char *title, const char *json,
		      size_t json_n, const struct columns *columns)
{
	struct libdeflate_compressor *z = libdeflate_alloc_compressor(LEVEL);
	unsigned char *all = join_parts(json, json_n, columns), *packed = NULL;
	size_t n = 8 + json_n + columns->n, room = 0, packed_n = 0;

	if (z && all) {
		room = libdeflate_zlib_compress_bound(z, n);
		packed = malloc(room);
	}
	if (packed)
		packed_n = libdeflate_zlib_compress(z, all, n, packed, room);
	if (packed_n) {
		open_block(out, kind, title);
		put_base64(out, packed, packed_n);
		fputs("</script>\n", out);
	}
	if (z)
		libdeflate_free_compressor(z);
	free(all);
	free(packed);
	return packed_n > 0;
}

/* ---- the page ---- */

/* Parts of the page lie in the program, and have no 0 at their end. */
static void put_part(FILE *out, const char *from, const char *end)
{
	fwrite(from, 1, (size_t)(end - from), out);
}

void page_begin(FILE *out)
{
	put_part(out, parts_head, parts_head_end);
}

void page_end(FILE *out)
{
	put_part(out, parts_tail, parts_tail_end);
}

/* The JSON names texts by their numbers in the columns, which are so made first. */
static bool put_run(FILE *out, struct subject *s, const char *title,
		    const struct excerpt *excerpt)
{
	struct columns columns;
	char *json = NULL;
	size_t json_n = 0;
	FILE *text;
	bool fine;

	if (!columns_make(&columns, s, excerpt))
		return false;
	text = open_memstream(&json, &json_n);
	fine = text && payload_print(s, title, excerpt, &columns, text);
	if (text && fclose(text))
		fine = false;
	fine = fine && put_block(out, "run", title, json, json_n, &columns);
	free(json);
	columns_free(&columns);
	return fine;
}

bool page_run(FILE *out, struct subject *s, const char *title, size_t limit)
{
	struct excerpt excerpt;
	bool fine;

	if (!excerpt_make(&excerpt, s, limit))
		return false;
	fine = put_run(out, s, title, &excerpt);
	excerpt_free(&excerpt);
	return fine;
}

/* ---- two runs ---- */

/* Each step's length in microseconds: a dot of the picture. */
static void put_lengths(FILE *out, const char *key, const struct profile *p)
{
	const struct profile_row *row = NULL;

	for (size_t i = 0; i < p->rows_n && !row; i++)
		if (profile_kind(p, i) == PROFILE_STEP)
			row = &p->rows[i];
	fprintf(out, ", \"%s\": [", key);
	for (size_t i = 0; i < p->steps_n; i++)
		fprintf(out, "%s%.3f", i ? "," : "", profile_value(row, i) / 1000);
	putc(']', out);
}

/* A difference has no slices to draw: its columns are empty. */
bool page_difference(FILE *out, const struct difference *d)
{
	static const struct columns none;
	char *json = NULL;
	size_t json_n = 0;
	FILE *text = open_memstream(&json, &json_n);
	struct screen screen = { .out = text };
	bool fine = text;

	if (fine) {
		fputs("{\"rows\": ", text);
		fine = difference_view_print(d, VIEW_JSON, 0, &screen);
		put_lengths(text, "steps_a", d->a.profile);
		put_lengths(text, "steps_b", d->b.profile);
		putc('}', text);
		fine = !fclose(text) && fine;
	}
	fine = fine && put_block(out, "difference", "", json, json_n, &none);
	free(json);
	return fine;
}
