/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zydis decodes, we decide. It allocates nothing and needs the C library alone. Its
 * structures are read at the offsets of release 4.0, and only after it has decoded a
 * few known instructions into just those places.
 */
#include "agent/core/fmt.h"
#include "agent/hooks/hook.h"
#include "agent/hooks/look.h"
#include "agent/hooks/patch_parts.h"

#include <dlfcn.h>
#include <string.h>

#define LIBRARY "libZydis.so.4.0"
#define LONGEST 15 /* bytes of one instruction */

enum kind { KIND_OTHER, KIND_CALL, KIND_JUMP, KIND_BRANCH, KIND_RETURN };

struct insn {
	uint8_t length;
	uint8_t opcode;
	bool relative; /* has a branch target */
	int64_t target; /* from its end */
	bool rip; /* has memory relative to its end */
	bool stack; /* its memory may be relative to the stack pointer */
	uint8_t modrm_at;
	uint8_t disp_at;
	int32_t disp;
	enum kind kind;
};

static struct {
	int (*init)(void *decoder, int mode, int width);
	int (*decode)(const void *decoder, void *context, const void *buf, size_t len,
		      void *out);
	_Alignas(8) uint8_t decoder[128];
	bool open;
} zydis;

/* ---- the library ---- */

static bool decode(const uint8_t *code, size_t size, struct insn *insn)
{
	enum {
		OK = 0,
		HAS_MODRM = 1,
		CALL = 20,
		UNCONDITIONAL = 96,
		CONDITIONAL = 28,
		RETURN = 75
	};
	_Alignas(8) uint8_t out[2048] = { 0 };
	uint32_t category;
	int64_t value;

	/* The status has its error bit on top. */
	if (zydis.decode(zydis.decoder, NULL, code, size < LONGEST ? size : LONGEST,
			 out) < OK)
		return false;
	memcpy(&category, out + 92, sizeof(category));
	memcpy(&value, out + 288, sizeof(value));
	insn->length = out[8];
	insn->opcode = out[20];
	insn->relative = out[281];
	insn->target = value;
	insn->rip =
		out[32] & HAS_MODRM && out[255] == 0 && out[257] == 5 && out[272] == 32;
	insn->modrm_at = out[258];
	insn->stack = out[32] & HAS_MODRM && out[257] == 4;
	insn->disp_at = out[273];
	memcpy(&insn->disp, out + 264, sizeof(insn->disp));
	insn->kind = category == CALL            ? KIND_CALL
		     : category == UNCONDITIONAL ? KIND_JUMP
		     : category == CONDITIONAL   ? KIND_BRANCH
						 : KIND_OTHER;
	return insn->length && insn->length <= LONGEST;
}

static bool is_understood(void)
{
	static const struct {
		uint8_t code[8];
		struct insn want;
	} known[] = {
		{ { 0x48, 0x8b, 0x05, 0x78, 0x56, 0x34, 0x12 },
		  { .length = 7,
		    .opcode = 0x8b,
		    .rip = true,
		    .disp_at = 3,
		    .disp = 0x12345678 } },
		{ { 0xe8, 0xf0, 0xff, 0xff, 0xff },
		  { .length = 5,
		    .opcode = 0xe8,
		    .relative = true,
		    .target = -16,
		    .kind = KIND_CALL } },
		{ { 0xeb, 0x10 },
		  { .length = 2,
		    .opcode = 0xeb,
		    .relative = true,
		    .target = 16,
		    .kind = KIND_JUMP } },
		{ { 0x0f, 0x84, 0x00, 0x01, 0, 0 },
		  { .length = 6,
		    .opcode = 0x84,
		    .relative = true,
		    .target = 256,
		    .kind = KIND_BRANCH } },
		{ { 0x55 }, { .length = 1, .opcode = 0x55 } },
	};
	struct insn got;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct insn *want = &known[i].want;

		if (!decode(known[i].code, sizeof(known[i].code), &got) ||
		    got.length != want->length || got.opcode != want->opcode ||
		    got.relative != want->relative || got.rip != want->rip ||
		    got.kind != want->kind ||
		    (want->relative && got.target != want->target) ||
		    (want->rip &&
		     (got.disp_at != want->disp_at || got.disp != want->disp)))
			return false;
	}
	return true;
}

