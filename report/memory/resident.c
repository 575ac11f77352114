/* SPDX-License-Identifier: Apache-2.0 */
/* Resident memory beside the heap: growth of it that no malloc explains. */
#include "report/memory/resident.h"
#include "report/memory/marks.h"
#include "report/out.h"
#include "report/trend.h"

/* The heap's growth a step over the last n steps, as far as it was recorded. */
static double heap_slope(const struct memory_view *v, size_t n)
{
	for (size_t i = 0; i < v->spaces_n; i++) {
		const struct memory_space *s = &v->spaces[i];
		const struct memory_table *t = &s->by_site;
		size_t last = n < s->steps_n ? n : s->steps_n;
		int64_t growth = 0;

		if (!s->heap || last < 2)
			continue;
		for (size_t k = 0; k < t->n; k++)
			if (t->rows[k].steps)
				growth += t->rows[k].steps[s->steps_n - 1] -
					  t->rows[k].steps[s->steps_n - last];
		return (double)growth / (double)(last - 1);
	}
	return 0;
}

/* Tells of growth that the heap does not hold: maps, and pools of other allocators. Pages
 * of files are left out, as the kernel may drop them. */
unsigned resident_print(const struct memory_view *v, const struct leak_options *o,
			size_t n, FILE *out)
{
	static int64_t level[MEMORY_STEPS];
	struct trend_of of = { .level = level, .n = n };
	struct trend t;
	double heap;

	/* Beside tensors alone, or a heap with gaps, nobody can tell what the rest is. */
	if ((v->spaces_n && !v->model->heap) ||
	    model_missing(v->model, v->model->dropped_heap))
		return 0;
	if (n < TREND_SURE || !marks_are_close(v, v->steps_n - n) ||
	    !marks_of_counter(v, "RSS", "anonymous", v->steps_n - n, level))
		return 0;
	of.limit = (double)o->growth > (double)level[0] / 100 ? (double)o->growth
							      : (double)level[0] / 100;
	t = trend_find(&of);
	/* The heap counts over the same steps: growth that began late is less over all of
	 * them. */
	heap = heap_slope(v, n - t.since);
	if (t.is != TREND_GROWS || t.slope - heap <= of.limit)
		return 0;
	fprintf(out, "resident memory grew %s a step over %zu steps",
		out_bytes((int64_t)t.slope), n - t.since);
	if (v->model->heap)
		fprintf(out, ", the heap %s", out_bytes((int64_t)heap));
	fputs(": the rest is mapped memory", out);
	if (v->model->whose.unseen)
		fputs(" or Python's own pools of small objects, which are not recorded "
		      "here",
		      out);
	else if (!v->model->whose.objects)
		fputs(" or Python's own pools of small objects (--with-stack records "
		      "them)",
		      out);
	putc('\n', out);
	return 1;
}

void resident_print_most(const struct model *m, FILE *out)
{
	uint32_t name = texts_find(&m->texts, "RSS");
	const struct counter *most = NULL;

	for (size_t i = 0; name != TEXT_NONE && i < m->counters_n; i++)
		if (m->counters[i].name == name &&
		    (!most || m->counters[i].value > most->value))
			most = &m->counters[i];
	if (most)
		fprintf(out, "process: resident at most %s, at %s\n\n",
			out_bytes(most->value), out_ms(most->ts - m->begin));
}
