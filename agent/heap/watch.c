/* SPDX-License-Identifier: Apache-2.0 */
/* A call of a tool's, and what malloc gives in it. */
#include "agent/heap/watch.h"
#include "base/guard.h"

__thread struct heap_watch heap_watch __attribute__((tls_model("initial-exec")));

/* The guard leads malloc's hooks the long way, as far as the first of them: the tool's
 * own blocks, which come behind it, are recorded as ever. */
void heap_watch_begins(uintptr_t frame)
{
	heap_watch = (struct heap_watch){ .frame = frame };
	guard_word = frame | GUARD_LOOKS;
}

enum heap_given heap_watch_ends(const void *p)
{
	struct heap_watch w = heap_watch;

	heap_watch.frame = 0;
	guard_word = 0;
	if (!w.at || (uintptr_t)p - (uintptr_t)w.at >= w.size)
		return HEAP_OF_THEIRS;
	return w.moved ? HEAP_OF_REALLOC : HEAP_OF_MALLOC;
}
