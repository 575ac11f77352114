/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of trace files: which memory is in them, and which process held most. */
#include "report/memory/folder.h"
#include "base/order.h"
#include "base/text.h"
#include "report/out.h"
#include "report/whose.h"

#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_PEAK (4 << 20) /* the most of a small process, without libtorch */

/* ---- files ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Is it a trace file? Spools lie below names with a dot. */
static bool is_trace(const FTSENT *e)
{
	return e->fts_info == FTS_F && (text_ends(e->fts_name, ".pt.trace.json") ||
					text_ends(e->fts_name, ".pt.trace.json.gz"));
}

static bool add_file(struct folder *f, const char *path)
{
	struct folder_file one = { .path = strdup(path), .rank = -1 };

	if (!one.path || !GROW(f->files, f->room, f->n)) {
		free(one.path);
		return false;
	}
	f->files[f->n++] = one;
	return true;
}

int folder_list(struct folder *f, const char *path, char *why, size_t size)
{
	char *const roots[] = { (char *)path, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	bool fine = walk != NULL;
	FTSENT *e;

	*f = (struct folder){ 0 };
	while (fine && (e = fts_read(walk))) {
		if (e->fts_level > 0 && *e->fts_name == '.')
			fts_set(walk, e, FTS_SKIP);
		else if (is_trace(e))
			fine = add_file(f, e->fts_path);
	}
	if (walk)
		fts_close(walk);
	if (fine && f->n)
		return 0;
	snprintf(why, size, "%s: %s", path,
		 fine ? "no trace files (*.pt.trace.json) below it" : strerror(ENOMEM));
	folder_free(f);
	return -1;
}

void folder_free(struct folder *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->files[i].path);
		free(f->files[i].name);
		free(f->files[i].script);
	}
	free(f->files);
	*f = (struct folder){ 0 };
}

/* ---- what the files hold ---- */

static int64_t growth_of(const struct memory_space *s)
{
	int64_t growth = 0;

	for (size_t i = 0; s->steps_n > 1 && i < s->by_site.n; i++) {
		const struct memory_row *r = &s->by_site.rows[i];

		if (r->steps)
			growth += r->steps[s->steps_n - 1] - r->steps[0];
	}
	return s->steps_n > 1 ? growth / (int64_t)(s->steps_n - 1) : 0;
}

void folder_note(struct folder_file *file, const struct memory_view *v)
{
	const struct model *m = v->model;

	file->read = true;
	file->memory = v->spaces_n != 0;
	file->pid = m->whose.pid;
	file->rank = m->whose.rank;
	file->window = m->whose.window;
	strcpy(file->stage, whose_stage(m));
	file->missing = model_missing(m, m->dropped);
	if (m->whose.name != TEXT_NONE)
		file->name = strdup(texts_get(&m->texts, m->whose.name));
	if (m->whose.script != TEXT_NONE)
		file->script = strdup(texts_get(&m->texts, m->whose.script));
	for (size_t i = 0; i < v->spaces_n; i++) {
		const struct memory_space *s = &v->spaces[i];

		if (i && s->peak <= file->peak)
			continue;
		file->peak = s->peak;
		file->growth = growth_of(s);
	}
	for (size_t i = 0; i < m->counters_n; i++)
		if (m->counters[i].name == texts_find(&m->texts, "RSS") &&
		    m->counters[i].value > file->resident)
			file->resident = m->counters[i].value;
	file->small = m->ours && !m->whose.torch && file->peak < SMALL_PEAK;
}

/* ---- the table ---- */

static int by_peak(const void *left, const void *right)
{
	const struct folder_file *a = left, *b = right;

	return order_of(b->read, a->read) ?: order_of(b->peak, a->peak) ?:
	       strcmp(a->path, b->path);
}

static void print_row(const struct folder_file *f, const char *below, FILE *out)
{
	const char *path = f->path;
	size_t len = strlen(below);

	if (!strncmp(path, below, len)) {
		path += len;
		path += strspn(path, "/");
	}
	fprintf(out, "  %10s %12s %10s %8lld %5s %6lld  ", out_bytes(f->peak),
		out_bytes(f->growth), f->resident ? out_bytes(f->resident) : "-",
		(long long)f->pid, f->rank >= 0 ? out_count(f->rank) : "-",
		(long long)f->window);
	out_text(out, f->name ? f->name : "?", 60);
	if (f->script) {
		putc(' ', out);
		out_text(out, f->script, 160);
	}
	fputs("\n      ", out);
	out_text(out, path, 200);
	if (*f->stage)
		fprintf(out, "  stage %s", f->stage);
	if (f->missing)
		fprintf(out, "  INCOMPLETE: %s records are missing",
			out_count((int64_t)f->missing));
	putc('\n', out);
}

void folder_print(struct folder *f, const char *path, FILE *out)
{
	size_t small = 0, unread = 0, tables = 0;
	int64_t most = 0;

	qsort(f->files, f->n, sizeof(*f->files), by_peak);
	out_text(out, path, 1000);
	fprintf(out, ": %s trace file%s\n\n", out_count((int64_t)f->n),
		f->n == 1 ? "" : "s");
	fprintf(out, "  %10s %12s %10s %8s %5s %6s  process\n", "peak", "growth/step",
		"resident", "pid", "rank", "window");
	for (size_t i = 0; i < f->n; i++) {
		const struct folder_file *one = &f->files[i];

		if (!one->read) {
			unread += !one->table;
			tables += one->table;
		} else if (one->small) {
			small++;
			most = one->peak > most ? one->peak : most;
		} else {
			print_row(one, path, out);
		}
	}
	if (small)
		fprintf(out,
			"  %10s %46s  %s small process%s (no PyTorch, less than %s each)\n",
			out_bytes(most), "", out_count((int64_t)small),
			small == 1 ? "" : "es", out_bytes(SMALL_PEAK));
	if (tables)
		fprintf(out,
			"  and %s file%s of processes that were too small for one each\n",
			out_count((int64_t)tables), tables == 1 ? "" : "s");
	if (unread)
		fprintf(out, "  %s could not be read\n", out_count((int64_t)unread));
}

static void print_text(const char *text, FILE *out)
{
	if (text)
		out_json(out, text);
	else
		fputs("null", out);
}

void folder_json(const struct folder *f, const char *path, FILE *out)
{
	fputs("{\"directory\": ", out);
	out_json(out, path);
	fputs(", \"files\": [", out);
	for (size_t i = 0; i < f->n; i++) {
		const struct folder_file *one = &f->files[i];

		fprintf(out, "%s\n{\"file\": ", i ? "," : "");
		out_json(out, one->path);
		fputs(", \"process\": ", out);
		print_text(one->name, out);
		fputs(", \"script\": ", out);
		print_text(one->script, out);
		fputs(", \"stage\": ", out);
		out_json_or_null(out, one->stage);
		fprintf(out,
			", \"pid\": %lld, \"rank\": %lld, \"window\": %lld, \"peak\": %lld, "
			"\"growth\": %lld, \"resident\": %lld, \"missing\": %llu, \"read\": %s}",
			(long long)one->pid, (long long)one->rank, (long long)one->window,
			(long long)one->peak, (long long)one->growth,
			(long long)one->resident, (unsigned long long)one->missing,
			one->read ? "true" : "false");
	}
	fputs("]}\n", out);
}