static void *open_library(void)
{
	char path[4096];
	Dl_info me;
	const char *slash;
	void *lib = NULL;

	/* Beside the agent first: install puts a copy there. */
	if (dladdr((void *)&zydis, &me) && me.dli_fname) {
		slash = strrchr(me.dli_fname, '/');
		if (slash &&
		    fmt(path, sizeof(path), "%.*s/%s", (int)(slash - me.dli_fname),
			me.dli_fname, LIBRARY) < sizeof(path))
			lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return lib ? lib : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

static const char *open_zydis(void)
{
	void *lib;

	if (zydis.open)
		return NULL;
	lib = open_library();
	if (!lib)
		return "there is no " LIBRARY " to decode it (Debian: libzydis4.0)";
	hook_look_dlsym(NULL, NULL);
	zydis.init = (int (*)(void *, int, int))hook_real_dlsym(lib, "ZydisDecoderInit");
	zydis.decode =
		(int (*)(const void *, void *, const void *, size_t,
			 void *))hook_real_dlsym(lib, "ZydisDecoderDecodeInstruction");
	if (!zydis.init || !zydis.decode || zydis.init(zydis.decoder, 0, 2) < 0 ||
	    !is_understood())
		return LIBRARY " is not the one that we know";
	zydis.open = true;
	return NULL;
}

/* ---- may it be patched ---- */

/* A call to the very entry is recursion, and to be counted; a jump there is a loop. */
static bool lands_inside(const struct insn *insn, uintptr_t at,
			 const struct patch_plan *p, uintptr_t entry)
{
	uintptr_t target = at + insn->length + (uintptr_t)insn->target;

	if (!insn->relative)
		return false;
	if (insn->kind == KIND_CALL && (target == entry || target == p->at))
		return false;
	return target >= entry && target < p->at + p->length;
}

static const char *check_branches(const struct patch_found *f,
				  const struct patch_plan *plan)
{
	struct insn insn;

	for (size_t i = 0; i < f->size; i += insn.length) {
		if (!decode((const uint8_t *)f->at + i, f->size - i, &insn))
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

/* Past instructions that only lead to the next one, to where the jump lies within one
 * aligned word. What they did is done: the stub leaves all of it alone. */
static size_t find_place(const struct patch_found *f, size_t i)
{
	struct insn insn;

	while (!fits_word(f->at + i)) {
		if (i >= f->size ||
		    !decode((const uint8_t *)f->at + i, f->size - i, &insn) ||
		    insn.kind != KIND_OTHER)
			return f->size;
		i += insn.length;
	}
	return i;
}

static const char *take_instructions(const struct patch_found *f, size_t from,
				     struct patch_plan *plan)
{
	struct insn insn;

	*plan = (struct patch_plan){ .at = f->at + from };
	while (plan->length < PATCH_JUMP) {
		size_t i = from + plan->length;

		if (i >= f->size)
			return "it is too short";
		if (!decode((const uint8_t *)f->at + i, f->size - i, &insn))
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
	const char *why = open_zydis();
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

/* A short branch may not reach from there: each becomes its long form. */
static const char *move_branch(const struct insn *insn, uintptr_t target, uint8_t *p,
			       size_t *used)
{
	size_t n = 0;

	if (insn->kind == KIND_JUMP) {
		p[n++] = 0xe9;
	} else if (insn->kind == KIND_BRANCH &&
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

static const char *move_plain(const struct insn *insn, const uint8_t *from, uint8_t *p,
			      size_t *used)
{
	uintptr_t data = (uintptr_t)from + insn->length + (uintptr_t)(intptr_t)insn->disp;

	memcpy(p, from, insn->length);
	*used += insn->length;
	return !insn->rip || put_distance(p + insn->disp_at,
					  (int64_t)(data - (uintptr_t)(p + insn->length)))
		       ? NULL
		       : "data that its entry uses is too far away";
}

/* Shadow stacks hold the real return addresses; without one this instruction is none. */
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
static const char *move_call(const struct insn *insn, const uint8_t *from, uint8_t *p,
			     size_t *used)
{
	uintptr_t end = (uintptr_t)from + insn->length;
	struct insn jump = *insn;
	size_t n = patch_stub_push(p, end), more = 0;
	const char *why;

	if (has_shadow_stack())
		return "it begins with a call, and there is a shadow stack";
	jump.kind = KIND_JUMP;
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
	struct insn insn;

	*used = 0;
	for (size_t i = 0; i < plan->length && !why; i += insn.length) {
		const uint8_t *from = (const uint8_t *)plan->at + i;
		uint8_t *p = code + *used;

		if (!decode(from, LONGEST, &insn))
			return "an instruction at its entry is unknown";
		if (insn.kind == KIND_CALL)
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
