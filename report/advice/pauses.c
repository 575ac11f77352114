/* SPDX-License-Identifier: Apache-2.0 */
/* A thread of the program's that waits for the lock beside the steps does not make them
 * longer. */
#include "report/advice/pauses.h"

#include <stdlib.h>

bool pauses_add(const struct facts *f, enum slice_sort sort, uint32_t thread,
		struct spans *to)
{
	for (size_t i = 0; i < f->m->pauses_n; i++) {
		const struct pause *p = &f->m->pauses[i];

		if (p->sort == sort && (thread == NO_ROW || p->thread == thread) &&
		    !spans_add(to, p->begin, p->end))
			return false;
	}
	spans_join(to);
	return true;
}

bool pauses_thread(const struct facts *f, uint32_t *thread)
{
	size_t *begun = calloc(f->m->threads_n + 1, sizeof(*begun)), most = 0;

	*thread = NO_ROW;
	for (uint32_t i = 0; begun && i < f->m->slices_n; i++) {
		const struct slice *s = &f->m->slices[i];

		if (s->kind != SLICE_OP || s->begin < f->from || s->begin >= f->to)
			continue;
		if (++begun[s->thread] > most) {
			most = begun[s->thread];
			*thread = s->thread;
		}
	}
	free(begun);
	return begun;
}
