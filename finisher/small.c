/* SPDX-License-Identifier: Apache-2.0 */
#include "finisher/small.h"
#include "base/log.h"
#include "base/sys.h"
#include "writer/json.h"
#include "writer/output.h"
#include "writer/pile.h"
#include "writer/sort.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROW_MAGIC 0x31574f52u /* "ROW1" */
#define LANES     64 /* rows of the picture for children of one parent */
#define PARENTS   4096 /* slots by which a parent's lanes are found */

uint32_t small_most = 1u << 20;

struct row {
	uint32_t magic, pid, ppid, spare;
	int64_t base_ns; /* ts 0 */
	struct writer_small small;
	char command[64];
};

/* Opens the file of rows. A folder that somebody has removed takes no new file: then the
 * rows lie in memory. */
static int open_rows(struct small_rows *rows, int flags)
{
	struct stat st;

	if (rows->fd < 0)
		rows->fd = openat(rows->folder, SMALL_ROWS,
				  O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags,
				  0600);
	if (rows->fd < 0 && errno == ENOENT && flags)
		rows->fd = memfd_create(SMALL_ROWS, MFD_CLOEXEC);
	if (rows->fd < 0)
		return -errno;
	return !fstat(rows->fd, &st) && S_ISREG(st.st_mode) ? 0 : -EINVAL;
}

/* Appends a row. Where the disk is full no part of the row stays. */
int small_add(struct small_rows *rows, const struct spool_header *head,
	      const struct writer_small *s)
{
	struct row row = { .magic = ROW_MAGIC,
			   .pid = head->pid,
			   .ppid = head->ppid,
			   .base_ns = head->base_ns,
			   .small = *s };
	int err = open_rows(rows, O_CREAT);
	off_t end;

	if (err)
		return err;
	end = lseek(rows->fd, 0, SEEK_END);
	end -= end % (off_t)sizeof(row);
	memcpy(row.command, head->exe, sizeof(row.command) - 1);
	err = sys_pwrite_all(rows->fd, &row, sizeof(row), (uint64_t)end);
	if (err && ftruncate(rows->fd, end))
		return -errno;
	return err;
}

void small_close(struct small_rows *rows)
{
	if (rows->fd >= 0)
		close(rows->fd);
	rows->fd = -1;
}

/* ---- all of them ---- */

/* Is the row sound? Other processes of our user can write into the file, too. */
static bool is_sound(const struct row *r)
{
	const struct writer_small *s = &r->small;

	return r->magic == ROW_MAGIC && s->begin_ns >= 0 && s->end_ns >= s->begin_ns &&
	       r->base_ns >= 0;
}

static void say_rest(int fd, off_t at)
{
	struct stat st;

	if (!fstat(fd, &st) && st.st_size - at >= (off_t)sizeof(struct row))
		log_warn("more than %u small processes: %lu are left out", small_most,
			 (unsigned long)((st.st_size - at) / (off_t)sizeof(struct row)));
}

static int read_rows(struct small_rows *rows, struct pile *all)
{
	int err = open_rows(rows, 0);
	struct row one, *to;
	off_t at = 0;

	if (err)
		return err == -ENOENT ? 0 : err;
	for (; !err && all->n < small_most &&
	       pread(rows->fd, &one, sizeof(one), at) == (ssize_t)sizeof(one);
	     at += (off_t)sizeof(one)) {
		if (!is_sound(&one))
			continue;
		to = pile_push(all, sizeof(*to));
		if (to)
			*to = one;
		else
			err = -ENOMEM;
	}
	if (!err && all->n == small_most)
		say_rest(rows->fd, at);
	return err;
}

static bool row_before(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	return a->small.begin_ns != b->small.begin_ns
		       ? a->small.begin_ns < b->small.begin_ns
		       : a->pid < b->pid;
}

static void drop_doubles(struct pile *all)
{
	struct row *r = all->mem;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		if (!n || r[i].pid != r[n - 1].pid ||
		    r[i].small.begin_ns != r[n - 1].small.begin_ns)
			r[n++] = r[i];
	all->n = n;
}

/* ---- the file ---- */

struct file {
	struct output out;
	struct json json;
	struct pile lanes; /* struct lane */
	uint32_t first[PARENTS]; /* by parent: its newest lane's place + 1 */
	char text[OUTPUT_BLOCK];
};

struct lane { /* children of one parent that follow each other share one */
	uint32_t parent, number, next; /* next: as `first`, the lane before */
	int64_t end_ns;
};

static int put_block(void *arg, const char *text, size_t len)
{
	struct file *f = arg;

	return output_write(&f->out, text, len);
}

/* A lane of that parent that is free when the row begins; from LANES on the newest lane
 * takes all others. */
