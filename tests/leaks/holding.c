/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that hold memory and do not leak, and those of mapped memory; README.md has
 * them in words. */
#include "planted.h"

static void steady(struct planted *p)
{
	for (int i = 0; i < 10; i++)
		put(&p->a, take(0, p->s));
	give_all(&p->a);
}

static void double_buffer(struct planted *p)
{
	put(&p->a, take(0, p->s));
	if (p->i)
		give_first(&p->a);
}

static void cache_levels_off(struct planted *p)
{
	if (!since(p, 40))
		put(&p->a, take(0, 3 * p->s));
}

/* S / 64 a block: as many as fit into what is known by now. */
static void cache_exponential(struct planted *p)
{
	double left = 1, rate = 1 - 8.0 / (double)p->n;

	for (size_t i = 0; i <= p->i; i++)
		left *= rate;
	while ((double)p->a.n < (1 - left) * 12 * 64)
		put(&p->a, take(0, p->s / 64));
}

static void cache_lru(struct planted *p)
{
	for (int i = 0; i < 3; i++) {
		if (since(p, 30))
			give_first(&p->a);
		put(&p->a, take(0, p->s / 2 + chance(p->s)));
	}
}

static void cache_of_words(struct planted *p)
{
	put(&p->a, take(0, 8 * p->s / (int64_t)(p->i + 1)));
}

static void pool(struct planted *p)
{
	for (unsigned k = 0; k < 4; k++)
		if (just_at(p, 1 + 9 * k))
			put(&p->a, take(0, p->s << k));
}

static void warm_up(struct planted *p)
{
	if (p->i < 3)
		put(&p->a, take(0, 20 * p->s));
}

static void lazy_state(struct planted *p)
{
	if (!p->i)
		put(&p->a, take(0, 50 * p->s));
}

static void one_big_late(struct planted *p)
{
	if (just_at(p, 60))
		put(&p->a, take(0, 50 * p->s));
}

static void jump_in_the_middle(struct planted *p)
{
	if (just_at(p, 50))
		put(&p->a, take(0, 100 * p->s));
}

static void three_stairs(struct planted *p)
{
	if (just_at(p, 20) || just_at(p, 45) || just_at(p, 70))
		put(&p->a, take(0, 20 * p->s));
}

static void sawtooth_short(struct planted *p)
{
	put(&p->a, take(0, p->s));
	if (p->i % 5 == 4)
		give_all(&p->a);
}

static void sawtooth_long(struct planted *p)
{
	put(&p->a, take(0, p->s));
	if (p->i % 25 == 24)
		give_all(&p->a);
}

static void sawtooth_ends_high(struct planted *p)
{
	put(&p->a, take(0, p->s));
	if (just_at(p, 30) || just_at(p, 65))
		give_all(&p->a);
}

static void collector(struct planted *p)
{
	for (int i = 0; i < 4; i++)
		put(&p->a, take(0, p->s / 4));
	if (!chance(12))
		give_all(&p->a);
}

static void random_temporaries(struct planted *p)
{
	give_all(&p->a);
	put(&p->a, take(0, 1 + chance(40 * p->s)));
}

static void random_queue(struct planted *p)
{
	size_t waiting = p->a.n - p->a.from;

	if (!p->i)
		for (int i = 0; i < 8; i++)
			put(&p->a, take(0, p->s));
	else if (waiting && (waiting == 16 || chance(2)))
		give_first(&p->a);
	else
		put(&p->a, take(0, p->s));
}

/* Up for about ten steps and down again. */
static void prefetch(struct planted *p)
{
	int64_t phase = (int64_t)(p->i % 20), want;

	want = (phase < 10 ? phase : 20 - phase) - chance(4);
	want = want < 0 ? 0 : want > 8 ? 8 : want;
	while ((int64_t)(p->a.n - p->a.from) > want)
		give_first(&p->a);
	while ((int64_t)(p->a.n - p->a.from) < want)
		put(&p->a, take(0, 5 * p->s));
}

