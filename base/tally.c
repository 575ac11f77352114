/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that takes a free row writes the name; others that know its key count there
 * at once. */
#include "base/tally.h"
#include "base/hash.h"

#include <string.h>

void tally_add(struct tally *t, const char *name, size_t len, uint64_t n)
{
	uint64_t key;

	if (len >= sizeof(t->row->name))
		len = sizeof(t->row->name) - 1;
	key = hash_bytes(name, len) | 1;
	for (unsigned i = 0; i < TALLY_ROWS; i++) {
		struct tally_row *r = &t->row[i];
		uint64_t had = atomic_load_explicit(&r->key, memory_order_relaxed);

		if (!had && atomic_compare_exchange_strong(&r->key, &had, key))
			memcpy(r->name, name, len);
		else if (had != key)
			continue;
		atomic_fetch_add(&r->n, n);
		return;
	}
	atomic_fetch_add(&t->more, n);
}

void tally_join(struct tally *t, const struct tally *from, uint64_t most)
{
	uint64_t more = atomic_load(&((struct tally *)from)->more);

	for (unsigned i = 0; i < TALLY_ROWS; i++) {
		struct tally_row r;

		memcpy(&r, &from->row[i], sizeof(r));
		if (r.key && r.n && r.n <= most)
			tally_add(t, r.name, strnlen(r.name, sizeof(r.name)), r.n);
	}
	if (more <= most)
		atomic_fetch_add(&t->more, more);
}

uint64_t tally_all(const struct tally *t)
{
	uint64_t all = t->more;

	for (unsigned i = 0; i < TALLY_ROWS; i++)
		all += t->row[i].n;
	return all;
}

/* A row's place in the order: how many rows have a larger number, or the same and stand
 * further in front. */
static unsigned row_rank(const struct tally *t, unsigned at)
{
	unsigned rank = 0;

	for (unsigned i = 0; i < TALLY_ROWS; i++)
		rank += t->row[i].n > t->row[at].n ||
			(t->row[i].n == t->row[at].n && i < at);
	return rank;
}

const struct tally_row *tally_rank(const struct tally *t, unsigned rank)
{
	for (unsigned i = 0; i < TALLY_ROWS; i++)
		if (row_rank(t, i) == rank)
			return t->row[i].n ? &t->row[i] : NULL;
	return NULL;
}
