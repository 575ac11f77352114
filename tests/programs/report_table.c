/* SPDX-License-Identifier: Apache-2.0 */
/* report_table FILE SORT_BY ROW_LIMIT name|shapes: the table that torch prints of the
 * events of a trace; SORT_BY "-" is none. report_table FILE kernels: a line for each
 * kernel, with tabs. tests/e2e/test_report_operators.py */
#include "report/figures/kernels.h"
#include "report/view/torch_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool print_table(struct model *m, char **words)
{
	struct torch_table_options options = TORCH_TABLE_OPTIONS;
	struct operators o;
	bool fine;

	if (strcmp(words[0], "-"))
		options.sort_by = words[0];
	options.row_limit = strtoll(words[1], NULL, 10);
	fine = operators_make(&o, m,
			      strcmp(words[2], "shapes") ? OPERATORS_BY_NAME
							 : OPERATORS_BY_SHAPE,
			      INT64_MIN, INT64_MAX) &&
	       torch_table_print(stdout, m, &o, &options);
	operators_free(&o);
	return fine;
}

static bool print_kernels(const struct model *m)
{
	struct kernels k;
	bool fine = kernels_make(&k, m, INT64_MIN, INT64_MAX);

	for (size_t i = 0; i < k.n; i++) {
		const struct kernel_figures *r = &k.row[i];

		if (r->sort == SORT_KERNEL)
			printf("%s\t%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64
			       "\t%.17g\t%.17g\n",
			       texts_get(&m->texts, r->name), r->count, r->total,
			       r->least, r->most, r->blocks_per_sm, r->occupancy);
	}
	kernels_free(&k);
	return fine;
}

int main(int argc, char **argv)
{
	unsigned want = WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON) |
			WANT(SLICE_CALL) | WANT(SLICE_DEVICE) | WANT(SLICE_DEVICE_NOTE) |
			WANT_DETAILS;
	struct model m;
	char why[512];
	bool fine;

	if (argc != 5 && argc != 3)
		return 2;
	if (model_read(&m, argv[1], want, why, sizeof(why))) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	fine = argc == 5 ? print_table(&m, argv + 2) : print_kernels(&m);
	model_free(&m);
	return !fine;
}
