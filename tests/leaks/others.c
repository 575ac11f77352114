/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes by somebody who had not read the rule, of both kinds; README.md has them in
 * words. */
#include "planted.h"

#include <math.h>

/* 0 to 2: a day of 24 steps, from midnight on. */
static double day_load(const struct planted *p)
{
	return 1 - cos((double)p->i * 3.14159265358979 / 12);
}

/* As many blocks of S as that, and no more. */
static void hold_blocks(struct planted *p, unsigned place, size_t want)
{
	while (p->a.n - p->a.from > want)
		give_first(&p->a);
	while (p->a.n - p->a.from < want)
		put(&p->a, take(place, p->s));
}

/* ---- they leak ---- */

/* The name, the buckets and the entry of a label; a scrape has them all in one text. */
static void metrics_labels(struct planted *p)
{
	for (int i = 0; i < 16; i++) {
		give(take(3, 500));
		if (chance(4))
			continue;
		keep(p, 0, p->s / 32);
		keep(p, 1, p->s / 16 * 3);
		keep(p, 2, p->s / 32);
	}
	if (p->i % 5 == 4)
		give(take(4, p->kept / 4 + 1));
}

/* total += loss, where loss.item() was meant: each batch's graph hangs on it, and no two
 * batches are as long. */
static void losses_in_a_graph(struct planted *p)
{
	int64_t layer = p->s / 8 + chance(p->s / 4);

	for (unsigned i = 0; i < 4; i++) {
		keep(p, i, layer);
		put(&p->a, take(4 + i, 4 * layer));
	}
	give_all(&p->a);
}

/* Those that succeed wait among those that never will. */
static void retry_forever(struct planted *p)
{
	int64_t done = chance(7);

	for (int i = 0; i < 3; i++)
		put(&p->a, take(0, p->s));
	while (p->a.n - p->a.from > 12 || (done-- > 0 && p->a.n > p->a.from))
		give_first(&p->a);
	if (chance(2))
		keep(p, 0, 2 * p->s);
}

/* Half of the records are out of date by then. */
static void compaction(struct planted *p)
{
	for (int i = 0; i < 8; i++)
		put(&p->a, take(0, p->s / 4));
	if (p->i % 12 != 11)
		return;
	keep(p, 1, 12 * p->s);
	give_all(&p->a);
}

static void leak_by_day(struct planted *p)
{
	hold_blocks(p, 1, (size_t)(10 * day_load(p)) + (size_t)chance(3));
	keep(p, 0, 1 + (int64_t)((double)p->s * day_load(p)));
}

/* What came last is done first, so what is at the bottom waits for ever. */
static void starved_stack(struct planted *p)
{
	for (int64_t i = 12 + chance(9); i; i--) {
		put(&p->a, take(0, p->s / 4));
		p->kept += p->s / 4;
	}
	for (int i = 0; i < 12; i++) {
		give(p->a.at[--p->a.n]);
		p->kept -= p->s / 4;
	}
}

/* A message is appended to what its session has; no session ends. */
static void sessions_stay(struct planted *p)
{
	while (p->a.n < 16)
		put(&p->a, take(0, 64));
	for (int i = 0; i < 4; i++) {
		uint32_t *session = &p->a.at[chance(16)];

		*session = grow(*session, 0, size_of(*session) + p->s / 4);
		p->kept += p->s / 4;
	}
}

/* A peer is down for 3 to 6 steps, and well for 10 to 17. An error that is kept keeps the
 * frames that it came through, with what they held. */
static void outages(struct planted *p)
{
	if ((int64_t)p->i == p->state[0]) {
		p->state[1] = p->i && !p->state[1];
		p->state[0] += p->state[1] ? 3 + chance(4) : 10 + chance(8);
	}
	for (unsigned frame = 0; frame < 8; frame++)
		if (p->state[1])
			keep(p, frame, p->s / 2);
		else
			give(take(frame, p->s / 2));
}

/* S is ten times as much here. */
static void unjoined_threads(struct planted *p)
{
	for (int i = 0; i < 4; i++) {
		map_more(p, 5 * p->s, false);
		if (chance(2))
			map_less(p, 5 * p->s);
		else
			p->kept += 5 * p->s;
	}
}

/* ---- they never do ---- */

