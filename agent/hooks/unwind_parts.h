/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind_parts - the steps of walking a stack, one file each.
 *
 * Threads  any, also in signal handlers; no lock, no malloc.
 * Memory   static tables and the arena.
 * Errors   a rule RULE_NONE: nothing is known of that code.
 * Units    addresses and bytes.
 */
#ifndef HOOKS_UNWIND_PARTS_H
#define HOOKS_UNWIND_PARTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- unwind_eh.c: what the tables say about one address ---- */

/*
 * What a caller's registers are, as one word:
 *
 *	bits 0-3    enum rule_kind
 *	bits 4-5    enum rule_bp: where the caller's rbp is
 *	bits 8-15   added to what was loaded (RULE_LOAD_*), signed
 *	bits 16-39  offset to rsp or rbp, signed
 *	bits 40-63  offset for rule_bp, signed
 *
 * CFA is the caller's stack pointer after the return; the return address lies below it.
 */
enum rule_kind {
	RULE_NONE, /* no tables, or nothing that we can follow */
	RULE_SP, /* CFA = rsp + offset */
	RULE_BP, /* CFA = rbp + offset */
	RULE_LOAD_SP, /* CFA = *(rsp + offset) + what is added */
	RULE_LOAD_BP, /* CFA = *(rbp + offset) + what is added */
	RULE_SIGNAL, /* the kernel's frame: all registers lie in it */
	RULE_OUTERMOST /* nobody called this */
};
enum rule_bp { BP_SAME, BP_AT_CFA, BP_AT_BP, BP_LOST };

#define RULE(kind, offset, add, bp, bp_offset)                                  \
	((uint64_t)(kind) | (uint64_t)(bp) << 4 | (uint64_t)((add)&0xff) << 8 | \
	 ((uint64_t)(offset)&0xffffff) << 16 | ((uint64_t)(bp_offset)&0xffffff) << 40)
/* push %rbp; mov %rsp, %rbp */
#define RULE_FRAME_POINTER RULE(RULE_BP, 16, 0, BP_AT_CFA, -16)

static inline enum rule_kind rule_kind(uint64_t rule)
{
	return (enum rule_kind)(rule & 15);
}

static inline enum rule_bp rule_bp(uint64_t rule)
{
	return (enum rule_bp)(rule >> 4 & 3);
}

static inline int64_t rule_add(uint64_t rule)
{
	return (int8_t)(rule >> 8);
}

static inline int64_t rule_offset(uint64_t rule)
{
	return (int64_t)(rule << 24) >> 40;
}

static inline int64_t rule_bp_offset(uint64_t rule)
{
	return (int64_t)rule >> 40;
}

/* Offsets from the stack pointer in the kernel's frame: glibc's own tables say the same,
 * or the rule is not RULE_SIGNAL. */
enum { SIGNAL_BP = 120, SIGNAL_SP = 160, SIGNAL_PC = 168 };

/* Where an object's tables lie; every load from them is inside one of the two ranges. */
struct unwind_tables {
	const uint8_t *hdr, *hdr_end; /* .eh_frame_hdr to the end of its segment */
	const uint8_t *lo, *hi; /* the segment that holds .eh_frame */
	const uint8_t *table; /* sorted, in .eh_frame_hdr */
	size_t count;
};

/* Reads the header of .eh_frame_hdr; *eh_frame is where it says .eh_frame lies, for the
 * caller to find out lo and hi. */
bool unwind_tables_open(struct unwind_tables *t, const uint8_t *hdr, const uint8_t *end,
			uintptr_t *eh_frame);
/* Never RULE_BP and the like with offsets that do not fit a rule. */
uint64_t unwind_tables_rule(const struct unwind_tables *t, uintptr_t pc);

/* ---- unwind_expr.c: bytes, pointers, expressions ---- */

enum { REG_BP = 6, REG_SP = 7, REG_RA = 16 }; /* DWARF's numbers */

struct unwind_reader { /* of bytes; stops at the end, then `bad` */
	const uint8_t *at, *end;
	bool bad;
};
static inline uint64_t unwind_read(struct unwind_reader *r, unsigned size)
{
	uint64_t word = 0;

	if (__builtin_expect((size_t)(r->end - r->at) < size, 0)) {
		r->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < size;
	     i++) /* little endian; one load, as size is known */
		word |= (uint64_t)r->at[i] << 8 * i;
	r->at += size;
	return word;
}
uint64_t unwind_uleb_long(struct unwind_reader *r);
static inline uint64_t unwind_uleb(struct unwind_reader *r)
{
	if (__builtin_expect(r->at < r->end && !(*r->at & 0x80), 1))
		return *r->at++;
	return unwind_uleb_long(r);
}
int64_t unwind_sleb(struct unwind_reader *r);
/* A pointer as `encoding` (DW_EH_PE) says; `data` is what "datarel" is relative to. */
uint64_t unwind_pointer(struct unwind_reader *r, uint8_t encoding, uintptr_t data);

enum unwind_kind {
	VALUE_NONE,
	VALUE_CONST,
	VALUE_SP,
	VALUE_BP,
	VALUE_CFA,
	VALUE_LOAD /* *(base + inner) + offset; base: SP or BP */
};
struct unwind_value {
	uint8_t kind, base; /* enum unwind_kind */
	int32_t inner;
	int64_t offset;
};
/* A block: its length, then operations. `first`: what the stack begins with, if any. */
struct unwind_value unwind_expression(struct unwind_reader *r, uintptr_t pc,
				      struct unwind_value first);

