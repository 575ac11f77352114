/* SPDX-License-Identifier: Apache-2.0 */
/*
 * domain - allocators of ours in front of those of Python's two domains of small objects,
 * which take blocks of 1 to HEAP_DOMAIN_SMALL bytes from pools, and others from malloc.
 *
 * What lies in a pool is recorded here, with a call of its own; the rest by malloc's
 * hooks.  Whether a block that is freed lies in a pool only its record tells: a free with
 * such a call means nothing to a block of malloc's (but a sample's, which is told once).
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

/* What ours call. Set before ours are in place, and never cleared: a call may be on its
 * way. */
extern struct allocator heap_domain_next[HEAP_DOMAINS];
extern const struct allocator heap_domain_ours[HEAP_DOMAINS];

#endif
