/* SPDX-License-Identifier: Apache-2.0 */
/* Tells first whose trace it is, and what is missing in it. */
#include "report/whose.h"
#include "base/buffer_need.h"
#include "report/out.h"

/* A name without a number is somebody's metadata. */
const char *whose_stage(const struct model *m)
{
	return m->whose.stage_number > 0 ? m->whose.stage : "";
}

void whose_print(const struct model *m, FILE *out)
{
	const struct whose *w = &m->whose;

	if (w->name == TEXT_NONE)
		return;
	fputs("process: ", out);
	out_text(out, texts_get(&m->texts, w->name), 200);
	if (w->script != TEXT_NONE) {
		putc(' ', out);
		out_text(out, texts_get(&m->texts, w->script), 200);
	}
	fprintf(out, " (pid %lld", (long long)w->pid);
	if (w->rank >= 0)
		fprintf(out, ", rank %lld", (long long)w->rank);
	if (*whose_stage(m))
		fprintf(out, "), stage %s, window %lld\n", whose_stage(m),
			(long long)w->window);
	else
		fprintf(out, "), window %lld\n", (long long)w->window);
}

/* 0 where records are missing for another reason as well: a larger buffer would not be
 * enough. */
uint64_t whose_buffer(const struct model *m)
{
	const struct whose *w = &m->whose;

	return w->full + m->late < m->dropped
		       ? 0
		       : buffer_need(w->buffer_mb, w->records, w->full);
}

static void print_missing_records(const struct model *m, uint64_t missing, FILE *out)
{
	uint64_t mb = whose_buffer(m);

	fprintf(out, "INCOMPLETE: %s records are missing; ", out_count((int64_t)missing));
	if (mb)
		fprintf(out, "--buffer-mb %llu should hold them\n",
			(unsigned long long)mb);
	else
		fputs("\"drop reasons\" in the file says why\n", out);
}

void whose_print_missing(const struct model *m, FILE *out)
{
	uint64_t missing = model_missing(m, m->dropped);

	damage_print(&m->damage, out);
	if (missing)
		print_missing_records(m, missing, out);
	if (m->whose.unseen)
		fputs("INCOMPLETE: Python's small objects are not recorded here "
		      "(up to 512 bytes each): the closing lines of the run say why\n",
		      out);
}
