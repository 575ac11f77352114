/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two trace files are of one window: the same bytes, or the same trace_id in
 * their first block. */
#include "writer/twin.h"
#include "base/folder.h"
#include "base/sys.h"
#include "writer/output.h"
#include "writer/pile.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <string.h>
#include <unistd.h>

#define KEY    "\"trace_id\": \""
#define PACKED (2 * OUTPUT_BLOCK) /* more than any first member */

/* False also where a file cannot be read. */
static bool has_same_bytes(int a, int b)
{
	char mine[4096], theirs[4096];
	uint64_t at = 0;
	ssize_t n, m;

	do {
		n = pread(a, mine, sizeof(mine), (off_t)at);
		m = pread(b, theirs, sizeof(theirs), (off_t)at);
		if (n > 0)
			at += (uint64_t)n;
	} while (n > 0 && n == m && !memcmp(mine, theirs, (size_t)n));
	return n == 0 && m == 0;
}

/* Unpacks the first member, which is the first block of text. 0: it cannot be
 * unpacked. */
static size_t unpack_first_block(const char *packed, size_t n, char *text)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	size_t used, got = 0;

	if (d &&
	    libdeflate_gzip_decompress_ex(d, packed, n, text, OUTPUT_BLOCK, &used, &got))
		got = 0;
	libdeflate_free_decompressor(d);
	return got;
}

/* Reads the first block of text; 0 where there is none. The first member of a compressed
 * file has all of it, OUTPUT_BLOCK bytes at most. */
static size_t read_block(int fd, bool gz, char *text)
{
	char *packed = gz ? pile_map(PACKED) : NULL;
	ssize_t n = 0;

	if (!gz)
		n = pread(fd, text, OUTPUT_BLOCK, 0);
	else if (packed)
		n = pread(fd, packed, PACKED, 0);
	if (packed && n > 0)
		n = (ssize_t)unpack_first_block(packed, (size_t)n, text);
	pile_unmap(packed, PACKED);
	return n > 0 ? (size_t)n : 0;
}

bool twin_id(int fd, bool gz, char id[TWIN_ID])
{
	char *text = pile_map(OUTPUT_BLOCK), *at = NULL;
	size_t n = text ? read_block(fd, gz, text) : 0;

	if (n)
		at = memmem(text, n, KEY, strlen(KEY));
	if (at && (size_t)(text + n - at) >= strlen(KEY) + TWIN_ID)
		memcpy(id, at + strlen(KEY), TWIN_ID);
	else
		at = NULL;
	pile_unmap(text, OUTPUT_BLOCK);
	return at;
}

bool twin_is(int fd, int dir, const char *name, bool gz)
{
	int other = folder_file(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	char mine[TWIN_ID], theirs[TWIN_ID];
	bool same;

	if (other < 0)
		return false;
	same = has_same_bytes(fd, other) ||
	       (twin_id(fd, gz, mine) && twin_id(other, gz, theirs) &&
		!memcmp(mine, theirs, TWIN_ID));
	sys_close(other);
	return same;
}
