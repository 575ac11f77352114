/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes, pointers and expressions of unwind tables. Values are symbolic: rsp, rbp and CFA
 * plus an offset, or what is loaded from there; an expression that comes to anything else
 * gives VALUE_NONE.
 */
#include "agent/unwind/tables.h"

#define VALUES 8 /* an expression's stack */

/* ---- bytes ---- */

uint64_t unwind_uleb_long(struct unwind_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = (uint8_t)unwind_read(r, 1);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

int64_t unwind_sleb(struct unwind_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0;;) {
		uint8_t byte = (uint8_t)unwind_read(r, 1);

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (shift < 64 && byte & 0x40)
			value |= ~0ull << shift;
		return (int64_t)value;
	}
}

uint64_t unwind_pointer(struct unwind_reader *r, uint8_t encoding, uintptr_t data)
{
	uintptr_t here = (uintptr_t)r->at;
	uint64_t value;

	switch (encoding & 0x0f) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		value = unwind_read(r, 8);
		break;
	case 0x01: /* uleb128 */
		value = unwind_uleb(r);
		break;
	case 0x02: /* udata2 */
		value = unwind_read(r, 2);
		break;
	case 0x03: /* udata4 */
		value = unwind_read(r, 4);
		break;
	case 0x09: /* sleb128 */
		value = (uint64_t)unwind_sleb(r);
		break;
	case 0x0a: /* sdata2 */
		value = (uint64_t)(int16_t)unwind_read(r, 2);
		break;
	case 0x0b: /* sdata4 */
		value = (uint64_t)(int32_t)unwind_read(r, 4);
		break;
	default:
		r->bad = true;
		return 0;
	}
	switch (encoding & 0xf0) {
	case 0x00:
		return value;
	case 0x10: /* relative to where it stands */
		return value + here;
	case 0x30: /* datarel */
		return value + data;
	default: /* text-relative, function-relative, aligned, indirect */
		r->bad = true;
		return 0;
	}
}

/* ---- expressions ---- */

static int64_t wrapping_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static struct unwind_value add_values(struct unwind_value a, struct unwind_value b)
{
	if (a.kind == VALUE_CONST) {
		struct unwind_value swapped = a;

		a = b;
		b = swapped;
	}
	if (b.kind != VALUE_CONST)
		return (struct unwind_value){ VALUE_NONE };
	a.offset = wrapping_add(a.offset, b.offset);
	return a;
}

static struct unwind_value loaded_from(struct unwind_value v)
{
	if ((v.kind != VALUE_SP && v.kind != VALUE_BP) || v.offset != (int32_t)v.offset)
		return (struct unwind_value){ VALUE_NONE };
	return (struct unwind_value){ VALUE_LOAD, v.kind, (int32_t)v.offset, 0 };
}

/* Most of these come from a PLT's expression, with which the linker tells whether the
 * push of an entry has run. */
static struct unwind_value apply_binary_op(uint8_t op, struct unwind_value a,
					   struct unwind_value b)
{
	if (op == 0x22) /* plus */
		return add_values(a, b);
	if (op == 0x1c) { /* minus */
		b.offset = (int64_t) - (uint64_t)b.offset;
		return b.kind == VALUE_CONST ? add_values(a, b)
					     : (struct unwind_value){ VALUE_NONE };
	}
	if (a.kind != VALUE_CONST || b.kind != VALUE_CONST)
		return (struct unwind_value){ VALUE_NONE };
	switch (op) {
	case 0x1a: /* and */
		a.offset &= b.offset;
		break;
	case 0x24: /* shl */
		a.offset = b.offset >= 0 && b.offset < 64
				   ? (int64_t)((uint64_t)a.offset << b.offset)
				   : 0;
		break;
	case 0x2a: /* ge */
		a.offset = a.offset >= b.offset;
		break;
	default:
		return (struct unwind_value){ VALUE_NONE };
	}
	return a;
}

/* DW_OP_breg<n>: a register plus an offset; of rsp, rbp and the program counter. */
static struct unwind_value of_register(struct unwind_reader *r, unsigned reg,
				       uintptr_t pc)
{
	int64_t offset = unwind_sleb(r);

	if (reg == REG_SP)
		return (struct unwind_value){ VALUE_SP, .offset = offset };
	if (reg == REG_BP)
		return (struct unwind_value){ VALUE_BP, .offset = offset };
	if (reg == REG_RA)
		return (struct unwind_value){ VALUE_CONST, .offset = wrapping_add(
								   (int64_t)pc, offset) };
	return (struct unwind_value){ VALUE_NONE };
}

static bool read_constant(struct unwind_reader *r, uint8_t op, struct unwind_value *v)
{
	v->kind = VALUE_CONST;
	switch (op) {
	case 0x08: /* const1u */
		v->offset = (int64_t)unwind_read(r, 1);
		return true;
	case 0x09: /* const1s */
		v->offset = (int8_t)unwind_read(r, 1);
		return true;
	case 0x0a: /* const2u */
		v->offset = (int64_t)unwind_read(r, 2);
		return true;
	case 0x0b: /* const2s */
		v->offset = (int16_t)unwind_read(r, 2);
		return true;
	case 0x10: /* constu */
		v->offset = (int64_t)unwind_uleb(r);
		return true;
	case 0x11: /* consts */
		v->offset = unwind_sleb(r);
		return true;
	default: /* lit0 to lit31 */
		v->offset = op - 0x30;
		return op >= 0x30 && op < 0x50;
	}
}

/* A block: its length, then operations. `first`: what the stack begins with, if any. */
struct unwind_value unwind_expression(struct unwind_reader *r, uintptr_t pc,
				      struct unwind_value first)
{
	uint64_t len = unwind_uleb(r);
	struct unwind_reader block = { r->at, r->at, r->bad };
	struct unwind_value stack[VALUES] = { first };
	unsigned n = first.kind != VALUE_NONE;

	if (r->bad || (uint64_t)(r->end - r->at) < len) {
		r->bad = true;
		return (struct unwind_value){ VALUE_NONE };
	}
	block.end = r->at += len;
	while (block.at < block.end && !block.bad) {
		uint8_t op = (uint8_t)unwind_read(&block, 1);
		struct unwind_value v = { VALUE_NONE };

		if (op >= 0x70 && op < 0x90) {
			v = of_register(&block, op - 0x70u, pc);
		} else if (op == 0x06 && n) {
			v = loaded_from(stack[--n]);
		} else if (op == 0x23 && n) {
			v.kind = VALUE_CONST;
			v.offset = (int64_t)unwind_uleb(&block);
			v = add_values(stack[--n], v);
		} else if (!read_constant(&block, op, &v)) {
			if (n < 2)
				return (struct unwind_value){ VALUE_NONE };
			n -= 2;
			v = apply_binary_op(op, stack[n], stack[n + 1]);
		}
		if (v.kind == VALUE_NONE || n == VALUES)
			return (struct unwind_value){ VALUE_NONE };
		stack[n++] = v;
	}
	return n && !block.bad ? stack[n - 1] : (struct unwind_value){ VALUE_NONE };
}
