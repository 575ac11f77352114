/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page near a patched function, and what runs there:
 *
 *	endbr64; skip the red zone; call *ENTER(%rip); back over the red zone;
 *	<the function's first instructions>; jmp back
 *
 * patch_enter saves every register that a function may be given or that its callers
 * may count on (gcc knows which ones a local function leaves alone), with xsave
 * where there is one, so that no vector register loses its upper half.
 */
#include "agent/patch/steps.h"
#include "base/sys.h"

#include <cpuid.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE       4096ul
#define NEAR       0x7ff00000ul /* a little less than 2 GiB */
#define PUSH_AT    (PAGE - 24) /* in the page: what patch_stub_push pushes */
#define ENTER_AT   (PAGE - 16) /* in the page: address of patch_enter */
#define JUMP_AT    (PAGE - 8) /* in the page: where patch_stub_jump goes */
#define XSAVE_MASK 0xe6u /* SSE, AVX, AVX-512; not x87, not AMX */

void patch_enter(void);
void patch_hit_now(void);

/* Read by the assembler below; 0 mask: fxsave. */
__attribute__((visibility("hidden"))) uint64_t patch_area = 512, patch_mask;
static void (*hit_fn)(void);

/* ---- saving, calling, restoring ---- */

__asm__(".text\n"
	".globl patch_enter\n"
	".hidden patch_enter\n"
	".type patch_enter, @function\n"
	"patch_enter:\n"
	"	pushfq\n"
	"	cld\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	push %rax\n"
	"	push %rcx\n"
	"	push %rdx\n"
	"	push %rsi\n"
	"	push %rdi\n"
	"	push %r8\n"
	"	push %r9\n"
	"	push %r10\n"
	"	push %r11\n"
	"	sub patch_area(%rip), %rsp\n"
	"	and $-64, %rsp\n"
	"	mov patch_mask(%rip), %eax\n"
	"	xor %edx, %edx\n"
	"	test %eax, %eax\n"
	"	jz 1f\n"
	"	mov %rdx, 512(%rsp)\n" /* xrstor wants a clean header */
	"	mov %rdx, 520(%rsp)\n"
	"	mov %rdx, 528(%rsp)\n"
	"	mov %rdx, 536(%rsp)\n"
	"	mov %rdx, 544(%rsp)\n"
	"	mov %rdx, 552(%rsp)\n"
	"	mov %rdx, 560(%rsp)\n"
	"	mov %rdx, 568(%rsp)\n"
	"	xsave64 (%rsp)\n"
	"	call patch_hit_now\n"
	"	mov patch_mask(%rip), %eax\n"
	"	xor %edx, %edx\n"
	"	xrstor64 (%rsp)\n"
	"	jmp 2f\n"
	"1:	fxsave64 (%rsp)\n"
	"	call patch_hit_now\n"
	"	fxrstor64 (%rsp)\n"
	"2:	lea -72(%rbp), %rsp\n"
	"	pop %r11\n"
	"	pop %r10\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rdi\n"
	"	pop %rsi\n"
	"	pop %rdx\n"
	"	pop %rcx\n"
	"	pop %rax\n"
	"	pop %rbp\n"
	"	popfq\n"
	"	ret\n"
	".size patch_enter, . - patch_enter\n");

__attribute__((visibility("hidden"), used)) void patch_hit_now(void)
{
	static __thread bool within __attribute__((tls_model("initial-exec")));
	int saved = errno;

	if (within || !hit_fn)
		return; /* what we call may itself be the marked function */
	within = true;
	hit_fn();
	within = false;
	errno = saved;
}

/* Bytes that xsave writes for the parts we ask for, in its standard form. */
static uint64_t xsave_area(void)
{
	uint64_t most = 576;
	uint32_t size, at, c, d;

	for (uint32_t part = 2; part < 8; part++) {
		if (!(XSAVE_MASK & 1u << part))
			continue;
		__cpuid_count(0xd, part, size, at, c, d);
		if (size && (uint64_t)at + size > most)
			most = (uint64_t)at + size;
	}
	return (most + 63) & ~63ull;
}

