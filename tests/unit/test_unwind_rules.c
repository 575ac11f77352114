/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that we read from unwind tables against those of another reader (libdw), at
 * many addresses of real libraries: with the same registers and the same memory both
 * must come to the same caller.
 *
 * Files: what this program has mapped, and those named in UNWIND_FILES (separated by
 * ':').
 */
#include "agent/unwind/walk.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PCS 400000 /* looked at in one file, at most */

/* ---- libdw, as far as it is needed ---- */

typedef struct {
	uint8_t atom;
	uint64_t number, number2, offset;
} dw_op;
struct dw_frame;
struct dw_cfi;

static void *(*elf_begin)(int fd, int cmd, void *ref);
static int (*elf_end)(void *elf);
static struct dw_cfi *(*getcfi)(void *elf);
static int (*addrframe)(struct dw_cfi *cfi, uint64_t pc, struct dw_frame **frame);
static int (*frame_cfa)(struct dw_frame *frame, dw_op **ops, size_t *n);
static int (*frame_register)(struct dw_frame *frame, int reg, dw_op mem[3], dw_op **ops,
			     size_t *n);

static bool oracle(void)
{
	void *elf = dlopen("libelf.so.1", RTLD_NOW), *dw = dlopen("libdw.so.1", RTLD_NOW);
	unsigned (*version)(unsigned);

	if (!elf || !dw)
		return false;
	version = (unsigned (*)(unsigned))dlsym(elf, "elf_version");
	elf_begin = (void *(*)(int, int, void *))dlsym(elf, "elf_begin");
	elf_end = (int (*)(void *))dlsym(elf, "elf_end");
	getcfi = (struct dw_cfi * (*)(void *)) dlsym(dw, "dwarf_getcfi_elf");
	addrframe = (int (*)(struct dw_cfi *, uint64_t, struct dw_frame **))dlsym(
		dw, "dwarf_cfi_addrframe");
	frame_cfa = (int (*)(struct dw_frame *, dw_op **, size_t *))dlsym(
		dw, "dwarf_frame_cfa");
	frame_register = (int (*)(struct dw_frame *, int, dw_op *, dw_op **,
				  size_t *))dlsym(dw, "dwarf_frame_register");
	version(1);
	return true;
}

/* ---- a caller, by either ---- */

struct machine {
	uint64_t reg[17];
};
struct caller {
	bool known, outermost;
	uint64_t cfa, pc_at; /* address that the return address is loaded from */
	bool bp_known;
	uint64_t bp;
};

/* Memory: every address holds something else. */
static uint64_t memory(uint64_t at)
{
	return (at ^ at >> 29) * 0xbf58476d1ce4e5b9ull >> 8;
}

/* Operations on what lies on top of the stack; where its top is then, NULL: not known. */
static uint64_t *operate(uint64_t *top, const dw_op *op, uint64_t cfa)
{
	switch (op->atom) {
	case 0x08:
	case 0x09:
	case 0x0a:
	case 0x0b:
	case 0x0c:
	case 0x0d:
	case 0x10:
	case 0x11:
		*++top = op->number;
		return top;
	case 0x06:
		*top = memory(*top);
		return top;
	case 0x23:
		*top += op->number;
		return top;
	case 0x9c:
		*++top = cfa;
		return top;
	case 0x22:
		top[-1] += top[0];
		return top - 1;
	case 0x1c:
		top[-1] -= top[0];
		return top - 1;
	case 0x1a:
		top[-1] &= top[0];
		return top - 1;
	case 0x24:
		top[-1] <<= top[0];
		return top - 1;
	case 0x2a:
		top[-1] = (int64_t)top[-1] >= (int64_t)top[0];
		return top - 1;
	default:
		return NULL;
	}
}

static bool evaluate(const struct machine *m, const dw_op *op, size_t n, uint64_t cfa,
		     uint64_t *result, bool *value)
{
	uint64_t stack[32] = { 0 }, *top = stack + 2;

	*value = false;
	for (; n--; op++) {
		if (!top || top > stack + 28 || top < stack + 1)
			return false;
		if (op->atom >= 0x30 && op->atom < 0x50)
			*++top = op->atom - 0x30u;
		else if (op->atom >= 0x70 && op->atom < 0x81)
			*++top = m->reg[op->atom - 0x70] + op->number;
		else if (op->atom == 0x92 && op->number <= 16)
			*++top = m->reg[op->number] + op->number2;
		else if (op->atom == 0x9f)
			*value = true;
		else
			top = operate(top, op, cfa);
	}
	*result = top ? *top : 0;
	return top;
}

