/* SPDX-License-Identifier: Apache-2.0 */
#include "report/lines.h"
#include "base/frame_text.h"
#include "report/texts.h"

#include <stdio.h>
#include <string.h>

const char *line_innermost(const char *stack, size_t *len)
{
	for (; *stack; stack += *len + (stack[*len] == ';')) {
		*len = strcspn(stack, ";");
		if (frame_place(stack, *len))
			return stack;
	}
	return NULL;
}

bool line_is_own(const char *frame)
{
	return !text_starts_with(frame, "<built-in") &&
	       !text_starts_with(frame, "<frozen ") &&
	       !text_starts_with(frame, "torch/") &&
	       !strstr(frame, "-packages/torch/"); /* site-, dist- */
}

bool lines_next(const char **stack, char frame[LINE_MOST + 1])
{
	const char *at;
	size_t len;

	while ((at = line_innermost(*stack, &len))) {
		snprintf(frame, LINE_MOST + 1, "%.*s",
			 (int)(len < LINE_MOST ? len : LINE_MOST), at);
		*stack = at + len + (at[len] == ';');
		if (line_is_own(frame))
			return true;
	}
	return false;
}