static uint32_t lane_of(struct file *f, const struct row *r)
{
	uint32_t *first = &f->first[r->ppid % PARENTS], n = 0;
	struct lane *lane = f->lanes.mem, *newest = NULL;

	for (uint32_t i = *first; i; i = lane[i - 1].next) {
		struct lane *one = &lane[i - 1];

		if (one->parent != r->ppid)
			continue;
		n++;
		newest = newest ? newest : one;
		if (one->end_ns > r->small.begin_ns)
			continue;
		one->end_ns = r->small.end_ns;
		return one->number;
	}
	if (n >= LANES)
		return newest->number;
	lane = pile_push(&f->lanes, sizeof(*lane));
	if (lane)
		*lane = (struct lane){ r->ppid, n + 1, *first, r->small.end_ns };
	if (lane)
		*first = (uint32_t)f->lanes.n;
	return n + 1;
}

static void put_us(struct json *j, const char *key, int64_t ns)
{
	json_lit(j, ",\"");
	json_raw(j, key, strlen(key));
	json_lit(j, "\":");
	json_need(j);
	j->at = json_put_us(j->at, ns > 0 ? (uint64_t)ns : 0);
}

static void put_number(struct json *j, const char *key, uint64_t n)
{
	json_lit(j, ",\"");
	json_raw(j, key, strlen(key));
	json_lit(j, "\":");
	json_unsigned(j, n);
}

static void put_row(struct file *f, const struct row *r)
{
	const struct writer_small *s = &r->small;
	struct json *j = &f->json;
	int64_t length = s->end_ns - s->begin_ns;

	json_lit(j, "{\"ph\":\"X\",\"cat\":\"process\",\"name\":");
	json_string(j, r->command, strnlen(r->command, sizeof(r->command)));
	put_number(j, "pid", r->ppid);
	put_number(j, "tid", lane_of(f, r));
	put_us(j, "ts", s->begin_ns - r->base_ns);
	put_us(j, "dur", length > 0 ? length : 1);
	json_lit(j, ",\"args\":{\"process\":");
	json_unsigned(j, r->pid);
	put_number(j, "parent", r->ppid);
	put_number(j, "peak", (uint64_t)s->peak);
	put_number(j, "allocations", s->allocs);
	put_number(j, "frees", s->frees);
	if (s->resident)
		put_number(j, "resident", s->resident);
	json_lit(j, "}},\n");
}

static void put_parents(struct file *f)
{
	const struct lane *lane = f->lanes.mem;
	struct json *j = &f->json;

	for (size_t i = 0; i < f->lanes.n; i++) {
		if (lane[i].number != 1)
			continue;
		json_lit(j, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":");
		json_unsigned(j, lane[i].parent);
		json_lit(j, ",\"tid\":0,\"args\":{\"name\":\"small processes of ");
		json_unsigned(j, lane[i].parent);
		json_lit(j, "\"}},\n");
	}
}

static int write_rows(struct file *f, const struct row *r, size_t n, const char *job)
{
	struct json *j = &f->json;

	json_lit(j, "{\n\"schemaVersion\": 1,\n\"proflaunch\": {\"version\": \"");
	json_raw(j, VERSION, strlen(VERSION));
	json_lit(j, "\", \"processes\": ");
	json_unsigned(j, n);
	json_lit(j, ", \"job\": ");
	json_string(j, job, strlen(job));
	json_lit(j, "},\n\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": ");
	json_number(j, r->base_ns);
	json_lit(j, ",\n\"traceEvents\": [\n");
	for (size_t i = 0; i < n; i++)
		put_row(f, &r[i]);
	put_parents(f);
	/* The last event has no comma behind it. */
	json_lit(j, "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":0,\"tid\":0,"
		    "\"args\":{\"sort_index\":0}}\n]}\n");
	json_flush(j);
	return j->err;
}

static int write_file(const struct row *r, size_t n, const char *job, bool gz, char *path,
		      size_t size)
{
	struct file *f = pile_map(sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	json_init(&f->json, f->text, sizeof(f->text), put_block, f);
	err = output_open(&f->out, NULL, path, gz);
	if (!err)
		err = write_rows(f, r, n, job);
	if (!err)
		err = output_finish(&f->out);
	if (err)
		output_abort(&f->out);
	else
		snprintf(path, size, "%s", f->out.path);
	pile_free(&f->lanes);
	pile_unmap(f, sizeof(*f));
	return err;
}

int small_write(struct small_rows *rows, const char *logdir, const char *job, bool gz,
		uint64_t *n, char *path, size_t size)
{
	struct pile all = { 0 };
	int err = read_rows(rows, &all);

	if (!err && all.n)
		err = sort_merge(all.mem, all.n, sizeof(struct row), row_before);
	drop_doubles(&all);
	*n = all.n;
	if (!err && all.n &&
	    snprintf(path, size, "%s/children/%s.pt.trace.json%s", logdir, job,
		     gz ? ".gz" : "") >= (int)size)
		err = -ENAMETOOLONG;
	if (!err && all.n)
		err = write_file(all.mem, all.n, job, gz, path, size);
	if (!err)
		unlinkat(rows->folder, SMALL_ROWS, 0);
	if (!err)
		small_close(rows);
	pile_free(&all);
	return err;
}
