/* SPDX-License-Identifier: Apache-2.0 */
/* An annotation alone is no work: programs put one around a whole step. */
#include "report/advice/quiet.h"

/* Other notes only name a part of the program, and may lie around its pauses. */
static bool is_work(const struct facts *f, uint32_t slice)
{
	const struct slice *s = &f->m->slices[slice];

	if (s->kind == SLICE_OP || s->kind == SLICE_CALL)
		return true;
	return s->kind == SLICE_NOTE &&
	       (text_starts_with(slice_name(f->m, slice), "enumerate(Data") ||
		steps_is_collective(slice_name(f->m, slice)));
}

/* Work of the GPU counts like that of the host: either of them ends a pause. */
static bool add_work(const struct facts *f, struct spans *work)
{
	for (size_t i = 0; i < f->busy.n; i++)
		if (!spans_add(work, f->busy.row[i].begin, f->busy.row[i].end))
			return false;
	for (uint32_t i = 0; i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];

		/* What lies in an operator adds nothing. */
		if ((s->parent != NO_ROW && f->m->slices[s->parent].kind == SLICE_OP) ||
		    s->begin >= f->to || s->end <= f->from || !is_work(f, i))
			continue;
		if (!spans_add(work, s->begin, s->end))
			return false;
	}
	return true;
}

bool quiet_make(const struct facts *f, struct spans *to)
{
	struct spans work = { 0 }, all = { 0 };
	bool fine = add_work(f, &work) && spans_add(&all, f->from, f->to);

	spans_join(&work);
	spans_join(&all);
	fine = fine && spans_without(to, &all, &work);
	spans_free(&work);
	spans_free(&all);
	return fine;
}
