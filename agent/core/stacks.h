/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks - call stacks and the modules they lie in, each stored once in the spool; native
 * ones, and Python's, whose modules are code objects (codes.h).
 *
 * A stack is its innermost frame and the stack that called it, so that stacks share what
 * they have in common: most of it.
 *
 * Threads  any; lock-free, no malloc, no lock of the dynamic linker's.  Equal stacks
 *          have equal ids, but for a few when the index is crowded.
 * Memory   CHUNK_STACKS chunks, for the life of the process: cap / 4 at most.
 * Errors   id 0: no room (the caller counts it).
 * Units    an id is the entry's spool offset / 8; frames innermost first.
 *
 * A native frame is where the call lies (the return address - 1), as an offset into its
 * module's file image (address - load bias): it stays right when the module has gone.
 */
#ifndef CORE_STACKS_H
#define CORE_STACKS_H

#include "agent/core/spool_view.h"

#define STACKS_MOST      512 /* frames of a stack */
#define STACKS_PATH_MOST 4095 /* bytes of a module's path */

/* An executable file mapped into the process. */
struct stack_module { /* as it lies in the spool, 8-byte aligned */
	uint64_t bias; /* address - bias = the ELF file's virtual address */
	uint8_t build_id[20];
	uint8_t build_id_len; /* 0 = the file has none */
	uint8_t spare;
	uint16_t path_len;
	char path[]; /* NUL-terminated, padded */
};

struct stack_frame {
	uint32_t module; /* id of the module, 0 = not known: then offset is an address */
	uint64_t offset;
};

/* As it lies in the spool. */
struct stack {
	uint32_t caller; /* id; 0: this frame is the outermost one */
	uint16_t depth; /* frames from here on */
	uint16_t flags; /* of the outermost frame */
	uint64_t frame; /* see stacks_pack */
};

/* The module's id above 32 bits of offset; what has no module, or does not fit, is an
 * address with the top bit set. */
static inline uint64_t stacks_pack(struct stack_frame f)
{
	if (f.module && f.offset <= UINT32_MAX)
		return (uint64_t)f.module << 32 | f.offset;
	return 1ull << 63 | f.offset;
}

enum stack_flag {
	STACK_CUT = 1, /* outer frames left out: stack_depth */
	STACK_ENDED = 2, /* ended at code without unwind tables */
	STACK_FOREIGN = 4, /* ended at the edge of a signal's or coroutine's stack */
	STACK_PAIR = 8, /* no stack, but two: stack_pair.h */
	STACK_ENTRY = 16, /* of each frame of Python's that C called, not Python */
};

/* ---- the writing side ---- */
/* Each allocation will have a stack: the index may lie on large pages. Called before the
 * first stack. */
void stacks_many(void);
uint32_t stacks_module(uint64_t bias, const uint8_t *build_id, unsigned len,
		       const char *path);
/* Where a thread puts its next stacks, taken several at once; all zero at first, and
 * again when stacks_epoch has changed. */
struct stacks_room {
	uint64_t at, end;
};
/* `frame`, called by the stack `caller`; 0: by nobody, and flags say why it ends there.
 * room: the calling thread's, in use by nothing else of that thread; may be NULL. */
uint32_t stacks_add(uint32_t caller, struct stack_frame frame, unsigned flags,
		    struct stacks_room *room);
/* Stacks that `caller` (or 0) calls will be added soon: a hint. */
void stacks_expect(uint32_t caller);
/* The index is made anew when it is needed: stacks that are there already may then be
 * stored again. No other thread may use the index meanwhile. */
void stacks_shrink(void);
void stacks_forget(void); /* after fork: the spool is another one */
extern _Atomic uint32_t stacks_epoch; /* stacks_forget changes it: ids are void then */

/* ---- the reader's side; the spool may be damaged or hostile ---- */
/* NULL: it does not lie in the view. What it holds may change. */
const struct stack *stacks_at(const struct spool_view *v, uint32_t id);
/* Depth (0: no such stack), flags and the innermost frames, `most` at most, of a stack.
 */
unsigned stacks_get(const struct spool_view *v, uint32_t id,
		    struct stack_frame frame[STACKS_MOST], unsigned most,
		    unsigned *flags);
unsigned stacks_depth(const struct spool_view *v, uint32_t id);
/* NULL: no such module. Its path ends with NUL inside the view. */
const struct stack_module *stacks_module_get(const struct spool_view *v, uint32_t id);

#endif
