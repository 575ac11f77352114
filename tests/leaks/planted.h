/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planted - programs whose memory is known: what they do in each step, and their own
 * account of it.
 *
 * A shape takes blocks from places (call sites) and gives them back. Really (malloc), or
 * as numbers alone, for a file as proflaunch would have written it.
 */
#ifndef LEAKS_PLANTED_H
#define LEAKS_PLANTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLACES 64
#define NONE   UINT32_MAX

struct list { /* blocks that will be given back, oldest first */
	uint32_t *at;
	size_t from, n;
};

struct planted {
	int64_t s; /* the size */
	size_t i, n; /* this step, of so many */
	int64_t kept; /* bytes that will never be given back */
	int64_t state[4];
	uint32_t block;
	struct list a, b;
	/* Of mapped memory: what is there, and what of it is a file's. */
	int64_t anonymous, file;
};

struct shape {
	const char *name;
	void (*step)(struct planted *p);
	size_t least; /* steps */
	bool leaks; /* where S > G; else never */
	const char *space; /* "heap", "cpu", "cuda:0", "resident" */
};
extern const struct shape leaking[], holding[], resident[], others[];

/* A block of a place, and given back. */
uint32_t take(unsigned place, int64_t bytes);
void give(uint32_t block);
uint32_t grow(uint32_t block, unsigned place, int64_t bytes); /* realloc */
int64_t size_of(uint32_t block);
/* A block that nobody will ever give back. */
void keep(struct planted *p, unsigned place, int64_t bytes);
/* On a thread of its own, which is gone when this returns. */
void on_thread(struct planted *p, void (*work)(struct planted *p));

void put(struct list *l, uint32_t block);
void give_first(struct list *l);
void give_all(struct list *l);

/* 0 to n - 1; 0 to 1. */
int64_t chance(int64_t n);
double share(void);

/* Mapped memory, touched; of a file or not. */
void map_more(struct planted *p, int64_t bytes, bool file);
void map_less(struct planted *p, int64_t bytes);

/* Part i of n of the window has been reached. */
static inline bool since(const struct planted *p, unsigned percent)
{
	return p->i * 100 >= p->n * percent;
}

/* The first step of it. */
static inline bool just_at(const struct planted *p, unsigned percent)
{
	return since(p, percent) && (!p->i || (p->i - 1) * 100 < p->n * percent);
}

#endif
