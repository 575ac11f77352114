/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zydis decodes, we decide. It allocates nothing and needs the C library alone. Its
 * structures are read at the offsets of release 4.0, and only after it has decoded a
 * few known instructions into just those places.
 */
#include "agent/hooks/enter.h"
#include "agent/hooks/hook.h"
#include "agent/patch/steps.h"
#include "base/fmt.h"
#include "config/zydis_files.h"

#include <dlfcn.h>
#include <string.h>

static struct {
	int (*init)(void *decoder, int mode, int width);
	int (*decode)(const void *decoder, void *context, const void *buf, size_t len,
		      void *out);
	_Alignas(8) uint8_t decoder[128];
	uint32_t category[INSN_KINDS];
	bool open;
} zydis;

/* The numbers are offsets in ZydisDecodedInstruction of release 4.0; is_understood proves
 * them on the library that was opened. */
bool patch_decode(const uint8_t *code, size_t size, struct patch_insn *insn)
{
	enum { OK = 0, HAS_MODRM = 1 };
	_Alignas(8) uint8_t out[2048] = { 0 };
	int64_t value;

	/* The status has its error bit on top. */
	if (zydis.decode(zydis.decoder, NULL, code,
			 size < PATCH_LONGEST ? size : PATCH_LONGEST, out) < OK)
		return false;
	memcpy(&insn->category, out + 92, sizeof(insn->category));
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
	insn->kind = INSN_OTHER;
	for (unsigned kind = INSN_CALL; kind < INSN_KINDS; kind++)
		if (insn->category == zydis.category[kind])
			insn->kind = kind;
	return insn->length && insn->length <= PATCH_LONGEST;
}

/* What the library's numbers for call, jmp, jcc and ret are: releases differ. */
static bool learn_kinds(void)
{
	static const uint8_t samples[INSN_KINDS][5] = { [INSN_CALL] = { 0xe8 },
							[INSN_JUMP] = { 0xeb },
							[INSN_BRANCH] = { 0x74 },
							[INSN_RETURN] = { 0xc3 } };
	struct patch_insn insn;

	for (unsigned kind = INSN_CALL; kind < INSN_KINDS; kind++) {
		if (!patch_decode(samples[kind], sizeof(samples[kind]), &insn) ||
		    insn.kind != INSN_OTHER || !insn.category)
			return false;
		zydis.category[kind] = insn.category;
	}
	return true;
}

static bool is_understood(void)
{
	static const struct {
		uint8_t code[8];
		struct patch_insn want;
	} known[] = {
		{ { 0x48, 0x8b, 0x05, 0x78, 0x56, 0x34, 0x12 },
		  { .length = 7,
		    .opcode = 0x8b,
		    .rip = true,
		    .modrm_at = 2,
		    .disp_at = 3,
		    .disp = 0x12345678 } },
		{ { 0xe8, 0xf0, 0xff, 0xff, 0xff },
		  { .length = 5,
		    .opcode = 0xe8,
		    .relative = true,
		    .target = -16,
		    .kind = INSN_CALL } },
		{ { 0xeb, 0x10 },
		  { .length = 2,
		    .opcode = 0xeb,
		    .relative = true,
		    .target = 16,
		    .kind = INSN_JUMP } },
		{ { 0x0f, 0x84, 0x00, 0x01, 0, 0 },
		  { .length = 6,
		    .opcode = 0x84,
		    .relative = true,
		    .target = 256,
		    .kind = INSN_BRANCH } },
		{ { 0x55 }, { .length = 1, .opcode = 0x55 } },
		{ { 0xc3 }, { .length = 1, .opcode = 0xc3, .kind = INSN_RETURN } },
	};
	struct patch_insn got;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct patch_insn *want = &known[i].want;

		if (!patch_decode(known[i].code, sizeof(known[i].code), &got) ||
		    got.length != want->length || got.opcode != want->opcode ||
		    got.relative != want->relative || got.rip != want->rip ||
		    got.kind != want->kind ||
		    (want->relative && got.target != want->target) ||
		    (want->rip &&
		     (got.modrm_at != want->modrm_at || got.disp_at != want->disp_at ||
		      got.disp != want->disp)))
			return false;
	}
	return true;
}

/* Looks beside the agent first: install puts a copy there. */
static void *open_library(void)
{
	static const char *const names[] = ZYDIS_FILES;
	char path[4096];
	Dl_info me = { 0 };
	const char *slash;
	void *lib = NULL;

	slash = dladdr((void *)&zydis, &me) && me.dli_fname ? strrchr(me.dli_fname, '/')
							    : NULL;
	for (unsigned i = 0; slash && !lib && i < 2; i++)
		if (fmt(path, sizeof(path), "%.*s/%s", (int)(slash - me.dli_fname),
			me.dli_fname, names[i]) < sizeof(path))
			lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	for (unsigned i = 0; !lib && i < 2; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return lib;
}

const char *patch_decode_open(void)
{
	void *lib;

	if (zydis.open)
		return NULL;
	lib = open_library();
	if (!lib)
		return "there is no " ZYDIS_NAME ".0 to decode it (Debian: libzydis4.0)";
	hook_look_dlsym(NULL, NULL);
	zydis.init = (int (*)(void *, int, int))hook_real_dlsym(lib, "ZydisDecoderInit");
	zydis.decode =
		(int (*)(const void *, void *, const void *, size_t,
			 void *))hook_real_dlsym(lib, "ZydisDecoderDecodeInstruction");
	if (!zydis.init || !zydis.decode || zydis.init(zydis.decoder, 0, 2) < 0 ||
	    !learn_kinds() || !is_understood())
		return ZYDIS_NAME " has not the structures that we know";
	zydis.open = true;
	return NULL;
}