/* ---- unwind_cfa.c: DWARF's call frame instructions ---- */

struct unwind_cie {
	struct unwind_reader instructions;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra; /* register */
	uint8_t encoding; /* of the FDE's addresses */
	bool sized, signal; /* augmentations z, S */
};
/* The rule at `pc` of a function that begins at `begin`. */
uint64_t unwind_cfa_rule(const struct unwind_cie *cie, struct unwind_reader fde,
			 uintptr_t begin, uintptr_t pc);

/* ---- unwind_find.c: which object is an address in ---- */

struct unwind_module {
	uintptr_t begin, end; /* mapped */
	uintptr_t bias;
	struct unwind_tables tables; /* count 0: it has none */
	_Atomic uint64_t id; /* stacks_epoch, id of stacks_module() */
	_Atomic uint32_t epoch; /* unwind_epoch when this was looked at last */
	struct unwind_module *next;
	uint8_t build_id[20];
	uint8_t build_id_len;
	const char *name, *path; /* as the linker says; with the directory */
};

extern _Atomic uint32_t unwind_epoch; /* changes when something may have been unmapped */
struct unwind_object;
extern int (*unwind_find_object)(void *pc, struct unwind_object *result); /* or NULL */
void unwind_find_start(void);
/* The object that holds `pc`, a code address of the calling thread's own stack; NULL: no
 * object's. */
struct unwind_module *unwind_find(uintptr_t pc);
/* Does the dynamic linker, asked now, still say so? */
bool unwind_find_holds(const struct unwind_module *m, uintptr_t pc);
uint32_t unwind_module_id(struct unwind_module *m); /* in the spool, 0 = no room */

/* ---- unwind_maps.c: /proc/self/maps by system calls ---- */

struct unwind_mapping {
	uintptr_t begin, end;
	uintptr_t first; /* where the first mapping of that file begins */
	bool readable;
};
/* The mapping that holds `at`; its path goes to `path`, cut if it must be. */
bool unwind_maps_find(uintptr_t at, struct unwind_mapping *m, char *path, size_t size);

/* ---- unwind_bounds.c: the calling thread's stack ---- */

struct unwind_bounds {
	uintptr_t lo, end;
};
void unwind_bounds_start(void);
/* What may be loaded from, going up from `sp`: *foreign when that is not the thread's
 * own stack. */
struct unwind_bounds unwind_bounds(uintptr_t sp, bool *foreign);
extern __thread struct unwind_bounds unwind_own
	__attribute__((tls_model("initial-exec")));

/* ---- unwind_walk.c ---- */

struct unwind_regs {
	uintptr_t pc, sp, bp; /* after the return to `pc` */
};
struct unwind_result {
	unsigned depth, flags; /* enum stack_flag */
	bool whole; /* it ends where it was begun, or was cut */
	unsigned known; /* unwind_near: so many outer frames are as they were */
};

/*
 * The thread's last walk. Most calls come from where the last one came from, or from
 * close by. What a rule makes of a frame is given by the frame's registers and the words
 * that it loads: where these are what they were, so is the caller. Nothing is assumed.
 */
struct unwind_frame {
	uintptr_t pc, word;
	int32_t sp, at; /* from the stack's end, negative; at: where `word` was loaded,
			   the frame pointer, or pc again where nothing else was */
	uint32_t stack; /* id of it with its callers; 0 = none */
	uint32_t depth : 31; /* frames from the outermost to this one, without ours */
	uint32_t own : 1; /* the agent's */
};
struct unwind_near {
	uint64_t epoch; /* of the rules */
	uintptr_t end; /* of the stack */
	unsigned count, room; /* of frame, outermost first: so the most of it can stay */
	unsigned matter; /* frames that must be right; those further out may be old */
	unsigned flags; /* of the walk */
	struct unwind_frame *frame;
	uintptr_t *bp; /* of each */
};

void unwind_walk_start(void);
void unwind_rules_clear(void);
void unwind_rule_keep(uintptr_t at, uint64_t epoch, uint64_t rule);
/* From `regs` outwards; `most` frames at most. */
struct unwind_result unwind_frames(struct unwind_regs regs, uintptr_t *pc, unsigned most);
/* The same, starting from what is known of the last walk; this one's frames are near's
 * afterwards. false: not known of this one; it is deep, or leaves the thread's stack. */
bool unwind_near(struct unwind_regs regs, struct unwind_near *near,
		 struct unwind_result *u);
unsigned unwind_near_pcs(const struct unwind_near *near, uintptr_t *pc); /* how many */
/* unwind_frames by rules straight from the tables of each frame's object, for which the
 * linker is asked anew. */
struct unwind_result unwind_frames_fresh(struct unwind_regs regs, uintptr_t *pc,
					 unsigned most);
/* Is a walk from `regs` the last one, which was whole, once more? */
bool unwind_near_same(const struct unwind_near *near, struct unwind_regs regs);

/* The registers of whoever called the function that this stands in, or that has said that
 * its __builtin_frame_address(0) is `frame`. */
#define UNWIND_CALLER_OF(frame)                                                          \
	((struct unwind_regs){ ((const uintptr_t *)(frame))[1], (uintptr_t)(frame) + 16, \
			       ((const uintptr_t *)(frame))[0] })
#define UNWIND_CALLER UNWIND_CALLER_OF(__builtin_frame_address(0))

#endif
