/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planted really SHAPE BYTES STEPS SEED PAUSE_MS: does it, says what it kept.
 * planted all|sample|count SHAPE BYTES STEPS SEED FILE: writes a file as proflaunch would
 * have written it of that program, and says the same.
 * planted list: name, space, least steps, leaks.
 *
 * A line is: kept bytes, steps since it began to keep.
 */
#define _GNU_SOURCE
#include "planted.h"
#include "told.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void proflaunch_step(void) __attribute__((weak));

/* ---- chance ---- */

static uint64_t random_state;

static uint64_t next_random(void)
{
	uint64_t x = random_state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

int64_t chance(int64_t n)
{
	return (int64_t)(next_random() % (uint64_t)n);
}

double share(void)
{
	return ((double)(next_random() >> 12) + 0.5) * 0x1p-52;
}

/* ---- blocks ---- */

#define BLOCKS (1u << 23)

static struct block {
	void *at;
	int64_t bytes, weight;
	unsigned place;
	uint32_t next; /* that is free */
} * blocks;
static uint32_t blocks_n, free_block = NONE;
static bool really;

/* Each place is a function of its own: that is what a call site is. */
#define PLACE(n)                                                                   \
	__attribute__((noinline)) static void *place_##n(void *old, int64_t bytes) \
	{                                                                          \
		void *volatile block =                                             \
			old ? realloc(old, (size_t)bytes) : malloc((size_t)bytes); \
                                                                                   \
		__asm__ volatile("" : : "i"(n));                                   \
		return block;                                                      \
	}
#define TEN(X, t) \
	X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define ALL(X) TEN(X, 10) TEN(X, 11) TEN(X, 12) TEN(X, 13) TEN(X, 14)
ALL(PLACE)
#define NAME(n) place_##n,
static void *(*const places[])(void *old, int64_t bytes) = { ALL(NAME) };

uint32_t take(unsigned place, int64_t bytes)
{
	uint32_t b = free_block == NONE ? blocks_n++ : free_block;

	if (b >= BLOCKS)
		abort();
	if (free_block != NONE)
		free_block = blocks[b].next;
	blocks[b] = (struct block){ .bytes = bytes, .place = place };
	if (really)
		blocks[b].at = places[place](NULL, bytes);
	else
		blocks[b].weight = told_take(place, bytes);
	return b;
}

void give(uint32_t block)
{
	struct block *b = &blocks[block];

	if (really)
		free(b->at);
	else
		told_give(b->place, b->bytes, b->weight);
	b->next = free_block;
	free_block = block;
}

/* As the agent sees it: a free, and an allocation. */
uint32_t grow(uint32_t block, unsigned place, int64_t bytes)
{
	struct block *b;

	if (block == NONE)
		return take(place, bytes);
	b = &blocks[block];
	if (really) {
		b->at = places[place](b->at, bytes);
		b->bytes = bytes;
		return block;
	}
	give(block);
	return take(place, bytes);
}

int64_t size_of(uint32_t block)
{
	return blocks[block].bytes;
}

void keep(struct planted *p, unsigned place, int64_t bytes)
{
	take(place, bytes);
	p->kept += bytes;
}

/* ---- lists ---- */

void put(struct list *l, uint32_t block)
{
	if (!l->at)
		l->at = mmap(NULL, BLOCKS * sizeof(*l->at), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	l->at[l->n++] = block;
}

void give_first(struct list *l)
{
	give(l->at[l->from++]);
}

void give_all(struct list *l)
{
	while (l->from < l->n)
		give_first(l);
	l->from = l->n = 0;
}

/* ---- threads ---- */

static void (*thread_work)(struct planted *p);

static void *work_there(void *p)
{
	thread_work(p);
	return NULL;
}

void on_thread(struct planted *p, void (*work)(struct planted *p))
{
	pthread_t thread;

	thread_work = work;
	if (!really) {
		work(p);
		return;
	}
	if (pthread_create(&thread, NULL, work_there, p))
		abort();
	pthread_join(thread, NULL);
}

/* ---- mapped memory ---- */

#define MAPPED (1ll << 34)

static char *mapped_from, *mapped_at, *file_at;

void map_more(struct planted *p, int64_t bytes, bool file)
{
	*(file ? &p->file : &p->anonymous) += bytes;
	if (!really)
		return;
	if (!mapped_from) {
		FILE *empty = tmpfile();

		mapped_from = mapped_at =
			mmap(NULL, MAPPED, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (!empty || ftruncate(fileno(empty), MAPPED))
			abort();
		file_at = mmap(NULL, MAPPED, PROT_READ, MAP_SHARED, fileno(empty), 0);
	}
	if (file) {
		for (int64_t i = 0; i < bytes; i += 4096)
			(void)*(volatile char *)&file_at[i];
		file_at += bytes;
		return;
	}
	memset(mapped_at, 1, (size_t)bytes);
	mapped_at += bytes;
}

void map_less(struct planted *p, int64_t bytes)
{
	p->anonymous -= bytes;
	if (!really || !bytes)
		return;
	mapped_at -= bytes;
	madvise(mapped_from + ((mapped_at - mapped_from + 4095) & ~4095ll), (size_t)bytes,
		MADV_DONTNEED);
}

/* ---- the program ---- */

static const struct shape *find_shape(const char *name)
{
	const struct shape *all[] = { leaking, holding, resident, others };

	for (size_t i = 0; i < 4; i++)
		for (const struct shape *s = all[i]; s->name; s++)
			if (!name)
				printf("%s %s %zu %d\n", s->name, s->space, s->least,
				       s->leaks);
			else if (!strcmp(s->name, name))
				return s;
	exit(name != NULL);
}

int main(int argc, char **argv)
{
	struct planted p = { .block = NONE };
	const struct shape *shape;
	size_t began = 0;

	if (argc != 7)
		find_shape(NULL);
	shape = find_shape(argv[2]);
	really = !strcmp(argv[1], "really");
	p.s = atoll(argv[3]);
	p.n = (size_t)atoll(argv[4]);
	random_state = (uint64_t)atoll(argv[5]) * 1000003;
	blocks = mmap(NULL, BLOCKS * sizeof(*blocks), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (really)
		map_more(&p, 64 << 20, false);
	else
		p.anonymous = 64 << 20;
	for (int i = 0; really && proflaunch_step && i < 2; i++)
		proflaunch_step();
	for (p.i = 0; p.i < p.n; p.i++) {
		shape->step(&p);
		if (!p.kept)
			began = p.i + 1;
		if (!really)
			told_step(p.i, p.anonymous);
		else
			usleep(1000 * (unsigned)atoi(argv[6]));
		if (really && proflaunch_step)
			proflaunch_step();
	}
	if (!really)
		told_write(argv[6], argv[1], shape->space, p.n);
	printf("%lld %zu\n", (long long)p.kept, p.n - began);
	return 0;
}
