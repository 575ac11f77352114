/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs DWARF's call frame instructions, as far as they say where CFA (the caller's stack
 * pointer), the return address and rbp are.
 */
#include "agent/unwind/tables.h"

#define STATES 8 /* of remember_state */

enum where { WHERE_SAME, WHERE_AT, WHERE_UNDEFINED, WHERE_ODD };
struct place { /* of a caller's register */
	enum where where;
	struct unwind_value at; /* WHERE_AT: address */
};

struct row {
	struct unwind_value cfa;
	struct place bp, ra, sp;
};

struct machine {
	const struct unwind_cie *cie;
	struct row row, initial, kept[STATES];
	unsigned kept_count;
	uintptr_t at, pc;
	bool failed, passed; /* passed: the row is that of pc */
};

static void set_register(struct machine *m, uint64_t reg, struct place p)
{
	if (reg == REG_BP)
		m->row.bp = p;
	else if (reg == REG_SP)
		m->row.sp = p;
	else if (reg == m->cie->ra)
		m->row.ra = p;
}

static void restore_register(struct machine *m, uint64_t reg)
{
	set_register(m, reg,
		     reg == REG_BP   ? m->initial.bp
		     : reg == REG_SP ? m->initial.sp
				     : m->initial.ra);
}

static struct place at_cfa(int64_t offset)
{
	return (struct place){ WHERE_AT, { VALUE_CFA, .offset = offset } };
}

static void define_cfa(struct machine *m, uint64_t reg, int64_t offset)
{
	m->row.cfa = (struct unwind_value){ reg == REG_SP   ? VALUE_SP
					    : reg == REG_BP ? VALUE_BP
							    : VALUE_NONE,
					    .offset = offset };
}

static void advance_location(struct machine *m, uint64_t by)
{
	m->at += by * m->cie->code_align;
	m->passed = m->at > m->pc;
}

static int64_t scale_offset(const struct machine *m, int64_t factor)
{
	return (int64_t)((uint64_t)factor * (uint64_t)m->cie->data_align);
}

static void push_or_pop_row(struct machine *m, bool remember)
{
	if (remember ? m->kept_count == STATES : m->kept_count == 0)
		m->failed = true;
	else if (remember)
		m->kept[m->kept_count++] = m->row;
	else
		m->row = m->kept[--m->kept_count];
}

static __attribute__((cold)) void cfa_instruction(struct machine *m, uint8_t op,
						  struct unwind_reader *r)
{
	uint64_t reg;

	switch (op) {
	case 0x0c: /* def_cfa */
		reg = unwind_uleb(r);
		define_cfa(m, reg, (int64_t)unwind_uleb(r));
		break;
	case 0x12: /* def_cfa_sf */
		reg = unwind_uleb(r);
		define_cfa(m, reg, scale_offset(m, unwind_sleb(r)));
		break;
	case 0x0d: /* def_cfa_register */
		define_cfa(m, unwind_uleb(r), m->row.cfa.offset);
		break;
	case 0x0e: /* def_cfa_offset */
		m->row.cfa.offset = (int64_t)unwind_uleb(r);
		break;
	case 0x13: /* def_cfa_offset_sf */
		m->row.cfa.offset = scale_offset(m, unwind_sleb(r));
		break;
	case 0x0f: /* def_cfa_expression */
		m->row.cfa =
			unwind_expression(r, m->pc, (struct unwind_value){ VALUE_NONE });
		break;
	default:
		m->failed = true;
	}
}

static __attribute__((cold)) void register_instruction(struct machine *m, uint8_t op,
						       struct unwind_reader *r)
{
	uint64_t reg = unwind_uleb(r);
	struct place p = { WHERE_ODD };

	switch (op) {
	case 0x05: /* offset_extended */
		p = at_cfa(scale_offset(m, (int64_t)unwind_uleb(r)));
		break;
	case 0x11: /* offset_extended_sf */
		p = at_cfa(scale_offset(m, unwind_sleb(r)));
		break;
	case 0x2f: /* GNU_negative_offset_extended */
		p = at_cfa(scale_offset(m, (int64_t)-unwind_uleb(r)));
		break;
	case 0x06: /* restore_extended */
		restore_register(m, reg);
		return;
	case 0x07:
		p.where = WHERE_UNDEFINED;
		break;
	case 0x08:
		p.where = WHERE_SAME;
		break;
	case 0x09: /* register */
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		unwind_uleb(r);
		break;
	case 0x10: /* expression */
		p.where = WHERE_AT;
		p.at = unwind_expression(r, m->pc, (struct unwind_value){ VALUE_CFA });
		break;
	case 0x16: /* val_expression */
		unwind_expression(r, m->pc, (struct unwind_value){ VALUE_CFA });
		break;
	default:
		m->failed = true;
	}
	set_register(m, reg, p);
}

static __attribute__((noinline)) void run_instruction(struct machine *m,
						      struct unwind_reader *r)
{
	uint8_t op = (uint8_t)unwind_read(r, 1), low = op & 0x3f;

	switch (op & 0xc0) {
	case 0x80:
		set_register(m, low, at_cfa(scale_offset(m, (int64_t)unwind_uleb(r))));
		return;
	case 0xc0:
		restore_register(m, low);
		return;
	}
	switch (op) {
	case 0x00:
		break;
	case 0x01: /* set_loc */
		m->at = unwind_pointer(r, m->cie->encoding, 0);
		m->passed = m->at > m->pc;
		break;
	case 0x02:
		advance_location(m, unwind_read(r, 1));
		break;
	case 0x03:
		advance_location(m, unwind_read(r, 2));
		break;
	case 0x04:
		advance_location(m, unwind_read(r, 4));
		break;
	case 0x0a:
	case 0x0b:
		push_or_pop_row(m, op == 0x0a);
		break;
	case 0x2e: /* GNU_args_size */
		unwind_uleb(r);
		break;
	case 0x0c:
	case 0x0d:
	case 0x0e:
	case 0x0f:
	case 0x12:
	case 0x13:
		cfa_instruction(m, op, r);
		break;
	default:
		register_instruction(m, op, r);
	}
}

