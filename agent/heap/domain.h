/* SPDX-License-Identifier: Apache-2.0 */
/*
 * domain - allocators of ours in front of those of Python's two domains, whatever is
 * there: its own, which take blocks of 1 to HEAP_DOMAIN_SMALL bytes from pools and others
 * from malloc, or a tool's (debug hooks, tracemalloc, memray).
 *
 * What malloc gives is recorded by its hooks; the rest here, as the program gets it, with
 * a call of its own. Whether a block that is freed is one of those only its record tells:
 * a free with such a call means nothing to a block of malloc's (but a sample's, which is
 * told once).
 *
 * A place stands in front of the same functions for ever, and hands on the context that
 * it gets: to call it is to call those. So whoever has kept it, and whatever calls it,
 * there is no circle that would not be there without us.
 *
 * Threads  any that the allocator may be called by.  Hot path.
 * Memory   static.
 * Errors   the other allocator always runs with the caller's arguments, and its result is
 *          the caller's.
 * Units    bytes.
 */
#ifndef HEAP_DOMAIN_H
#define HEAP_DOMAIN_H

#include "agent/hooks/allocator.h"

#define HEAP_DOMAIN_SMALL 512 /* SMALL_REQUEST_THRESHOLD of CPython's obmalloc.c */

enum { HEAP_DOMAIN_MEM, HEAP_DOMAIN_OBJECT, HEAP_DOMAINS };
/* The first is for the interpreter's own allocators, the others for tools. */
enum { HEAP_DOMAIN_POOLS, HEAP_DOMAIN_TOOL, HEAP_DOMAIN_PLACES = 6 };

/* What ours call, by place; for debug hooks the context is a struct allocator_behind. Set
 * before ours are in place, and then never
 * changed: a tool may have kept them. */
extern struct allocator heap_domain_next[HEAP_DOMAIN_PLACES][HEAP_DOMAINS];
extern const struct allocator heap_domain_ours[HEAP_DOMAIN_PLACES][HEAP_DOMAINS];
/* One of ours was called, and there is nothing to record; may be NULL. */
extern void (*heap_domain_idle)(const struct allocator *ours);

#endif
