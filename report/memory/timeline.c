/* SPDX-License-Identifier: Apache-2.0 */
/* torch's export_memory_timeline: rows of changes, or sizes by category for each
 * microsecond in which they change. */
#include "report/memory/timeline.h"
#include "base/order.h"
#include "report/memory/category.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- rows ---- */

/* Nanoseconds since 1970, as torch's export has them; a base that would overflow is not
 * added. */
static int64_t absolute_time(const struct timeline *t, int64_t ts)
{
	int64_t ns;

	return __builtin_add_overflow(ts, t->view->model->base_ns, &ns) ? ts : ns;
}

static bool add_row(struct timeline *t, int64_t ts, int64_t bytes,
		    enum timeline_action action, unsigned category)
{
	if (!bytes)
		return true;
	if (!GROW(t->rows, t->room, t->n))
		return false;
	t->rows[t->n++] =
		(struct timeline_row){ ts, bytes, (uint8_t)action, (uint8_t)category };
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct timeline_row *x = a, *y = b;

	return order_of(x->ts, y->ts) ?: order_of(x->action, y->action) ?:
	       order_of(x->bytes, y->bytes);
}

bool timeline_rows(struct timeline *t)
{
	const struct blocks *b = &t->view->blocks;
	int64_t before[CATEGORIES];
	bool fine = true;

	preexisting_set(b, t->space->device, before);
	for (unsigned i = 0; fine && i < CATEGORIES; i++)
		fine = add_row(t, -1, before[i], TIMELINE_PREEXISTING, i);
	for (size_t i = 0; fine && i < b->n; i++) {
		const struct block *k = &b->rows[i];

		if (k->device != t->space->device)
			continue;
		if (k->begin == BLOCK_BEFORE)
			fine = add_row(t, -1, k->bytes, TIMELINE_PREEXISTING,
				       k->category);
		else
			fine = add_row(t, absolute_time(t, k->begin), k->bytes,
				       TIMELINE_CREATE, k->category);
		if (fine && k->end != BLOCK_LIVE)
			fine = add_row(t, absolute_time(t, k->end), -k->bytes,
				       TIMELINE_DESTROY, k->category);
	}
	if (fine && t->n)
		qsort(t->rows, t->n, sizeof(*t->rows), by_time);
	return fine;
}

/* ---- torch's formats ---- */

static void put_raw(const struct timeline *t, FILE *out)
{
	putc('[', out);
	for (size_t i = 0; i < t->n; i++) {
		const struct timeline_row *r = &t->rows[i];

		fprintf(out, "%s[%" PRId64 ", %u, %" PRId64 ", %u]", i ? ", " : "", r->ts,
			r->action, r->bytes, r->category);
	}
	putc(']', out);
}

/* Rounds as torch does: by doubles, which round some values up. */
static int64_t ns_to_us(int64_t ns)
{
	return ns < 0 ? -1 : (int64_t)(double)((long double)ns / 1000);
}

/* A row of memory older than the window gets the time of the first row that is not
 * older. */
static int64_t us_of(const struct timeline *t, int64_t ts)
{
	for (size_t i = 0; ts < 0 && i < t->n; i++)
		ts = t->rows[i].ts;
	return ns_to_us(ts);
}

/* The last row of the same microsecond as row i. */
static size_t last_of(const struct timeline *t, size_t i)
{
	int64_t this = ns_to_us(t->rows[i].ts);

	while (i + 1 < t->n && ns_to_us(t->rows[i + 1].ts) == this)
		i++;
	return i;
}

