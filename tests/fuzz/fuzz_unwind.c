/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile unwind tables and hostile stacks: tables of libraries with some bytes changed
 * are asked for rules, in memory that ends where they end; then stacks full of noise are
 * walked by rules that are noise, between pages that are not there.
 *
 * fuzz_unwind SECONDS [SEED]
 */
#include "agent/core/stacks.h"
#include "agent/unwind/rewalk.h"
#include "agent/unwind/unwind.h"
#include "tests/fuzz/fuzz.h"

#include <link.h>
#include <sys/mman.h>

#define TABLES    8
#define COPY      (96u << 10) /* bytes of a library's tables, at most */
#define ROOM      8192u /* of a stack */
#define ROOM_NEAR 80
#define MATTER    6

static struct {
	const uint8_t *hdr;
	size_t size;
} tables[TABLES];
static unsigned found;

static int each(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_GNU_EH_FRAME || found == TABLES)
			continue;
		for (int k = 0; k < info->dlpi_phnum; k++) {
			const ElfW(Phdr) *in = &info->dlpi_phdr[k];

			if (in->p_type == PT_LOAD &&
			    p->p_vaddr - in->p_vaddr < in->p_filesz) {
				tables[found].hdr =
					(uint8_t *)(info->dlpi_addr + p->p_vaddr);
				tables[found++].size =
					in->p_filesz - (p->p_vaddr - in->p_vaddr);
			}
		}
	}
	return 0;
}

/* Only what has these bits set is a rule at all. */
static void fits(uint64_t rule)
{
	fuzz_require(rule_kind(rule) <= RULE_OUTERMOST);
}

static void ask(void)
{
	unsigned which = (unsigned)fuzz_below(found);
	size_t size = tables[which].size < COPY ? tables[which].size : COPY;
	uint8_t *copy = malloc(size);
	struct unwind_tables t;
	uintptr_t eh_frame;

	memcpy(copy, tables[which].hdr, size);
	if (fuzz_below(4))
		fuzz_mutate(copy, 16, (unsigned)fuzz_below(3));
	fuzz_mutate(copy, size, (unsigned)fuzz_below(size / 64));
	if (unwind_tables_open(&t, copy, copy + size, &eh_frame)) {
		t.lo = copy;
		t.hi = copy + size;
		for (int i = 0; i < 2000; i++) {
			int32_t at = 0;

			if (t.count)
				memcpy(&at, t.table + fuzz_below(t.count) * 8, 4);
			fits(unwind_tables_rule(&t, (uintptr_t)copy +
							    (uintptr_t)(intptr_t)at +
							    fuzz_below(64)));
		}
		/* The table says where any bytes are a function. */
		for (int i = 0; i < 2000 && t.count; i++) {
			int32_t pair[2] = { 0, (int32_t)fuzz_below(size) };

			memcpy(copy + (t.table - copy), pair, 8);
			t.count = 1;
			fits(unwind_tables_rule(&t,
						(uintptr_t)copy + fuzz_below(1 << 20)));
		}
	}
	free(copy);
}

static uint64_t some_rule(void)
{
	static const uint64_t likely[] = { RULE_FRAME_POINTER, RULE_SIGNAL, RULE_NONE };
	uint64_t n = fuzz_below(12);

	if (n < 3)
		return likely[n];
	if (n < 9)
		return RULE(1 + fuzz_below(4), fuzz_below(40) * 8, fuzz_below(3) * 8,
			    fuzz_below(4), (uint64_t)fuzz_below(20) * 8 - 80);
	return (fuzz_random() & ~15ull) | fuzz_below(7);
}

