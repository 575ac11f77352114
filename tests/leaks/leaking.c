/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that leak; README.md has them in words. */
#include "planted.h"

static void every_step(struct planted *p)
{
	keep(p, 0, p->s);
}

static void every_second(struct planted *p)
{
	if (p->i % 2)
		keep(p, 0, 2 * p->s);
}

static void every_tenth(struct planted *p)
{
	if (p->i % 10 == 9)
		keep(p, 0, 10 * p->s);
}

static void bursts(struct planted *p)
{
	if (!chance(8))
		keep(p, 0, 8 * p->s);
}

static void rare_error(struct planted *p)
{
	if (!chance(15))
		keep(p, 0, 15 * p->s);
}

static void error_path(struct planted *p)
{
	for (int i = 0; i < 40; i++) {
		uint32_t request = take(1, 2000);

		if (!chance(10))
			keep(p, 0, p->s / 4);
		give(request);
	}
}

static void tiny_many(struct planted *p)
{
	for (int64_t n = 0; n + 64 <= p->s; n += 64)
		keep(p, 0, 64);
}

/* As many of each power of two. */
static void mixed_sizes(struct planted *p)
{
	for (p->state[0] += p->s; p->state[0] > 0;) {
		int64_t size = (16ll << chance(12)) + chance(16);

		keep(p, 0, size);
		p->state[0] -= size;
	}
}

static void log_lines(struct planted *p)
{
	for (p->state[0] += p->s; p->state[0] > 0;) {
		int64_t size = 20 + chance(181);

		keep(p, 0, size);
		p->state[0] -= size;
	}
}

static void one_site_of_eight(struct planted *p)
{
	for (unsigned place = 1; place < 8; place++)
		for (int i = 0; i < 20; i++)
			give(take(place, 100 + chance(8000)));
	keep(p, 0, p->s);
}

static void many_sites(struct planted *p)
{
	for (unsigned place = 0; place < 50; place++)
		keep(p, place, p->s / 50);
}

static void do_requests(struct planted *p)
{
	for (int i = 0; i < 20; i++)
		give(take((unsigned)p->state[1] + 1, 100 + chance(8000)));
	if (p->state[1] == 5)
		keep(p, 0, p->s);
}

static void one_thread_of_many(struct planted *p)
{
	for (p->state[1] = 0; p->state[1] < 8; p->state[1]++)
		on_thread(p, do_requests);
}

static void thread_each_step(struct planted *p)
{
	on_thread(p, every_step);
}

static void late_start(struct planted *p)
{
	if (since(p, 60))
		keep(p, 0, p->s);
}

static void at_the_end(struct planted *p)
{
	if (since(p, 80))
		keep(p, 0, p->s);
}

static void accelerating(struct planted *p)
{
	keep(p, 0, 2 * p->s * (int64_t)(p->i + 1) / (int64_t)(p->n + 1));
}

static void slowing(struct planted *p)
{
	keep(p, 0, p->s * (int64_t)(5 * p->n - 2 * p->i) / (int64_t)(4 * p->n));
}

static void with_sawtooth(struct planted *p)
{
	if (p->i % 7 == 6)
		give_all(&p->a);
	else
		put(&p->a, take(0, 2 * p->s));
	keep(p, 0, p->s);
}

static void beside_noise(struct planted *p)
{
	give_all(&p->a);
	put(&p->a, take(1, 1 + chance(30 * p->s)));
	keep(p, 0, p->s);
}

static void under_noise(struct planted *p)
{
	give_all(&p->a);
	put(&p->a, take(0, 1 + chance(10 * p->s)));
	keep(p, 0, p->s);
}

/* Those of the last two steps are still there. */
static void half_freed(struct planted *p)
{
	for (int i = 0; i < 8; i++) {
		put(&p->a, take(0, p->s / 8));
		keep(p, 0, p->s / 8);
		if (p->i >= 2)
			give_first(&p->a);
	}
}

