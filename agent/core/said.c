/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of lines on the job's page. A place is free when the reader has taken the line
 * that was there SAID_LINES numbers ago. */
#include "agent/core/said.h"
#include "agent/core/job.h"

#include <string.h>

/* A number is taken only where its place is free: the reader waits for each number. */
static struct said_line *take_place(struct said *s, uint32_t *number)
{
	*number = atomic_load(&s->next);
	do {
		if (*number - atomic_load(&s->taken) >= SAID_LINES)
			return NULL;
	} while (!atomic_compare_exchange_weak(&s->next, number, *number + 1));
	return &s->line[*number % SAID_LINES];
}

/* True also for a line that finds no place: it must not go to descriptor 2 instead,
 * which is the program's. */
bool said_put(const char *text, size_t len)
{
	uint32_t number;
	struct said_line *l;

	if (!job)
		return false;
	l = take_place(&job->said, &number);
	if (!l) {
		atomic_fetch_add(&job->said.lost, 1);
		return true;
	}
	if (len > sizeof(l->text) - 1)
		len = sizeof(l->text) - 1;
	memcpy(l->text, text, len);
	l->text[len] = '\0';
	atomic_store_explicit(&l->ready, number + 1, memory_order_release);
	return true;
}
