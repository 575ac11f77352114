/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a window's Python stacks, for its file's "proflaunch". */
#include "writer/trace.h"

static const char *const names[PYTHON_COUNTS] = {
	[PYTHON_CHECKED] = "checked",   [PYTHON_DISAGREED] = "disagreed",
	[PYTHON_CUT] = "cut",           [PYTHON_UNKNOWN] = "unknown",
	[PYTHON_UNPROVEN] = "unproven",
};

void python_counts(struct trace *t)
{
	struct json *j = &t->json;

	if (!t->python)
		return;
	json_lit(j, ", \"python stacks\": {");
	for (unsigned i = 0; i < PYTHON_COUNTS; i++) {
		uint64_t n = atomic_load(&((struct cycle_info *)t->info)->python[i]);

		json_text(j, i ? ", \"" : "\"");
		json_text(j, names[i]);
		json_text_unsigned(j, "\": ", n);
	}
	json_lit(j, "}");
}
