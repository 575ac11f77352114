/* SPDX-License-Identifier: Apache-2.0 */
#include "report/lines.h"
#include "report/texts.h"

#include <stdio.h>
#include <string.h>

bool line_is_own(const char *frame)
{
	return !text_starts_with(frame, "<built-in") &&
	       !text_starts_with(frame, "<frozen ") &&
	       !text_starts_with(frame, "torch/") &&
	       !strstr(frame, "-packages/torch/"); /* site-, dist- */
}

bool lines_next(const char **stack, char frame[LINE_MOST + 1])
{
	while (**stack) {
		size_t len = strcspn(*stack, ";");

		snprintf(frame, LINE_MOST + 1, "%.*s",
			 (int)(len < LINE_MOST ? len : LINE_MOST), *stack);
		*stack += len + ((*stack)[len] == ';');
		if (len && line_is_own(frame))
			return true;
	}
	return false;
}
