/* SPDX-License-Identifier: Apache-2.0 */
/* Whose trace it is, and what is missing in it: said first. */
#include "report/whose.h"
#include "report/out.h"

void whose_print(const struct model *m, FILE *out)
{
	const struct whose *w = &m->whose;

	if (w->name == TEXT_NONE)
		return;
	fputs("process: ", out);
	out_text(out, texts_get(&m->texts, w->name), 200);
	fprintf(out, " (pid %lld", (long long)w->pid);
	if (w->rank >= 0)
		fprintf(out, ", rank %lld", (long long)w->rank);
	fprintf(out, "), window %lld\n", (long long)w->window);
}

/* What was there filled the buffer: so much more of the same needs so much more, and a
 * quarter, for records differ in size. The next power of two. */
uint64_t whose_buffer(const struct model *m)
{
	const struct whose *w = &m->whose;
	double need, mb = 1;

	if (!w->full || w->full + m->late < m->dropped || !w->records || !w->buffer_mb)
		return 0;
	need = 1.25 * (double)w->buffer_mb * (double)(w->records + w->full) /
	       (double)w->records;
	while (mb < need)
		mb *= 2;
	return mb <= 1048576 ? (uint64_t)mb : 0;
}

void whose_print_missing(const struct model *m, FILE *out)
{
	uint64_t missing = model_missing(m, m->dropped), mb = whose_buffer(m);

	if (!missing)
		return;
	fprintf(out, "INCOMPLETE: %s records are missing; ", out_count((int64_t)missing));
	if (mb)
		fprintf(out, "--buffer-mb %llu would have held them\n",
			(unsigned long long)mb);
	else
		fputs("\"drop reasons\" in the file says why\n", out);
}
