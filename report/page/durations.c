/* SPDX-License-Identifier: Apache-2.0 */
/* A row of kernels is a name and a sort. */
#include "report/page/durations.h"

#include <stdlib.h>

/* Bin n is below 2 to the power n + 1, in microseconds. */
static unsigned bin_of(int64_t ns)
{
	unsigned bin = 0;

	while (bin + 1 < DURATIONS_BINS && ns >= 2000) {
		ns /= 2;
		bin++;
	}
	return bin;
}

/* Where the row of a name and a sort is noted: a copy may be called as a kernel is. */
static size_t key_of(uint32_t name, uint8_t sort)
{
	return 3 * (size_t)name + (sort == SORT_COPY ? 1 : sort == SORT_SET ? 2 : 0);
}

/* What begins outside of the steps is not counted, as in the table itself. */
static void count_work(const struct subject *s, const uint32_t *row,
		       uint32_t (*bins)[DURATIONS_BINS])
{
	const struct model *m = &s->model;

	for (size_t i = 0; i < m->slices_n; i++) {
		const struct slice *work = &m->slices[i];
		uint32_t at;

		if (work->kind != SLICE_DEVICE || work->name >= m->texts.n ||
		    work->begin < s->from || work->begin >= s->to)
			continue;
		at = row[key_of(work->name, work->sort)];
		if (at != NO_ROW)
			bins[at][bin_of(work->end - work->begin)]++;
	}
}

/* Rows are short: most bins are 0, and packed to nothing. */
static void put_bins(const uint32_t (*bins)[DURATIONS_BINS], size_t n, FILE *out)
{
	putc('[', out);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ",[" : "[", out);
		for (unsigned k = 0; k < DURATIONS_BINS; k++)
			fprintf(out, "%s%u", k ? "," : "", bins[i][k]);
		putc(']', out);
	}
	putc(']', out);
}

/* Work finds its row by its name and sort in one look, however many rows there are. */
bool durations_print(const struct subject *s, FILE *out)
{
	size_t texts = s->model.texts.n;
	uint32_t *row = malloc((3 * texts + 1) * sizeof(*row));
	uint32_t(*bins)[DURATIONS_BINS] = calloc(s->kernels.n + 1, sizeof(*bins));
	bool fine = row && bins;

	if (fine) {
		memset(row, 0xff, (3 * texts + 1) * sizeof(*row));
		for (size_t i = 0; i < s->kernels.n; i++)
			if (s->kernels.row[i].name < texts)
				row[key_of(s->kernels.row[i].name,
					   s->kernels.row[i].sort)] = (uint32_t)i;
		count_work(s, row, bins);
		put_bins((const uint32_t(*)[DURATIONS_BINS])bins, s->kernels.n, out);
	}
	free(row);
	free(bins);
	return fine;
}
