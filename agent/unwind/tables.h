/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables - the rule of an address, read from the .eh_frame of its object.
 *
 * Threads  any, also in signal handlers; no lock, no malloc.
 * Memory   none of its own; the tables lie in the mapped object.
 * Errors   RULE_NONE: the tables say nothing of that code, or what they say is damaged or
 *          does not fit a rule.
 * Units    addresses and bytes.
 */
#ifndef UNWIND_TABLES_H
#define UNWIND_TABLES_H

#include "agent/unwind/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- eh_frame.c: one object's tables ---- */

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

/* ---- expr.c: bytes, pointers, expressions ---- */

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

/* ---- cfa.c: DWARF's call frame instructions ---- */

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

#endif