void patch_stub_hit(void (*hit)(void))
{
	uint32_t a, b, c, d;

	hit_fn = hit;
	if (__get_cpuid(1, &a, &b, &c, &d) && c & bit_OSXSAVE &&
	    __get_cpuid_max(0, NULL) >= 0xd) {
		patch_area = xsave_area();
		patch_mask = XSAVE_MASK;
	}
}

/* ---- the page ---- */

struct gap {
	uintptr_t wanted, last_end, best;
};

static uintptr_t distance_between(uintptr_t a, uintptr_t b)
{
	return a > b ? a - b : b - a;
}

/* Finds, in the holes between mappings, the page that is nearest to what we want. */
static bool see_gap(const struct maps_line *l, void *arg)
{
	struct gap *g = arg;
	uintptr_t low = g->last_end, high = l->begin - PAGE;

	g->last_end = l->end;
	/* A page apart on both sides: stacks grow, and 0 is nobody's. */
	low += low ? PAGE : 16 * PAGE;
	high -= PAGE;
	if (l->begin < 4 * PAGE || low > high)
		return false;
	low = g->wanted < low ? low : g->wanted > high ? high : g->wanted & ~(PAGE - 1);
	if (!g->best ||
	    distance_between(low, g->wanted) < distance_between(g->best, g->wanted))
		g->best = low;
	return false;
}

uint8_t *patch_near(uintptr_t at)
{
	struct gap g = { .wanted = at };
	int saved = errno;
	uint8_t *page;

	if (!at)
		return sys_map(PAGE);
	patch_maps(see_gap, &g);
	if (!g.best || distance_between(g.best, at) > NEAR)
		return NULL;
	/* A hint: kernels before 4.17 know no flag that takes just this place. */
	page = mmap((void *)g.best, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	errno = saved;
	if (page == MAP_FAILED)
		return NULL;
	if (distance_between((uintptr_t)page, at) <= NEAR)
		return page;
	munmap(page, PAGE);
	return NULL;
}

bool patch_seal(uint8_t *page)
{
	int saved = errno;
	bool ok = !mprotect(page, PAGE, PROT_READ | PROT_EXEC);

	errno = saved;
	return ok;
}

/* An instruction ff /n with its operand in the page itself, at `cell`: it reaches any
 * address and needs no register. */
static size_t put_indirect(uint8_t *code, uint8_t modrm, size_t cell, uintptr_t value)
{
	uintptr_t page = (uintptr_t)code & ~(PAGE - 1);
	int32_t rel = (int32_t)(page + cell - ((uintptr_t)code + 6));

	memcpy((void *)(page + cell), &value, sizeof(value));
	code[0] = 0xff;
	code[1] = modrm;
	memcpy(code + 2, &rel, sizeof(rel));
	return 6;
}

size_t patch_stub_begin(uint8_t *code)
{
	/* endbr64; lea -128(%rsp), %rsp: a leaf function may use what is below. */
	static const uint8_t before[] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48,
					  0x8d, 0x64, 0x24, 0x80 };
	static const uint8_t after[] = { 0x48, 0x8d, 0xa4, 0x24, 0x80, 0, 0, 0 };
	size_t n = sizeof(before);

	memcpy(code, before, sizeof(before));
	n += put_indirect(code + n, 0x15, ENTER_AT, (uintptr_t)patch_enter);
	memcpy(code + n, after, sizeof(after));
	return n + sizeof(after);
}

size_t patch_stub_push(uint8_t *code, uintptr_t value)
{
	return put_indirect(code, 0x35, PUSH_AT, value);
}

size_t patch_stub_jump(uint8_t *code, uintptr_t to)
{
	return put_indirect(code, 0x25, JUMP_AT, to);
}
