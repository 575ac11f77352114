/* SPDX-License-Identifier: Apache-2.0 */
/* Scales FLOPs as torch's profiler_util.py does (auto_scale_flops), with its doubles. */
#include "report/view/torch_flops.h"

#include <math.h>

struct torch_flops torch_flops_column(const struct model *m, const struct operators *o)
{
	static const char *const heads[] = { "Total FLOPs",  "Total KFLOPs",
					     "Total MFLOPs", "Total GFLOPs",
					     "Total TFLOPs", "Total PFLOPs" };
	int64_t least = INT64_MAX;
	static const double scales[] = { 1, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15 };
	size_t power;

	for (size_t i = 0; i < o->n; i++)
		if (o->row[i].torch_flops > 0 && o->row[i].torch_flops < least)
			least = o->row[i].torch_flops;
	if (!m->says_flops || least == INT64_MAX)
		return (struct torch_flops){ 0 };
	power = (size_t)fmin(log10((double)least) / 3, 5);
	return (struct torch_flops){ scales[power], heads[power] };
}

void torch_flops_put(FILE *out, const struct torch_flops *column, int64_t flops,
		     int width)
{
	char cell[32] = "--";

	if (flops > 0)
		snprintf(cell, sizeof(cell), "%8.3f", (double)flops * column->scale);
	fprintf(out, "%*s  ", width, cell);
}