static struct caller theirs(struct dw_cfi *cfi, const struct machine *m, uint64_t pc)
{
	struct caller c = { 0 };
	struct dw_frame *frame = NULL;
	dw_op *ops, mem[3];
	bool value;
	size_t n;

	if (addrframe(cfi, pc, &frame))
		return c;
	if (frame_cfa(frame, &ops, &n) || !n || !evaluate(m, ops, n, 0, &c.cfa, &value) ||
	    frame_register(frame, 16, mem, &ops, &n))
		goto done;
	if (!n) {
		c.outermost = ops == mem;
		goto done;
	}
	if (!evaluate(m, ops, n, c.cfa, &c.pc_at, &value) || value)
		goto done;
	c.known = true;
	if (frame_register(frame, 6, mem, &ops, &n))
		goto done;
	c.bp_known = n ? evaluate(m, ops, n, c.cfa, &c.bp, &value) : ops != mem;
	if (!n)
		c.bp = m->reg[6];
	else if (!value)
		c.bp = memory(c.bp);
done:
	free(frame);
	return c;
}

static struct caller ours(const struct unwind_tables *t, const struct machine *m,
			  uintptr_t pc)
{
	uint64_t rule = unwind_tables_rule(t, pc), sp = m->reg[7], bp = m->reg[6];
	enum rule_kind kind = rule_kind(rule);
	struct caller c = { .known = true, .bp_known = rule_bp(rule) != BP_LOST };

	if (kind == RULE_NONE || kind == RULE_OUTERMOST)
		return (struct caller){ .outermost = kind == RULE_OUTERMOST };
	if (kind == RULE_SIGNAL) {
		c.cfa = memory(sp + SIGNAL_SP);
		c.pc_at = sp + SIGNAL_PC;
		c.bp = memory(sp + SIGNAL_BP);
		return c;
	}
	c.cfa = (kind == RULE_SP || kind == RULE_LOAD_SP ? sp : bp) +
		(uint64_t)rule_offset(rule);
	if (kind == RULE_LOAD_SP || kind == RULE_LOAD_BP)
		c.cfa = memory(c.cfa) + (uint64_t)rule_add(rule);
	c.pc_at = c.cfa - 8;
	c.bp = rule_bp(rule) == BP_SAME
		       ? bp
		       : memory((rule_bp(rule) == BP_AT_CFA ? c.cfa : bp) +
				(uint64_t)rule_bp_offset(rule));
	return c;
}

/* ---- a file ---- */

/* As the dynamic linker lays it out. */
static uint8_t *load(int fd, const Elf64_Ehdr *e, uint64_t *bias, uintptr_t *hdr,
		     struct unwind_tables *t)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)((const uint8_t *)e + e->e_phoff);
	uint64_t low = UINT64_MAX, high = 0;
	uint8_t *base;
	uintptr_t eh;

	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD) {
			low = low < p[i].p_vaddr ? low : p[i].p_vaddr & ~4095ull;
			high = p[i].p_vaddr + p[i].p_memsz;
		}
	base = mmap(NULL, high - low, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ck_assert_ptr_ne(base, MAP_FAILED);
	*bias = (uint64_t)base - low;
	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_filesz)
			ck_assert_ptr_ne(mmap((void *)(*bias + (p[i].p_vaddr & ~4095ull)),
					      p[i].p_filesz + (p[i].p_vaddr & 4095),
					      PROT_READ, MAP_PRIVATE | MAP_FIXED, fd,
					      (off_t)(p[i].p_offset & ~4095ull)),
					 MAP_FAILED);
	*hdr = 0;
	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_GNU_EH_FRAME)
			*hdr = *bias + p[i].p_vaddr;
	if (!*hdr || !unwind_tables_open(t, (uint8_t *)*hdr, base + (high - low), &eh))
		return NULL;
	t->lo = base;
	t->hi = base + (high - low);
	return base;
}

