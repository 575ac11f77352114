/* SPDX-License-Identifier: Apache-2.0 */
#include "report/timeline.h"
#include "report/category.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* ---- rows ---- */

static int64_t absolute(const struct timeline *t, int64_t ts)
{
	int64_t ns;

	return __builtin_add_overflow(ts, t->view->model->base_ns, &ns) ? ts : ns;
}

static bool add(struct timeline *t, int64_t ts, int64_t bytes,
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

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	if (x->action != y->action)
		return (int)x->action - (int)y->action;
	return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

static bool make_rows(struct timeline *t)
{
	const struct blocks *b = &t->view->blocks;
	struct category_before before;
	bool fine;

	categories_before(b, t->space->device, &before);
	fine = add(t, -1, before.parameters, TIMELINE_PREEXISTING, CATEGORY_PARAMETER) &&
	       add(t, -1, before.optimizer, TIMELINE_PREEXISTING, CATEGORY_OPTIMIZER) &&
	       add(t, -1, before.input, TIMELINE_PREEXISTING, CATEGORY_INPUT) &&
	       add(t, -1, before.rest, TIMELINE_PREEXISTING, CATEGORY_UNKNOWN);
	for (size_t i = 0; fine && i < b->n; i++) {
		const struct block *k = &b->rows[i];

		if (k->device != t->space->device)
			continue;
		if (k->begin == BLOCK_BEFORE)
			fine = add(t, -1, k->bytes, TIMELINE_PREEXISTING, k->category);
		else
			fine = add(t, absolute(t, k->begin), k->bytes, TIMELINE_CREATE,
				   k->category);
		if (fine && k->end != BLOCK_LIVE)
			fine = add(t, absolute(t, k->end), -k->bytes, TIMELINE_DESTROY,
				   k->category);
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

/* As torch does it: in doubles, which round some up. */
static int64_t us(int64_t ns)
{
	return ns < 0 ? -1 : (int64_t)(double)((long double)ns / 1000);
}

/* What is older than the window gets the time of the first row that is not. */
static int64_t us_of(const struct timeline *t, int64_t ts)
{
	for (size_t i = 0; ts < 0 && i < t->n; i++)
		ts = t->rows[i].ts;
	return us(ts);
}

/* The last row of the same microsecond. */
static size_t last_of(const struct timeline *t, size_t i)
{
	int64_t this = us(t->rows[i].ts);

	while (i + 1 < t->n && us(t->rows[i + 1].ts) == this)
		i++;
	return i;
}

static void put_sizes(const struct timeline *t, FILE *out)
{
	int64_t size[CATEGORIES] = { 0 };
	const char *comma = "";

	fputs("[[", out);
	for (size_t i = 0; i < t->n; i = last_of(t, i) + 1) {
		fprintf(out, "%s%" PRId64, comma, us_of(t, t->rows[i].ts));
		comma = ", ";
	}
	fputs("], [", out);
	comma = "";
	for (size_t i = 0, last; i < t->n; i = last + 1) {
		last = last_of(t, i);
		for (size_t k = i; k <= last; k++)
			size[t->rows[k].category] += t->rows[k].bytes;
		fprintf(out, "%s[0", comma);
		for (unsigned c = 0; c < CATEGORIES; c++)
			fprintf(out, ", %" PRId64, size[c]);
		putc(']', out);
		comma = ", ";
	}
	fputs("]]", out);
}

/* ---- files ---- */

static bool ends(const char *path, const char *suffix)
{
	size_t len = strlen(path), n = strlen(suffix);

	return len >= n && !strcmp(path + len - n, suffix);
}

static void put(const struct timeline *t, const char *path, FILE *out)
{
	if (ends(path, ".html"))
		timeline_html(t, out);
	else if (ends(path, ".raw.json") || ends(path, ".raw.json.gz"))
		put_raw(t, out);
	else
		put_sizes(t, out);
}

/* stdio into gzip. */
static ssize_t gz_put(void *arg, const char *bytes, size_t size)
{
	return gzwrite(arg, bytes, (unsigned)size);
}

static int gz_end(void *arg)
{
	return gzclose(arg) == Z_OK ? 0 : -1;
}

static FILE *open_part(const char *part, bool packed)
{
	cookie_io_functions_t io = { .write = gz_put, .close = gz_end };
	FILE *out;
	gzFile gz;

	if (!packed)
		return fopen(part, "we");
	gz = gzopen(part, "wbe");
	if (!gz)
		return NULL;
	out = fopencookie(gz, "w", io);
	if (!out)
		gzclose(gz);
	return out;
}

static int write_file(const struct timeline *t, const char *path, char *why, size_t size)
{
	char part[4096];
	FILE *out;
	bool fine;

	if ((size_t)snprintf(part, sizeof(part), "%s.part", path) >= sizeof(part)) {
		snprintf(why, size, "%s: %s", path, strerror(ENAMETOOLONG));
		return -1;
	}
	out = open_part(part, ends(path, ".gz"));
	if (!out) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		return -1;
	}
	put(t, path, out);
	fine = !ferror(out);
	if (fclose(out) || !fine || rename(part, path)) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		unlink(part);
		return -1;
	}
	return 0;
}

static const struct memory_space *choose(const struct memory_view *v, const char *device)
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
		   char *why, size_t size)
{
	struct timeline t = { .view = v, .space = choose(v, device) };
	int rc;

	if (!ends(path, ".html") && !ends(path, ".json") && !ends(path, ".json.gz")) {
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
	if (!make_rows(&t)) {
		free(t.rows);
		snprintf(why, size, "not enough memory");
		return -1;
	}
	rc = write_file(&t, path, why, size);
	free(t.rows);
	return rc;
}
