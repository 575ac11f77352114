/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a file whose events are processes, each too small for a file of its
 * own. */
#include "report/memory/processes.h"
#include "base/order.h"
#include "report/out.h"
#include "report/read.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct process {
	int64_t pid, parent, peak, allocs, frees, resident, begin, length;
	uint32_t name;
};

struct list {
	struct texts texts;
	struct process *at;
	size_t n, room;
	bool is; /* the file says that its rows are processes */
	struct damage damage;
};

/* ---- the file ---- */

static bool take_event(void *arg, const struct event *e)
{
	struct list *l = arg;

	if (!l->is || !event_has(e, ARG_PROCESS))
		return l->is; /* another view's file: no more of it is read */
	if (!GROW(l->at, l->room, l->n))
		return false;
	l->at[l->n++] = (struct process){ .pid = e->arg[ARG_PROCESS],
					  .parent = e->arg[ARG_PARENT],
					  .begin = e->ts,
					  .length = e->dur,
					  .name = e->name,
					  .peak = event_number(e, ARG_PEAK, 0),
					  .allocs = event_number(e, ARG_ALLOCATIONS, 0),
					  .frees = event_number(e, ARG_FREES, 0),
					  .resident = event_number(e, ARG_RESIDENT, 0) };
	return true;
}

/* Looks for "proflaunch": {"processes": ...}, which marks such a file. */
static bool take_top(void *arg, const char *key, struct parse *p, bool *taken)
{
	struct list *l = arg;

	*taken = !strcmp(key, "proflaunch");
	if (!*taken || !parse_value(p, TOKEN_OBJECT))
		return true;
	while (parse_next(p) == TOKEN_KEY) {
		l->is |= parse_is(p, "processes");
		parse_skip(p, TOKEN_KEY);
	}
	return true;
}

static int by_peak(const void *left, const void *right)
{
	const struct process *a = left, *b = right;

	return order_of(b->peak, a->peak) ?: order_of(a->pid, b->pid);
}

/* ---- the table ---- */

static void print_table(const struct list *l, const char *path, unsigned top, FILE *out)
{
	int64_t allocs = 0, frees = 0;

	for (size_t i = 0; i < l->n; i++) {
		allocs += l->at[i].allocs;
		frees += l->at[i].frees;
	}
	damage_print(&l->damage, out);
	out_text(out, path, 1000);
	fprintf(out, ": %s processes, %s allocations, %s frees\n\n",
		out_count((int64_t)l->n), out_count(allocs), out_count(frees));
	fprintf(out, "  %10s %10s %10s %10s %12s %8s %8s  command\n", "peak", "resident",
		"allocs", "frees", "length", "pid", "parent");
	for (size_t i = 0; i < l->n && i < top; i++) {
		const struct process *p = &l->at[i];

		fprintf(out, "  %10s %10s %10s %10s %12s %8lld %8lld  ",
			out_bytes(p->peak), p->resident ? out_bytes(p->resident) : "-",
			out_count(p->allocs), out_count(p->frees), out_ms(p->length),
			(long long)p->pid, (long long)p->parent);
		out_text(out, texts_get(&l->texts, p->name), 60);
		putc('\n', out);
	}
	if (l->n > top)
		fprintf(out, "  ... and %s more\n", out_count((int64_t)(l->n - top)));
}

static void print_json(const struct list *l, FILE *out)
{
	fputs("{\"processes\": [", out);
	for (size_t i = 0; i < l->n; i++) {
		const struct process *p = &l->at[i];

		fprintf(out, "%s\n{\"command\": ", i ? "," : "");
		out_json(out, texts_get(&l->texts, p->name));
		fprintf(out,
			", \"pid\": %lld, \"parent\": %lld, \"begin ns\": %lld, "
			"\"length ns\": %lld, \"peak\": %lld, \"allocations\": %lld, "
			"\"frees\": %lld, \"resident\": %lld}",
			(long long)p->pid, (long long)p->parent, (long long)p->begin,
			(long long)p->length, (long long)p->peak, (long long)p->allocs,
			(long long)p->frees, (long long)p->resident);
	}
	fputs("], ", out);
	damage_json(&l->damage, out);
	fputs("}\n", out);
}

/* Reads the list; any event of another view's file ends the reading. */
static bool read_list(struct list *l, const char *path)
{
	struct read_visitor v = { .texts = &l->texts,
				  .event = take_event,
				  .top = take_top,
				  .arg = l,
				  .damage = &l->damage };
	char why[1024];

	return !read_trace(path, &v, why, sizeof(why)) && l->is;
}

static void free_list(struct list *l)
{
	free(l->at);
	texts_free(&l->texts);
}

bool processes_is(const char *path)
{
	struct list l = { 0 };
	struct stat st;
	bool is;

	/* A pipe can be read once. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	is = read_list(&l, path);
	free_list(&l);
	return is;
}

bool processes_print(const char *path, unsigned top, bool json, FILE *out)
{
	struct list l = { 0 };
	bool is = read_list(&l, path);

	if (is)
		qsort(l.at, l.n, sizeof(*l.at), by_peak);
	if (is && json)
		print_json(&l, out);
	else if (is)
		print_table(&l, path, top, out);
	free_list(&l);
	return is;
}
