/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap - malloc, free, operator new, operator delete and their family.
 *
 * Threads  heap_opened, heap_ended: the thread that opens or seals a window; heap_tick:
 *          the keeper's thread; the hooks themselves: any, at any time, in any state.
 * Memory   a static bootstrap arena until the real allocator is found; the arena.
 * Errors   the real function always runs with the caller's arguments; its result and
 *          errno are the caller's.
 * Units    bytes.
 */
#ifndef HEAP_HEAP_H
#define HEAP_HEAP_H

#include "agent/core/spool.h"
#include "config/config.h"

/* From the agent's constructor: what to record. Says in one line when an allocator lies
 * ahead of us or inside the executable, so that its calls cannot be seen. */
void heap_start(const struct config *config, uint64_t seed);
/* Another stack of an allocation that is being recorded: takes the id of the native one,
 * or 0, and gives the id that stands for both. Called within malloc. */
struct thread;
typedef uint32_t heap_also(struct thread *t, uint32_t native);
void heap_also_walk(heap_also *also);
extern void (*heap_first)(void); /* first call or sample comes; set by wire_heap.c */
bool heap_is_sample(void);
bool heap_wanted(void); /* malloc is not off: windows open without torch, too */
bool heap_asks_for(const char *name); /* the program refers to that function */
void heap_opened(struct cycle_info *info);
void heap_ended(struct cycle_info *info, bool kept);
/* Both write a REC_HEAP. heap_mark: counters, at a window's edges; heap_tick: the
 * resident size as well, on a thread that may open files. */
void heap_mark(void);
void heap_tick(void);
/* With `sample`, outside windows: blocks are sampled, and the first sample calls
 * heap_first. */
bool heap_doze(void);
void heap_undoze(void); /* torch was found: operators will open windows */
bool heap_is_dozing(void);
bool heap_is_asleep(void); /* a fresh child, before its first call */
bool heap_samples(void); /* is there something to sample over time? */
void heap_fork_child(bool wake); /* wake: its first call calls heap_first */
/* JSON: allocator found (path), mode, what could not be hooked, and why. */
size_t heap_facts(char *json, size_t size);

#endif
