/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a function's first instructions give way to the jump, whether that is safe,
 * and how they run elsewhere.
 */
#include "agent/patch/steps.h"

#include <string.h>

/* ---- may it be patched ---- */

/* A call to the very entry is recursion, and to be counted; a jump there is a loop. */
static bool lands_inside(const struct patch_insn *insn, uintptr_t at,
			 const struct patch_plan *p, uintptr_t entry)
{
	uintptr_t target = at + insn->length + (uintptr_t)insn->target;

	if (!insn->relative)
		return false;
	if (insn->kind == INSN_CALL && (target == entry || target == p->at))
		return false;
	return target >= entry && target < p->at + p->length;
}

static const char *check_branches(const struct patch_found *f,
				  const struct patch_plan *plan)
{
	struct patch_insn insn;

	for (size_t i = 0; i < f->size; i += insn.length) {
		if (!patch_decode((const uint8_t *)f->at + i, f->size - i, &insn))
			return "an instruction in it is unknown";
		if (lands_inside(&insn, f->at + i, plan, f->at))
			return "something in it branches back to its first instructions";
	}
	return NULL;
}

static bool fits_word(uintptr_t at)
{
	return at % 16 + PATCH_JUMP <= 16;
}

/* Goes past instructions that only lead to the next one, to where the jump lies within
 * one aligned word. What they did stays done: the stub leaves all of it alone. */
static size_t find_place(const struct patch_found *f, size_t i)
{
	struct patch_insn insn;

	while (!fits_word(f->at + i)) {
		if (i >= f->size ||
		    !patch_decode((const uint8_t *)f->at + i, f->size - i, &insn) ||
		    insn.kind != INSN_OTHER)
			return f->size;
		i += insn.length;
	}
	return i;
}

static const char *take_instructions(const struct patch_found *f, size_t from,
				     struct patch_plan *plan)
{
	struct patch_insn insn;

	*plan = (struct patch_plan){ .at = f->at + from };
	while (plan->length < PATCH_JUMP) {
		size_t i = from + plan->length;

		if (i >= f->size)
			return "it is too short";
		if (!patch_decode((const uint8_t *)f->at + i, f->size - i, &insn))
			return "an instruction at its entry is unknown";
		if (!plan->length)
			plan->first = insn.length;
		plan->length += insn.length;
	}
	return NULL;
}

const char *patch_code_plan(const struct patch_found *f, struct patch_plan *plan)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const char *why = patch_decode_open();
	size_t entry, from;

	if (why)
		return why;
	if (!f->size)
		return "its size is not known";
	/* Indirect calls may have to find the endbr64 in its place. */
	entry = f->size > 4 && !memcmp((void *)f->at, endbr64, 4) ? 4 : 0;
	from = find_place(f, entry);
	why = take_instructions(f, from, plan);
	if (why && from > entry)
		return "its entry lies across an aligned 16-byte word";
	return why ? why : check_branches(f, plan);
}

/* ---- moving the first instructions ---- */

static bool put_distance(uint8_t *to, int64_t distance)
{
	int32_t near = (int32_t)distance;

	memcpy(to, &near, sizeof(near));
	return near == distance;
}

/* A short branch may not reach its target from the new place: each becomes its long
 * form. */
static const char *move_branch(const struct patch_insn *insn, uintptr_t target,
			       uint8_t *p, size_t *used)
{
	size_t n = 0;

	if (insn->kind == INSN_JUMP) {
		p[n++] = 0xe9;
	} else if (insn->kind == INSN_BRANCH &&
		   (insn->opcode >> 4 == 7 || insn->opcode >> 4 == 8)) {
		p[n++] = 0x0f;
		p[n++] = 0x80 | (insn->opcode & 15);
	} else {
		return "it begins with a branch that cannot be moved";
	}
	n += 4;
	*used += n;
	return put_distance(p + n - 4, (int64_t)(target - (uintptr_t)(p + n)))
		       ? NULL
		       : "a branch at its entry goes too far";
}

static const char *move_plain(const struct patch_insn *insn, const uint8_t *from,
			      uint8_t *p, size_t *used)
{
	uintptr_t data = (uintptr_t)from + insn->length + (uintptr_t)(intptr_t)insn->disp;

	memcpy(p, from, insn->length);
	*used += insn->length;
	return !insn->rip || put_distance(p + insn->disp_at,
					  (int64_t)(data - (uintptr_t)(p + insn->length)))
		       ? NULL
		       : "data that its entry uses is too far away";
}

/* Shadow stacks hold the real return addresses; without one rdsspq does nothing. */
static bool has_shadow_stack(void)
{
	uint64_t at = 0;

	__asm__ volatile("rdsspq %0" : "+r"(at));
	return at;
}

/*
 * The callee must see the address it would have seen: unwinders know nothing of our
 * page. So the address is pushed, and the call becomes a jump; it returns to behind
 * what was replaced, and nothing follows it here.
 */
static const char *move_call(const struct patch_insn *insn, const uint8_t *from,
			     uint8_t *p, size_t *used)
{
	uintptr_t end = (uintptr_t)from + insn->length;
	struct patch_insn jump = *insn;
	size_t n = patch_stub_push(p, end), more = 0;
	const char *why;

	if (has_shadow_stack())
		return "it begins with a call, and there is a shadow stack";
	jump.kind = INSN_JUMP;
	if (insn->relative) {
		why = move_branch(&jump, end + (uintptr_t)insn->target, p + n, &more);
	} else {
		uint8_t *modrm = p + n + insn->modrm_at;

		why = move_plain(insn, from, p + n, &more);
		if (insn->opcode != 0xff || (*modrm >> 3 & 7) != 2 || insn->stack)
			why = "it begins with a call that cannot be moved";
		*modrm = (uint8_t)((*modrm & ~0x38) | 4 << 3); /* call is /2, jmp is /4 */
	}
	*used += n + more;
	return why;
}

static const char *move_back(const struct patch_plan *plan, uint8_t *p, size_t *used)
{
	*p = 0xe9;
	*used += PATCH_JUMP;
	return put_distance(p + 1, (int64_t)(plan->at + plan->length -
					     (uintptr_t)(p + PATCH_JUMP)))
		       ? NULL
		       : "no memory near it";
}

const char *patch_code_move(const struct patch_plan *plan, uint8_t *code, size_t *used)
{
	const char *why = NULL;
	struct patch_insn insn;

	*used = 0;
	for (size_t i = 0; i < plan->length && !why; i += insn.length) {
		const uint8_t *from = (const uint8_t *)plan->at + i;
		uint8_t *p = code + *used;

		if (!patch_decode(from, PATCH_LONGEST, &insn))
			return "an instruction at its entry is unknown";
		if (insn.kind == INSN_CALL)
			return i + insn.length < plan->length
				       ? "it begins with a call that cannot be moved"
				       : move_call(&insn, from, p, used);
		if (insn.relative)
			why = move_branch(&insn,
					  (uintptr_t)from + insn.length +
						  (uintptr_t)insn.target,
					  p, used);
		else
			why = move_plain(&insn, from, p, used);
	}
	return why ? why : move_back(plan, code + *used, used);
}