/* As far out as it matters. */
static void look_inside(struct unwind_regs r, const struct unwind_result *v,
			const uintptr_t *pc)
{
	static struct unwind_frame frame[ROOM_NEAR];
	static uintptr_t bp[ROOM_NEAR];
	static struct unwind_near near = {
		.room = ROOM_NEAR, .matter = MATTER, .frame = frame, .bp = bp
	};
	uintptr_t mine[ROOM_NEAR];
	struct unwind_result u;
	unsigned n;

	if (!unwind_near(r, &near, &u))
		return;
	n = unwind_near_pcs(&near, mine);
	fuzz_require(n == u.depth);
	fuzz_require(v->depth > MATTER ? n > MATTER
				       : n == v->depth && u.flags == v->flags);
	fuzz_require(!memcmp(mine, pc, (n < MATTER ? n : MATTER) * sizeof(*pc)));
}

/* What is known of the last walk must change nothing, whatever the stack has become. */
static void look(struct unwind_regs r, uintptr_t end)
{
	static struct unwind_frame frame[ROOM_NEAR];
	static uintptr_t bp[ROOM_NEAR];
	static struct unwind_near near = {
		.room = ROOM_NEAR, .matter = ROOM_NEAR, .frame = frame, .bp = bp
	};
	static struct unwind_result last;
	uintptr_t pc[ROOM_NEAR], again[ROOM_NEAR];
	bool same = unwind_near_same(&near, r), known;
	struct unwind_result u, v = unwind_frames(r, again, ROOM_NEAR);

	known = unwind_near(r, &near, &u);
	if (known)
		fuzz_require(u.depth == v.depth && u.flags == v.flags &&
			     u.whole == v.whole &&
			     unwind_near_pcs(&near, pc) == u.depth &&
			     !memcmp(pc, again, u.depth * sizeof(*pc)));
	if (same && last.whole)
		fuzz_require(known && u.flags == last.flags && u.depth == last.depth &&
			     u.known == near.count);
	last = known ? u : (struct unwind_result){ 0 };
	look_inside(r, &v, again);
	v = unwind_frames(r, pc, 64);
	fuzz_require(v.depth <= 64 && (v.depth == 64 || !(v.flags & STACK_CUT)));
	if (fuzz_below(50) == 0)
		unwind_frames_fresh(r, pc, 64);
}

/* Every word is a code address that has a rule, an address in the stack, or noise. */
static void walk(uint8_t *stack)
{
	uintptr_t lo = (uintptr_t)stack, end = lo + ROOM;
	struct unwind_regs r;

	for (uintptr_t i = 1; i < 64; i++)
		unwind_rule_keep(0x10000 + i, unwind_epoch, some_rule());
	for (size_t i = 0; i < ROOM; i += 8) {
		uint64_t n = fuzz_below(8);
		uint64_t word = n < 4   ? 0x10001 + fuzz_below(64)
				: n < 7 ? lo + fuzz_below(ROOM + 64)
					: fuzz_random();

		memcpy(stack + i, &word, 8);
	}
	unwind_own = (struct unwind_bounds){ lo, end };
	for (int i = 0; i < 100; i++) {
		uintptr_t at = lo + (fuzz_below(ROOM) & ~7ull),
			  word = 0x10001 + fuzz_below(64);

		r.pc = 0x10001 + fuzz_below(64);
		r.sp = lo + fuzz_below(ROOM);
		r.bp = fuzz_below(4) ? lo + fuzz_below(ROOM) : fuzz_random();
		for (uint64_t n = fuzz_below(4); n; n--) {
			look(r, end);
			if (fuzz_below(2)) /* some other caller */
				memcpy((void *)at, &word, sizeof(word));
			if (fuzz_below(4) == 0)
				r.bp = lo + fuzz_below(ROOM);
		}
	}
	unwind_own = (struct unwind_bounds){ 0, 0 };
}

int main(int argc, char **argv)
{
	uint8_t *stack =
		mmap(NULL, ROOM + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	fuzz_require(stack != MAP_FAILED);
	stack += 4096;
	mprotect(stack, ROOM, PROT_READ | PROT_WRITE);
	unwind_start(64, true);
	dl_iterate_phdr(each, NULL);
	fuzz_require(found > 2);
	while (fuzz_goes_on(argc, argv)) {
		ask();
		walk(stack);
	}
	return 0;
}
