/* SPDX-License-Identifier: Apache-2.0 */
/* What a category is a name for. Writers have spelled them in several ways, and in either
 * case; one that is not in the table is of no interest to any view. */
#include "report/slice.h"

#include <stddef.h>
#include <strings.h>

int slice_kind_find(const char *cat, enum slice_sort *sort)
{
	static const struct {
		const char *cat;
		enum slice_kind kind;
		enum slice_sort sort;
	} kinds[] = {
		{ "cpu_op", SLICE_OP, SORT_PLAIN },
		{ "operator", SLICE_OP, SORT_PLAIN },
		{ "user_annotation", SLICE_NOTE, SORT_PLAIN },
		{ "gpu_user_annotation", SLICE_DEVICE_NOTE, SORT_PLAIN },
		{ "python_function", SLICE_PYTHON, SORT_PLAIN },
		{ "python_gil", SLICE_PAUSE, SORT_LOCK },
		{ "python_import", SLICE_PAUSE, SORT_IMPORT },
		{ "cuda_runtime", SLICE_CALL, SORT_RUNTIME },
		{ "runtime", SLICE_CALL, SORT_RUNTIME },
		{ "cuda_driver", SLICE_CALL, SORT_DRIVER },
		{ "kernel", SLICE_DEVICE, SORT_KERNEL },
		{ "gpu_memcpy", SLICE_DEVICE, SORT_COPY },
		{ "memcpy", SLICE_DEVICE, SORT_COPY },
		{ "gpu_memset", SLICE_DEVICE, SORT_SET },
		{ "memset", SLICE_DEVICE, SORT_SET },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcasecmp(cat, kinds[i].cat)) {
			*sort = kinds[i].sort;
			return (int)kinds[i].kind;
		}
	return -1;
}
