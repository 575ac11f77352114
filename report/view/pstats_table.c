/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what pstats.py does (print_stats, print_line, func_std_string), so that nobody
 * has to learn another table. */
#include "report/view/pstats_table.h"
#include "base/frame_text.h"
#include "base/order.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>

static int by_own_time(const void *left, const void *right, void *arg)
{
	const struct callers *c = arg;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return order_of(c->row[b].sums.own, c->row[a].sums.own) ?: order_of(a, b);
}

uint32_t *pstats_table_order(const struct callers *c)
{
	uint32_t *order = malloc((c->n + 1) * sizeof(*order));

	for (uint32_t i = 0; order && i < c->n; i++)
		order[i] = i;
	if (order && c->n)
		qsort_r(order, c->n, sizeof(*order), by_own_time, (void *)c);
	return order;
}

/* ---- a row ---- */

/* A built-in's name has no file, and braces in place of "<>". */
char *pstats_table_name(const struct callers *c, uint32_t row)
{
	const char *name = texts_get(&c->names, row);
	size_t len = strlen(name);
	const char *place = frame_place(name, len);
	char *made = NULL;
	int n;

	if (place)
		n = asprintf(&made, "%.*s:%" PRIu64 "(%s)", (int)(place - name), name,
			     text_number(place + 1), strchr(place, ' ') + 1);
	else if (len > 1 && *name == '<' && name[len - 1] == '>')
		n = asprintf(&made, "{%.*s}", (int)len - 2, name + 1);
	else
		n = asprintf(&made, "%s", name);
	return n < 0 ? NULL : made;
}

/* Blanks where there is no call to divide by: a call that began before the window. */
static void print_each(double seconds, uint64_t calls, FILE *out)
{
	if (calls)
		fprintf(out, "%8.3f ", seconds / (double)calls);
	else
		fprintf(out, "%8s ", "");
}

static void print_row(const struct callers *c, uint32_t row, const struct screen *to)
{
	const struct call_sums *s = &c->row[row].sums;
	double own = (double)s->own / 1e9, total = (double)s->total / 1e9;
	char calls[48], *name = pstats_table_name(c, row);

	snprintf(calls, sizeof(calls),
		 s->calls != s->primitive ? "%" PRIu64 "/%" PRIu64 : "%" PRIu64, s->calls,
		 s->primitive);
	fprintf(to->out, "%9s %8.3f ", calls, own);
	print_each(own, s->calls, to->out);
	fprintf(to->out, "%8.3f ", total);
	print_each(total, s->primitive, to->out);
	screen_text(to, name ? name : "?", SIZE_MAX);
	putc('\n', to->out);
	free(name);
}

/* ---- the table ---- */

void pstats_table_print(const struct callers *c, const uint32_t *order, size_t limit,
			const struct screen *to)
{
	uint64_t calls = 0, primitive = 0;
	double own = 0;

	for (size_t i = 0; i < c->n; i++) {
		calls += c->row[i].sums.calls;
		primitive += c->row[i].sums.primitive;
		own += (double)c->row[i].sums.own / 1e9;
	}
	fprintf(to->out, "         %" PRIu64 " function calls ", calls);
	if (calls != primitive)
		fprintf(to->out, "(%" PRIu64 " primitive calls) ", primitive);
	fprintf(to->out, "in %.3f seconds\n\n   Ordered by: internal time\n", own);
	if (limit < c->n)
		fprintf(to->out,
			"   List reduced from %zu to %zu due to restriction <%zu>\n",
			c->n, limit, limit);
	fputs("\n   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n",
	      to->out);
	for (size_t i = 0; i < c->n && i < limit; i++)
		print_row(c, order[i], to);
}