static uint64_t chance = 88172645463325252ull;
static uint64_t next_chance(void)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	return chance ^= chance << 17;
}

struct walk_tally {
	uint64_t pcs, same, outermost, neither, missed, wrong;
};

static void compare(const struct unwind_tables *t, struct dw_cfi *cfi, uintptr_t pc,
		    uint64_t bias, struct walk_tally *n)
{
	struct machine m;
	struct caller a, b;

	for (int i = 0; i < 17; i++)
		m.reg[i] = next_chance() >> 16 & ~7ull;
	m.reg[16] = pc;
	a = ours(t, &m, pc);
	m.reg[16] = pc;
	b = theirs(cfi, &m, pc - bias);
	n->pcs++;
	if (a.known && b.known && a.cfa == b.cfa && a.pc_at == b.pc_at &&
	    (!a.bp_known || !b.bp_known || a.bp == b.bp)) {
		n->same++;
	} else if (!a.known && !b.known && a.outermost == b.outermost) {
		a.outermost ? n->outermost++ : n->neither++;
	} else if (!a.known && !a.outermost) {
		n->missed++;
	} else {
		if (!n->wrong++)
			printf("  first difference at 0x%lx\n",
			       (unsigned long)(pc - bias));
	}
}

static void one_file(const char *path, struct walk_tally *all)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct walk_tally n = { 0 };
	struct unwind_tables t;
	uint64_t bias, step;
	uintptr_t hdr;
	struct stat st;
	const void *file;
	void *elf;
	struct dw_cfi *cfi;

	if (fd < 0 || fstat(fd, &st))
		return;
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	elf = elf_begin(fd, 8 /* ELF_C_READ_MMAP */, NULL);
	cfi = elf ? getcfi(elf) : NULL;
	if (!cfi || !load(fd, file, &bias, &hdr, &t)) {
		printf("%s: no tables\n", path);
		return;
	}
	step = 1 + t.count * 5 / PCS;
	for (size_t i = 0; i < t.count; i += 1 + next_chance() % (2 * step - 1)) {
		int32_t at[3] = { 0 };
		uintptr_t begin, size;

		memcpy(&at[0], t.table + i * 8, 4);
		memcpy(&at[1], t.table + (i + 1 < t.count ? i + 1 : i) * 8, 4);
		begin = hdr + (uintptr_t)(intptr_t)at[0];
		size = (uintptr_t)(intptr_t)(at[1] - at[0]);
		compare(&t, cfi, begin, bias, &n);
		for (int k = 0; size && k < 4; k++)
			compare(&t, cfi, begin + next_chance() % size, bias, &n);
	}
	printf("%s: %lu addresses, %lu same, %lu outermost, %lu in no function, "
	       "%lu not followed, %lu wrong\n",
	       path, n.pcs, n.same, n.outermost, n.neither, n.missed, n.wrong);
	elf_end(elf);
	munmap((void *)file, (size_t)st.st_size);
	close(fd);
	for (size_t i = 0; i < sizeof(n) / sizeof(uint64_t); i++)
		((uint64_t *)all)[i] += ((uint64_t *)&n)[i];
}

static int each(struct dl_phdr_info *info, size_t size, void *all)
{
	(void)size;
	one_file(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", all);
	return 0;
}

START_TEST(rules_are_those_of_another_reader)
{
	struct walk_tally all = { 0 };
	char *files = getenv("UNWIND_FILES"), *save = NULL;

	if (!oracle()) {
		puts("libdw is not there");
		return;
	}
	dlopen("libstdc++.so.6", RTLD_NOW);
	dl_iterate_phdr(each, &all);
	if (files)
		for (char *f = strtok_r(files, ":", &save); f;
		     f = strtok_r(NULL, ":", &save))
			one_file(f, &all);
	ck_assert_uint_eq(all.wrong, 0);
	ck_assert_uint_gt(all.same, 10000);
	/* Hand-written code that keeps its frame by other registers. */
	ck_assert_uint_lt(all.missed, all.same / 200);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("unwind_rules");

	tcase_add_test(tc, rules_are_those_of_another_reader);
	return unit_run(tc, "unwind_rules");
}