/* The queue is never shorter again. */
static void queue_that_grows(struct planted *p)
{
	for (int i = 0; i < 3; i++)
		put(&p->a, take(0, p->s));
	give_first(&p->a);
	give_first(&p->a);
	p->kept += p->s;
}

static void partly_cleaned(struct planted *p)
{
	put(&p->a, take(0, p->s));
	p->kept += p->s;
	if (p->i % 10 || since(p, 10))
		return;
	for (size_t half = (p->a.n - p->a.from) / 2; half; half--) {
		give_first(&p->a);
		p->kept -= p->s;
	}
}

static void realloc_growth(struct planted *p)
{
	int64_t more = (int64_t)(p->i + 1) * p->s;

	p->block = grow(p->block, 0, more);
	p->kept = more;
}

/* Eight bytes of the list for each item of 120. */
static void list_append(struct planted *p)
{
	for (int64_t n = 0; n + 128 <= p->s; n += 128) {
		keep(p, 0, 120);
		if (++p->state[0] <= p->state[1])
			continue;
		p->state[1] += p->state[1] / 8 + 8;
		p->kept -= p->block == NONE ? 0 : size_of(p->block);
		p->block = grow(p->block, 0, 8 * p->state[1]);
		p->kept += size_of(p->block);
	}
}

static void hash_table(struct planted *p)
{
	for (int64_t n = 0; n + 128 <= p->s; n += 128) {
		keep(p, 0, 104);
		if (++p->state[0] <= p->state[1])
			continue;
		p->state[1] = p->state[1] ? 2 * p->state[1] : 8;
		p->kept -= p->block == NONE ? 0 : size_of(p->block);
		p->block = grow(p->block, 1, 16 * p->state[1]);
		p->kept += size_of(p->block);
	}
}

static void with_big_churn(struct planted *p)
{
	for (int i = 0; i < 100; i++)
		give(take(1, p->s));
	keep(p, 0, p->s);
}

static void after_warm_up(struct planted *p)
{
	if (p->i < 3)
		put(&p->a, take(0, 30 * p->s));
	else
		keep(p, 0, p->s);
}

static void after_big_release(struct planted *p)
{
	for (int i = 0; !p->i && i < 200; i++)
		put(&p->a, take(1, p->s));
	for (size_t i = 0; i < 1 + 200 / p->n && p->a.from < p->a.n; i++)
		give_first(&p->a);
	keep(p, 0, p->s);
}

static void with_activations(struct planted *p)
{
	for (int i = 0; i < 5; i++)
		put(&p->a, take(1, 4 * p->s));
	give_all(&p->a);
	keep(p, 0, p->s);
}

#define HEAP(name, least)                        \
	{                                        \
#name, name, least, true, "heap" \
	}
const struct shape leaking[] = {
	HEAP(every_step, 20),
	HEAP(every_second, 20),
	HEAP(every_tenth, 100),
	HEAP(bursts, 100),
	HEAP(rare_error, 200),
	HEAP(error_path, 20),
	HEAP(tiny_many, 20),
	HEAP(mixed_sizes, 20),
	HEAP(log_lines, 20),
	HEAP(one_site_of_eight, 20),
	HEAP(many_sites, 20),
	HEAP(one_thread_of_many, 20),
	HEAP(thread_each_step, 20),
	HEAP(late_start, 40),
	HEAP(at_the_end, 100),
	HEAP(accelerating, 20),
	HEAP(slowing, 20),
	HEAP(with_sawtooth, 60),
	HEAP(beside_noise, 20),
	HEAP(under_noise, 60),
	HEAP(half_freed, 20),
	HEAP(queue_that_grows, 20),
	HEAP(partly_cleaned, 60),
	HEAP(realloc_growth, 20),
	HEAP(list_append, 20),
	HEAP(hash_table, 20),
	HEAP(with_big_churn, 20),
	HEAP(after_warm_up, 20),
	HEAP(after_big_release, 20),
	{ "tensors", every_step, 20, true, "cpu" },
	{ "tensors_of_a_gpu", every_step, 20, true, "cuda:0" },
	{ "tensors_with_activations", with_activations, 20, true, "cpu" },
	{ 0 },
};