static inline bool is_told(const struct machine *m, uint8_t reg)
{
	return reg == REG_BP || reg == REG_SP || reg == m->cie->ra;
}

static inline bool is_short(const uint8_t *at, const uint8_t *end)
{
	return end - at > 1 && !(at[1] & 0x80);
}

/* Most instructions move on in the code, move the stack pointer, or save a register that
 * no rule tells of: these run here. Others, and longer ones, are left to
 * run_instruction. */
static const uint8_t *run_simple(struct machine *m, const uint8_t *at, const uint8_t *end)
{
	const struct unwind_cie *cie = m->cie;
	uintptr_t code = m->at;

	for (; at < end && code <= m->pc; at++) {
		uint8_t high = *at >> 6, low = *at & 0x3f;

		if (high == 1)
			code += low * cie->code_align;
		else if (*at == 0x0e && is_short(at, end)) /* def_cfa_offset */
			m->row.cfa.offset = *++at;
		else if (high == 2 && !is_told(m, low) && is_short(at, end))
			at++;
		else if (high != 3 || is_told(m, low))
			break;
	}
	m->at = code;
	return at;
}

static void run_program(struct machine *m, struct unwind_reader r)
{
	for (;;) {
		r.at = run_simple(m, r.at, r.end);
		m->passed = m->at > m->pc;
		if (r.at >= r.end || r.bad || m->failed || m->passed)
			break;
		run_instruction(m, &r);
	}
	m->failed |= r.bad;
}

/* ---- a row as a rule ---- */

static bool fits_in_rule(int64_t offset)
{
	return offset >= -(1 << 23) && offset < 1 << 23;
}

static bool is_value(struct unwind_value v, enum unwind_kind kind, int64_t offset)
{
	return v.kind == kind && v.offset == offset;
}

static uint64_t signal_rule(const struct row *row)
{
	const struct unwind_value *cfa = &row->cfa;

	if (cfa->kind == VALUE_LOAD && cfa->base == VALUE_SP && cfa->inner == SIGNAL_SP &&
	    !cfa->offset && row->bp.where == WHERE_AT &&
	    is_value(row->bp.at, VALUE_SP, SIGNAL_BP) && row->ra.where == WHERE_AT &&
	    is_value(row->ra.at, VALUE_SP, SIGNAL_PC))
		return RULE(RULE_SIGNAL, 0, 0, BP_SAME, 0);
	return RULE_NONE;
}

static enum rule_bp bp_rule(const struct row *row, int64_t *offset)
{
	const struct unwind_value *at = &row->bp.at;

	*offset = 0;
	if (row->bp.where == WHERE_SAME)
		return BP_SAME;
	if (row->bp.where != WHERE_AT || !fits_in_rule(at->offset))
		return BP_LOST;
	*offset = at->offset;
	if (at->kind == VALUE_CFA)
		return BP_AT_CFA;
	if (at->kind == VALUE_BP)
		return BP_AT_BP;
	if (at->kind != VALUE_SP || row->cfa.kind != VALUE_SP)
		return BP_LOST;
	/* rbp's place and the CFA are both at known offsets from rsp: so the offset
	 * between them is known, too. */
	*offset = at->offset - row->cfa.offset;
	return fits_in_rule(*offset) ? BP_AT_CFA : BP_LOST;
}

/* What no rule can say (another register, a large offset) is RULE_NONE: a walk ends there
 * and tells so, which is better than a frame that is not there. */
static uint64_t rule_of(const struct unwind_cie *cie, const struct row *row)
{
	const struct unwind_value *cfa = &row->cfa;
	bool loads = cfa->kind == VALUE_LOAD;
	int64_t offset = loads ? cfa->inner : cfa->offset, add = loads ? cfa->offset : 0,
		bp_offset;
	enum unwind_kind base = loads ? cfa->base : cfa->kind;
	enum rule_bp bp = bp_rule(row, &bp_offset);

	if (cie->signal)
		return signal_rule(row);
	if (row->ra.where == WHERE_UNDEFINED)
		return RULE_OUTERMOST;
	if (row->ra.where != WHERE_AT || !is_value(row->ra.at, VALUE_CFA, -8) ||
	    row->sp.where != WHERE_SAME || !fits_in_rule(offset) || add != (int8_t)add)
		return RULE_NONE;
	if (base == VALUE_SP)
		return RULE(loads ? RULE_LOAD_SP : RULE_SP, offset, add, bp, bp_offset);
	if (base == VALUE_BP)
		return RULE(loads ? RULE_LOAD_BP : RULE_BP, offset, add, bp, bp_offset);
	return RULE_NONE;
}

uint64_t unwind_cfa_rule(const struct unwind_cie *cie, struct unwind_reader fde,
			 uintptr_t begin, uintptr_t pc)
{
	struct machine m;

	m.cie = cie;
	m.row = (struct row){ 0 };
	m.kept_count = 0;
	m.at = begin;
	m.pc = pc;
	m.failed = m.passed = false;
	run_program(&m, cie->instructions);
	/* What the CIE has set is what the FDE's restores go back to. */
	m.initial = m.row;
	m.passed = false;
	run_program(&m, fde);
	return m.failed ? RULE_NONE : rule_of(cie, &m.row);
}