/* Five old files are held, and the one that is written. */
static void log_rotation(struct planted *p)
{
	for (int i = 0; i < 4; i++)
		put(&p->a, take(0, p->s / 4));
	if (p->i % 8 != 7 || p->a.n - p->a.from <= 5 * 32)
		return;
	for (int i = 0; i < 32; i++)
		give_first(&p->a);
}

static void day_and_night(struct planted *p)
{
	hold_blocks(p, 0, (size_t)(15 * day_load(p)) + (size_t)chance(4));
}

/* The next batch is there before the last one goes. */
static void growing_batches(struct planted *p)
{
	int64_t batch = p->s;

	for (unsigned percent = 10; percent <= 40; percent += 10)
		batch <<= since(p, percent);
	put(&p->a, take(0, batch));
	if (p->i)
		give_first(&p->a);
	give(take(1, 2 * batch));
}

/* One of the forty with each percent, between 20 and 60. */
static void moved_cache(struct planted *p)
{
	size_t percent = p->i * 100 / p->n, moved = percent < 20 ? 0 : percent - 20;

	for (int i = 0; !p->i && i < 40; i++)
		put(&p->a, take(0, p->s));
	while (p->b.n < moved && p->b.n < 40) {
		put(&p->b, take(1, p->s / 4 * 5));
		give_first(&p->a);
	}
}

/* Every other block, from that one on. */
static void give_half(struct list *l, size_t from)
{
	size_t left = from;

	for (size_t i = from; i < l->n; i++)
		if ((i - from) % 2)
			give(l->at[i]);
		else
			l->at[left++] = l->at[i];
	l->n = left;
}

/* The young are in a; the middle-aged are in b, after so many old ones. */
static void generations(struct planted *p)
{
	for (int i = 0; i < 4; i++)
		put(&p->a, take(0, p->s / 4));
	if (p->i % 4 != 3)
		return;
	give_half(&p->a, 0);
	while (p->a.n)
		put(&p->b, p->a.at[--p->a.n]);
	if (p->i % 16 == 15) {
		give_half(&p->b, (size_t)p->state[0]);
		p->state[0] = (int64_t)p->b.n;
	}
	if (p->i % 64 == 63) {
		give_all(&p->b);
		p->state[0] = 0;
	}
}

/* A reply has 32 tokens at most; where one ends the next begins. */
static void kv_cache(struct planted *p)
{
	while (p->a.n < 8)
		put(&p->a, take(0, p->s / 4));
	for (unsigned i = 0; i < 8; i++) {
		int64_t bytes = size_of(p->a.at[i]) + p->s / 4;

		if (bytes > 8 * p->s || !chance(20))
			bytes = p->s / 4;
		p->a.at[i] = grow(p->a.at[i], 0, bytes);
	}
}

/* Workers live for an epoch, and copy a page of their parent's when they first touch it:
 * in each step a sixth of those that are left. S is ten times as much here. */
static void copy_on_write(struct planted *p)
{
	int64_t more;

	if (p->i % 25 == 0) {
		map_less(p, p->state[0]);
		p->state[0] = 0;
	}
	more = (100 * p->s - p->state[0]) / 6 / 4096 * 4096;
	map_more(p, more, false);
	p->state[0] += more;
}

#define HEAP(name, least, leaks)                  \
	{                                         \
#name, name, least, leaks, "heap" \
	}
const struct shape others[] = {
	HEAP(metrics_labels, 20, true),
	{ "losses_in_a_graph", losses_in_a_graph, 20, true, "cpu" },
	HEAP(retry_forever, 60, true),
	HEAP(compaction, 100, true),
	HEAP(leak_by_day, 100, true),
	HEAP(starved_stack, 20, true),
	HEAP(sessions_stay, 20, true),
	HEAP(outages, 200, true),
	{ "unjoined_threads", unjoined_threads, 20, true, "resident" },
	HEAP(log_rotation, 100, false),
	HEAP(day_and_night, 100, false),
	HEAP(growing_batches, 20, false),
	HEAP(moved_cache, 20, false),
	HEAP(generations, 200, false),
	{ "kv_cache", kv_cache, 100, false, "cuda:0" },
	{ "copy_on_write", copy_on_write, 100, false, "resident" },
	{ 0 },
};
