/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a trace file: read as they are, or inflated by zlib where they begin as
 * gzip does. */
#include "report/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define ROOM (256u << 10)

struct input {
	int fd;
	bool packed; /* gzip */
	bool inside; /* a member of the gzip file has begun and not ended */
	bool ended; /* no more bytes in the file */
	size_t at, end; /* bytes of `room` that are not taken yet */
	z_stream z;
	unsigned char room[ROOM];
};

/* read() that no signal interrupts. */
static ssize_t read_bytes(struct input *in, void *bytes, size_t size)
{
	ssize_t n;

	do
		n = read(in->fd, bytes, size);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Reads bytes into the empty room; false on an error. */
static bool refill_room(struct input *in, const char **why)
{
	ssize_t n = read_bytes(in, in->room, ROOM);

	if (n < 0) {
		*why = strerror(errno);
		return false;
	}
	in->at = 0;
	in->end = (size_t)n;
	in->ended = !n;
	return true;
}

static bool detect_gzip(struct input *in, const char **why)
{
	if (!refill_room(in, why))
		return false;
	in->packed = in->end >= 2 && in->room[0] == 0x1f && in->room[1] == 0x8b;
	if (in->packed && inflateInit2(&in->z, 15 + 16) != Z_OK) {
		in->packed = false;
		*why = "not enough memory";
		return false;
	}
	return true;
}

struct input *input_open(const char *path, const char **why)
{
	struct input *in = calloc(1, sizeof(*in));
	struct stat st;

	if (!in) {
		*why = "not enough memory";
		return NULL;
	}
	in->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0 || fstat(in->fd, &st))
		*why = strerror(errno);
	else if (S_ISDIR(st.st_mode))
		*why = strerror(EISDIR);
	else if (detect_gzip(in, why))
		return in;
	input_close(in);
	return NULL;
}

static ssize_t read_plain(struct input *in, void *bytes, size_t size, const char **why)
{
	size_t n = in->end - in->at;
	ssize_t got;

	if (n) {
		n = n < size ? n : size;
		memcpy(bytes, in->room + in->at, n);
		in->at += n;
		return (ssize_t)n;
	}
	got = read_bytes(in, bytes, size);
	if (got < 0)
		*why = strerror(errno);
	return got;
}

/* Behind a member comes another one, or bytes that are no gzip: these are left alone, as
 * gzip does. */
static bool next_member(struct input *in)
{
	in->inside = false;
	return inflateReset(&in->z) == Z_OK;
}

/* Inflates at most ROOM bytes a call. Members follow each other in files of a writer that
 * packs block by block. */
static ssize_t read_packed(struct input *in, void *bytes, size_t size, const char **why)
{
	in->z.next_out = bytes;
	in->z.avail_out = (unsigned)(size < ROOM ? size : ROOM);
	size = in->z.avail_out;
	while (in->z.avail_out == size) {
		int rc;

		if (in->at == in->end && !in->ended && !refill_room(in, why))
			return -1;
		if (in->ended && !in->inside)
			return 0;
		if (in->ended) {
			*why = INPUT_CUT;
			return -1;
		}
		if (!in->inside && in->room[in->at] != 0x1f)
			return 0;
		in->inside = true;
		in->z.next_in = in->room + in->at;
		in->z.avail_in = (unsigned)(in->end - in->at);
		rc = inflate(&in->z, Z_NO_FLUSH);
		in->at = in->end - in->z.avail_in;
		if ((rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR) ||
		    (rc == Z_STREAM_END && !next_member(in))) {
			*why = "the gzip data are damaged";
			return -1;
		}
	}
	return (ssize_t)(size - in->z.avail_out);
}

ssize_t input_read(struct input *in, void *bytes, size_t size, const char **why)
{
	return in->packed ? read_packed(in, bytes, size, why)
			  : read_plain(in, bytes, size, why);
}

void input_close(struct input *in)
{
	if (!in)
		return;
	if (in->packed)
		inflateEnd(&in->z);
	if (in->fd >= 0)
		close(in->fd);
	free(in);
}
