/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the object "heap" in a trace file, without reading the file's events. */
#include "launcher/recover/fill.h"

enum refill_found refill_find(struct span text, struct span *heap)
{
	struct span_member m;
	struct span top, own;

	if (!span_open(text, '{', &top))
		return REFILL_NOTHING;
	while (span_member(&top, &m)) {
		if (span_is(m.key, "\"traceEvents\""))
			return REFILL_NOTHING;
		if (span_is(m.key, "\"proflaunch\"") && span_open(m.value, '{', &own)) {
			bool whole = !m.cut;

			while (span_member(&own, &m)) {
				*heap = m.value;
				if (span_is(m.key, "\"heap\"") && !m.cut)
					return REFILL_HEAP;
			}
			if (whole) /* goes no further: the events are long */
				return REFILL_NOTHING;
		}
		if (m.cut)
			return REFILL_MORE;
	}
	return REFILL_MORE;
}
