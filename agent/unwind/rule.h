/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule - how one function's frame leads to its caller's registers, packed into one word.
 *
 * Threads  any: pure.
 * Memory   none.
 * Errors   RULE_NONE: nothing is known of that code.
 * Units    bytes.
 */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include <stdint.h>

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

#endif
