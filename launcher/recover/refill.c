/* SPDX-License-Identifier: Apache-2.0 */
/* A finished trace file whose frames are module and offset is written anew with names:
 * into a `.part` beside it, which takes its place when it is whole. Only the text before
 * the events is held in memory. Behind that a compressed file is unpacked a member at a
 * time, and a member in which nothing changes is copied as it is, not packed anew. */
#include "launcher/recover/refill.h"
#include "base/sys.h"
#include "base/text.h"
#include "launcher/recover/fill.h"
#include "launcher/recover/refill_events.h"
#include "launcher/say.h"
#include "writer/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_MOST (512u << 20) /* bytes before the events */

struct file {
	const char *path;
	const uint8_t *base;
	size_t size;
	mode_t mode;
	bool gz;
	char *text; /* of gz: the text unpacked so far */
	size_t room;
	struct span head; /* the file's text, or its begin */
	size_t rest; /* where the file goes on behind it */
};

/* ---- reading ---- */

/* Unpacks one more member of a compressed file. */
static bool unpack_member(struct file *f, struct libdeflate_decompressor *d)
{
	size_t used = (size_t)(f->head.end - f->head.at), in, out;

	if (f->rest >= f->size || used > HEAD_MOST)
		return false;
	if (f->room - used < OUTPUT_BLOCK) {
		char *more = realloc(f->text, 2 * f->room + OUTPUT_BLOCK);

		if (!more)
			return false;
		f->text = more;
		f->room = 2 * f->room + OUTPUT_BLOCK;
	}
	if (libdeflate_gzip_decompress_ex(d, f->base + f->rest, f->size - f->rest,
					  f->text + used, f->room - used, &in,
					  &out) != LIBDEFLATE_SUCCESS)
		return false;
	f->rest += in;
	f->head = (struct span){ f->text, f->text + used + out };
	return true;
}

static bool read_heap(struct file *f, struct span *heap)
{
	struct libdeflate_decompressor *d;
	enum refill_found found = REFILL_MORE;
	size_t next = 0;

	if (!f->gz) {
		f->head = (struct span){ (const char *)f->base,
					 (const char *)f->base + f->size };
		f->rest = f->size;
		return refill_find(f->head, heap) == REFILL_HEAP;
	}
	d = libdeflate_alloc_decompressor();
	while (d && found == REFILL_MORE && unpack_member(f, d)) {
		/* The text is searched each time it has grown by half. */
		if ((size_t)(f->head.end - f->head.at) < next)
			continue;
		found = refill_find(f->head, heap);
		next = (size_t)(f->head.end - f->head.at) * 3 / 2;
	}
	if (found == REFILL_MORE && f->text)
		found = refill_find(f->head, heap);
	libdeflate_free_decompressor(d);
	return found == REFILL_HEAP;
}

/* ---- writing ---- */

struct block {
	struct output *o;
	char text[OUTPUT_BLOCK];
	size_t used;
	int err;
};

static void flush_block(struct block *b)
{
	if (!b->err && b->used)
		b->err = output_write(b->o, b->text, b->used);
	b->used = 0;
}

static void put_text(void *arg, const char *text, size_t len)
{
	struct block *b = arg;

	while (len && !b->err) {
		size_t n = OUTPUT_BLOCK - b->used < len ? OUTPUT_BLOCK - b->used : len;

		memcpy(b->text + b->used, text, n);
		b->used += n;
		text += n;
		len -= n;
		if (b->used == OUTPUT_BLOCK)
			flush_block(b);
	}
}

/* Writes the part behind the file's head. A member with nothing to change, or that cannot
 * be unpacked, stays as it is. */
static void put_rest(struct file *f, struct block *b, struct refill_events *e)
{
	struct libdeflate_decompressor *d =
		f->gz ? libdeflate_alloc_decompressor() : NULL;
	static char text[OUTPUT_BLOCK];
	size_t in, out;

	while (d && !b->err && f->rest < f->size &&
	       libdeflate_gzip_decompress_ex(d, f->base + f->rest, f->size - f->rest,
					     text, sizeof(text), &in,
					     &out) == LIBDEFLATE_SUCCESS) {
		if (refill_events_pass(e, text, out)) {
			flush_block(b);
			b->err = b->err ? b->err
					: sys_write_all(b->o->fd, f->base + f->rest, in);
		} else {
			refill_events_text(e, text, out);
		}
		f->rest += in;
	}
	libdeflate_free_decompressor(d);
}

static int put_all(struct file *f, struct output *o, struct span heap, const char *text,
		   size_t len)
{
	static struct block b;
	static struct refill_events e;
	size_t behind = (size_t)(f->head.end - heap.end);

	b = (struct block){ .o = o };
	e = (struct refill_events){ .put = put_text, .arg = &b };
	put_text(&b, f->head.at, (size_t)(heap.at - f->head.at));
	put_text(&b, text, len);
	if (refill_events_open(&e, (struct span){ text, text + len })) {
		refill_events_text(&e, heap.end, behind);
		put_rest(f, &b, &e);
		refill_events_last(&e);
	} else {
		put_text(&b, heap.end, behind);
	}
	refill_events_close(&e);
	flush_block(&b);
	if (!b.err)
		b.err = sys_write_all(o->fd, f->base + f->rest, f->size - f->rest);
	return b.err;
}

/* The new file gets the old one's rights, not those of this process's umask. */
static int rewrite_file(struct file *f, struct span heap, const char *text, size_t len)
{
	static struct output o;
	int err = output_open(&o, NULL, f->path, f->gz);

	if (!err)
		err = put_all(f, &o, heap, text, len);
	if (!err && fchmod(o.fd, f->mode & 07777))
		err = -errno;
	if (!err)
		err = output_replace(&o);
	if (err)
		output_abort(&o);
	return err;
}

/* ---- one file ---- */

static void note_failure(struct refill *r, const char *path, const char *why)
{
	say_warn("%s: %s", path, why);
	r->failed++;
}

static void fill_file(struct refill *r, struct file *f)
{
	struct span heap;
	size_t len;
	char *text;
	int err;

	if (!read_heap(f, &heap))
		return;
	text = refill_heap(heap.at, (size_t)(heap.end - heap.at), &len);
	if (!text)
		return;
	err = rewrite_file(f, heap, text, len);
	free(text);
	if (err)
		note_failure(r, f->path, output_error(err));
	else
		r->filled++;
}

bool refill_is_trace(const char *path)
{
	return text_ends(path, ".pt.trace.json") || text_ends(path, ".pt.trace.json.gz");
}

void refill_file(struct refill *r, const char *path)
{
	struct file f = { .path = path, .gz = text_ends(path, ".gz") };
	struct stat st;
	int fd;

	if (!refill_is_trace(path))
		return;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		/* Log directories also have links, and files of other users. */
		if (errno != ENOENT && errno != ELOOP && errno != EACCES)
			note_failure(r, path, strerror(errno));
		return;
	}
	/* Reads only the user's own files: another user's, in a directory for all, may be
	 * anything, and recover must not replace it. */
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_uid == geteuid()) {
		f.size = (size_t)st.st_size;
		f.mode = st.st_mode;
		f.base = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (f.base != MAP_FAILED) {
			fill_file(r, &f);
			munmap((void *)f.base, f.size);
		}
	}
	free(f.text);
	close(fd);
}

void refill_dir(struct refill *r, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) <
		    (int)sizeof(path))
			refill_file(r, path);
	}
	if (d)
		closedir(d);
}