static void epochs(struct planted *p)
{
	put(&p->a, take(0, p->s));
	if (p->i % 20 == 19)
		give_all(&p->a);
}

static void grows_and_goes(struct planted *p)
{
	if (just_at(p, 70))
		give_all(&p->a);
	else if (!since(p, 70))
		put(&p->a, take(0, p->s));
}

static void decreasing(struct planted *p)
{
	for (int i = 0; !p->i && i < 100; i++)
		put(&p->a, take(0, p->s));
	for (size_t i = 0; i < 1 + 100 / p->n && p->a.from < p->a.n; i++)
		give_first(&p->a);
}

static void growing_buffers(struct planted *p)
{
	give(take(0, (int64_t)(p->i + 1) * p->s));
}

static void tensors_steady(struct planted *p)
{
	for (int i = 0; i < 5; i++)
		put(&p->a, take(0, 4 * p->s));
	give_all(&p->a);
}

#define HEAP(name, least)                         \
	{                                         \
#name, name, least, false, "heap" \
	}
const struct shape holding[] = {
	HEAP(steady, 20),
	HEAP(double_buffer, 20),
	HEAP(cache_levels_off, 20),
	HEAP(cache_exponential, 20),
	HEAP(cache_lru, 20),
	HEAP(cache_of_words, 40),
	HEAP(pool, 20),
	HEAP(warm_up, 20),
	HEAP(lazy_state, 20),
	HEAP(one_big_late, 20),
	HEAP(jump_in_the_middle, 20),
	HEAP(three_stairs, 20),
	HEAP(sawtooth_short, 20),
	HEAP(sawtooth_long, 100),
	HEAP(sawtooth_ends_high, 60),
	HEAP(collector, 100),
	HEAP(random_temporaries, 20),
	HEAP(random_queue, 60),
	HEAP(prefetch, 40),
	HEAP(epochs, 60),
	HEAP(grows_and_goes, 20),
	HEAP(decreasing, 20),
	HEAP(growing_buffers, 20),
	{ "tensors_steady", tensors_steady, 20, false, "cpu" },
	{ "tensors_cache", cache_levels_off, 20, false, "cpu" },
	{ 0 },
};

/* ---- mapped memory; S is ten times as much there ---- */

static void mmap_kept(struct planted *p)
{
	map_more(p, 10 * p->s, false);
	p->kept += 10 * p->s;
}

static void mmap_bursts(struct planted *p)
{
	if (p->i % 4 != 3)
		return;
	map_more(p, 40 * p->s, false);
	p->kept += 40 * p->s;
}

/* An arena is mapped when the one before is full. */
static void python_objects(struct planted *p)
{
	p->kept += 10 * p->s;
	for (; p->state[0] < p->kept; p->state[0] += 1 << 20)
		map_more(p, 1 << 20, false);
}

static void mmap_freed(struct planted *p)
{
	map_more(p, 10 * p->s, false);
	map_less(p, 10 * p->s);
}

static void mmap_cache(struct planted *p)
{
	if (!since(p, 40))
		map_more(p, 30 * p->s, false);
}

static void file_pages(struct planted *p)
{
	map_more(p, 10 * p->s, true);
}

static void fragmented(struct planted *p)
{
	if (!since(p, 30))
		map_more(p, 20 * p->s, false);
}

static void rss_noise(struct planted *p)
{
	int64_t now = chance(100 * p->s);

	map_less(p, p->state[0]);
	map_more(p, now, false);
	p->state[0] = now;
}

#define MAPPED(name, leaks)                        \
	{                                          \
#name, name, 20, leaks, "resident" \
	}
const struct shape resident[] = {
	MAPPED(mmap_kept, true),
	MAPPED(mmap_bursts, true),
	MAPPED(python_objects, true),
	MAPPED(mmap_freed, false),
	MAPPED(mmap_cache, false),
	MAPPED(file_pages, false),
	MAPPED(fragmented, false),
	MAPPED(rss_noise, false),
	{ 0 },
};