static void put_sizes(const struct timeline *t, FILE *out)
{
	int64_t size[CATEGORIES] = { 0 };

	fputs("[[", out);
	for (size_t i = 0; i < t->n; i = last_of(t, i) + 1)
		fprintf(out, "%s%" PRId64, i ? ", " : "", us_of(t, t->rows[i].ts));
	fputs("], [", out);
	for (size_t i = 0, last; i < t->n; i = last + 1) {
		last = last_of(t, i);
		for (size_t k = i; k <= last; k++)
			size[t->rows[k].category] += t->rows[k].bytes;
		fputs(i ? ", [0" : "[0", out);
		for (unsigned c = 0; c < CATEGORIES; c++)
			fprintf(out, ", %" PRId64, size[c]);
		putc(']', out);
	}
	fputs("]]", out);
}

/* ---- files ---- */

static bool ends_with(const char *path, const char *suffix)
{
	size_t len = strlen(path), n = strlen(suffix);

	return len >= n && !strcmp(path + len - n, suffix);
}

static void put_by_suffix(const struct timeline *t, const char *path, FILE *out)
{
	if (ends_with(path, ".html"))
		timeline_html(t, out);
	else if (ends_with(path, ".raw.json") || ends_with(path, ".raw.json.gz"))
		put_raw(t, out);
	else
		put_sizes(t, out);
}

/* gz_put and gz_end let stdio write into gzip. */
static ssize_t gz_put(void *arg, const char *bytes, size_t size)
{
	return gzwrite(arg, bytes, (unsigned)size);
}

static int gz_end(void *arg)
{
	return gzclose(arg) == Z_OK ? 0 : -1;
}

/* The file behind `out` stays open: the packed stream has a descriptor of its own. */
static FILE *open_packed(FILE *out)
{
	cookie_io_functions_t io = { .write = gz_put, .close = gz_end };
	int fd = fcntl(fileno(out), F_DUPFD_CLOEXEC, 0);
	gzFile gz = fd < 0 ? NULL : gzdopen(fd, "wb");
	FILE *packed = gz ? fopencookie(gz, "w", io) : NULL;

	if (gz && !packed)
		gzclose(gz);
	else if (fd >= 0 && !gz)
		close(fd);
	return packed;
}

/* What is lost in the middle is an error, whether or not there is room again. */
static bool put_all(const struct timeline *t, const char *path, FILE *out)
{
	FILE *packed;
	bool fine;

	if (!ends_with(path, ".gz")) {
		put_by_suffix(t, path, out);
		return !fflush(out) && !ferror(out);
	}
	packed = open_packed(out);
	if (!packed)
		return false;
	put_by_suffix(t, path, packed);
	fine = !ferror(packed);
	return !fclose(packed) && fine;
}

/* The space of a device; NULL: there is no tensor memory of it. */
static const struct memory_space *choose_space(const struct memory_view *v,
					       const char *device)
{
	const struct memory_space *found = NULL;

	for (size_t i = 0; i < v->spaces_n; i++) {
		const struct memory_space *s = &v->spaces[i];

		if (s->heap || (device && strcmp(device, s->name)))
			continue;
		if (!found || s->peak > found->peak)
			found = s;
	}
	return found;
}

int timeline_write(const struct memory_view *v, const char *device, const char *path,
		   FILE *out, char *why, size_t size)
{
	struct timeline t = { .view = v, .space = choose_space(v, device) };
	bool fine;

	if (!ends_with(path, ".html") && !ends_with(path, ".json") &&
	    !ends_with(path, ".json.gz")) {
		snprintf(why, size,
			 "%s: a timeline's name ends in .html, .json, .json.gz or "
			 ".raw.json.gz",
			 path);
		return -1;
	}
	if (!t.space) {
		snprintf(why, size, "no tensor memory%s%s in the trace: no timeline",
			 device ? " of " : "", device ? device : "");
		return -1;
	}
	if (!timeline_rows(&t)) {
		free(t.rows);
		snprintf(why, size, "not enough memory");
		return -1;
	}
	fine = put_all(&t, path, out);
	if (!fine)
		snprintf(why, size, "%s: cannot be written: %s", path, strerror(errno));
	free(t.rows);
	return fine ? 0 : -1;
}
