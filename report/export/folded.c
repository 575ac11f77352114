/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks, sorted by their text. */
#include "report/export/folded.h"

#include <stdlib.h>

/* No frame has a ';' of its own: fold_frame has replaced it. */
static void put_stack(const struct fold *f, uint32_t node, FILE *out)
{
	uint32_t path[FOLD_DEPTH_MOST];
	unsigned n = fold_path(f, node, path);

	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%s%s", i ? ";" : "", fold_text(f, path[i]));
}

/* What a line loses to whole units goes on to the next one: the sum stays. */
bool folded_write(const struct fold *f, int64_t unit, FILE *out)
{
	size_t n;
	uint32_t *nodes = fold_sorted(f, &n);
	int64_t left = 0;

	for (size_t i = 0; nodes && i < n; i++) {
		int64_t weight = f->nodes[nodes[i]].weight, value = weight / unit;

		left += weight % unit;
		value += left / unit;
		left %= unit;
		if (!value || !nodes[i])
			continue;
		put_stack(f, nodes[i], out);
		fprintf(out, " %lld\n", (long long)value);
	}
	free(nodes);
	return nodes != NULL;
}
