/* SPDX-License-Identifier: Apache-2.0 */
/* Asks each name once; slices come behind those that they lie in. */
#include "report/advice/lineage.h"

#include <stdlib.h>

unsigned char *lineage_make(const struct model *m, bool (*is)(const char *name))
{
	unsigned char *of = calloc(m->slices_n + 1, 1);
	unsigned char *asked = calloc(m->texts.n + 1, 1); /* 1 no, 2 yes */

	for (size_t i = 0; of && asked && i < m->slices_n; i++) {
		const struct slice *s = &m->slices[i];

		if (!asked[s->name])
			asked[s->name] = is(texts_get(&m->texts, s->name)) ? 2 : 1;
		if (asked[s->name] == 2 && s->kind != SLICE_DEVICE)
			of[i] |= LINEAGE_ITSELF;
		if (s->parent != NO_ROW && of[s->parent])
			of[i] |= LINEAGE_INSIDE;
	}
	if (!asked) {
		free(of);
		of = NULL;
	}
	free(asked);
	return of;
}
