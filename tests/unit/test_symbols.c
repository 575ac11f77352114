/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/clock.h"
#include "agent/core/gate.h"
#include "agent/core/spool_view.h"
#include "launcher/symbols/symbolize.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"
#include "writer/symbols/symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct spool_view view;

static void open_spool(void)
{
	symbols_ask = known_ask;
	clock_start();
	gate_start();
	ck_assert_int_eq(spool_open(NULL, 4 << 20), 0);
	ck_assert_int_eq(spool_prepare(4 << 20), 0);
	ck_assert_int_eq(spool_view_init(&view, spool.base, spool.head->cap), 0);
}

/* ---- this program, as a module ---- */

static struct {
	uint64_t bias;
	uint8_t id[20];
	unsigned len;
	char path[4096];
} self;

static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size, (void)arg;
	self.bias = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + p->p_vaddr);

		for (size_t left = p->p_type == PT_NOTE ? p->p_memsz : 0; left > 16;) {
			const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)at;
			size_t all = sizeof(*n) + ((n->n_namesz + 3) & ~3u) +
				     ((n->n_descsz + 3) & ~3u);

			if (n->n_type == NT_GNU_BUILD_ID) {
				self.len = n->n_descsz;
				memcpy(self.id, at + sizeof(*n) + 4, self.len);
			}
			if (all > left)
				break;
			at += all;
			left -= all;
		}
	}
	return 1; /* the program itself comes first */
}

static uint32_t this_program(void)
{
	ssize_t n = readlink("/proc/self/exe", self.path, sizeof(self.path) - 1);

	ck_assert_int_gt(n, 0);
	self.path[n] = '\0';
	dl_iterate_phdr(look, NULL);
	ck_assert_uint_le(self.len, 20);
	return stacks_module(self.bias, self.id, self.len, self.path);
}

/* ---- what is found ---- */

__attribute__((noinline)) static uint64_t a_local_function(void)
{
	return (uint64_t)__builtin_return_address(0) - 1;
}

static inline __attribute__((always_inline)) uint64_t an_inlined_one(void)
{
	uint64_t pc;

	__asm__ volatile("lea 0(%%rip), %0" : "=r"(pc));
	return pc - 1;
}

static struct stack_frame frame_of(uint32_t module, uint64_t pc)
{
	return (struct stack_frame){ module, pc - self.bias };
}

START_TEST(functions_and_lines_and_inlined_calls)
{
	struct symbols *s;
	struct stack_frame a, b;
	const char *text;
	char want[128];
	uint32_t module;
	unsigned n, line;

	open_spool();
	module = this_program();
	line = __LINE__ + 1;
	a = frame_of(module, a_local_function());
	b = frame_of(module, an_inlined_one());
	s = symbols_new(&view);
	ck_assert_int_eq(symbols_want(s, a), 0);
	ck_assert_int_eq(symbols_want(s, b), 0);
	ck_assert_int_eq(symbols_want(s, b), 0);
	ck_assert(symbols_resolve(s));
	text = symbols_text(s, a, &n);
	ck_assert_uint_eq(n, 1);
	snprintf(want, sizeof(want),
		 "functions_and_lines_and_inlined_calls_fn (test_symbols.c:%u)", line);
	ck_assert_str_eq(text, want);
	text = symbols_text(s, b, &n);
	ck_assert_uint_eq(n, 2);
	ck_assert_ptr_nonnull(strstr(text, "an_inlined_one (test_symbols.c:"));
	snprintf(want, sizeof(want),
		 "functions_and_lines_and_inlined_calls_fn (test_symbols.c:%u)",
		 line + 1);
	ck_assert_str_eq(text + strlen(text) + 1, want);
	ck_assert(symbols_known(s, a));
	symbols_free(s);
}
END_TEST

START_TEST(what_was_replaced_tells_nothing)
{
	struct symbols *s;
	struct stack_frame f;
	uint32_t module;
	char want[128];
	unsigned n;

	open_spool();
	this_program();
	self.id[3] ^= 1;
	module = stacks_module(self.bias, self.id, self.len, self.path);
	f = frame_of(module, a_local_function());
	s = symbols_new(&view);
	ck_assert_int_eq(symbols_want(s, f), 0);
	ck_assert(!symbols_resolve(s));
	snprintf(want, sizeof(want), "?? (test_symbols+0x%lx)", (unsigned long)f.offset);
	ck_assert_str_eq(symbols_text(s, f, &n), want);
	ck_assert(!symbols_known(s, f));
	symbols_free(s);
}
END_TEST

START_TEST(frames_of_no_file)
{
	struct stack_frame f[] = { { 0, 0x1234 }, { 0, 0x77 }, { 0, 0x1f00 } };
	struct symbols *s;
	unsigned n;

	open_spool();
	f[0].module = stacks_module(0x1000, NULL, 0, "/no/such/dir/libgone.so");
	f[1].module = stacks_module(0x2000, NULL, 0, "[vdso]");
	s = symbols_new(&view);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(symbols_want(s, f[i]), 0);
	ck_assert(!symbols_resolve(s));
	ck_assert_str_eq(symbols_text(s, f[0], &n), "?? (libgone.so+0x1234)");
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(symbols_text(s, f[1], &n), "?? ([vdso]+0x77)");
	ck_assert_str_eq(symbols_text(s, f[2], &n), "?? (0x1f00)");
	ck_assert(!symbols_known(s, f[0]));
	ck_assert(symbols_known(s, f[1]) && symbols_known(s, f[2]));
	/* One that nobody asked for. */
	ck_assert_str_eq(symbols_text(s, (struct stack_frame){ 9, 9 }, &n), "??");
	symbols_free(s);
}
END_TEST

/* ---- kept ---- */

START_TEST(what_is_known_is_not_asked_again)
{
	struct symbols *s;
	struct stack_frame f;
	struct stack_module *m;
	unsigned n;

	open_spool();
	f = frame_of(this_program(), a_local_function());
	s = symbols_new(&view);
	ck_assert_int_eq(symbols_want(s, f), 0);
	ck_assert(symbols_resolve(s));
	symbols_free(s);
	/* The next window's: its module could not be read any more. */
	m = (struct stack_module *)stacks_module_get(&view, f.module);
	m->path[1] ^= 1;
	s = symbols_new(&view);
	ck_assert_int_eq(symbols_want(s, f), 0);
	ck_assert(symbols_resolve(s));
	ck_assert_ptr_nonnull(strstr(symbols_text(s, f, &n), "(test_symbols.c:"));
	symbols_free(s);
	/* Another process's frames are others: of the same pid, or started in the same
	 * tick. */
	if (_i)
		spool.head->start_time ^= 1;
	else
		spool.head->pid ^= 1;
	s = symbols_new(&view);
	ck_assert_int_eq(symbols_want(s, f), 0);
	ck_assert(!symbols_resolve(s));
	symbols_free(s);
}
END_TEST

START_TEST(many_frames)
{
	struct symbols *s;
	uint32_t module;
	unsigned n;

	open_spool();
	module = this_program();
	s = symbols_new(&view);
	for (unsigned i = 0; i < 50000; i++)
		ck_assert_int_eq(symbols_want(s, (struct stack_frame){ module, i }), 0);
	ck_assert(symbols_resolve(s));
	for (unsigned i = 0; i < 50000; i++)
		ck_assert_ptr_nonnull(strchr(
			symbols_text(s, (struct stack_frame){ module, i }, &n), '('));
	symbols_free(s);
}
END_TEST

/* ---- a helper that is in the way ---- */

static unsigned asked;

static int hang(const char *question, size_t len, int64_t ns,
		int (*take)(void *arg, const char *text, size_t len), void *arg)
{
	(void)question, (void)len, (void)ns, (void)take, (void)arg;
	asked++;
	return -ETIME;
}

/* Each window would wait for it anew. */
START_TEST(who_hangs_is_asked_once)
{
	struct stack_frame f;
	struct symbols *s;

	open_spool();
	symbols_ask = hang;
	f.module = stacks_module(0x1000, NULL, 0, "/no/such/dir/libgone.so");
	for (f.offset = 1; f.offset < 4; f.offset++) {
		s = symbols_new(&view);
		ck_assert_int_eq(symbols_want(s, f), 0);
		ck_assert(!symbols_resolve(s));
		symbols_free(s);
	}
	ck_assert_uint_eq(asked, 1);
}
END_TEST

/* Nothing of the first frame, one text of the second, two of the third. */
static int answer(const char *question, size_t len, int64_t ns,
		  int (*take)(void *arg, const char *text, size_t len), void *arg)
{
	static const char texts[] = "\0two (b.c:2)\0\0three (c.c:3)\0four (c.c:4)\0";

	(void)question, (void)len, (void)ns;
	return take(arg, texts, sizeof(texts));
}

START_TEST(an_answer_may_be_empty)
{
	struct stack_frame f[] = { { 0, 1 }, { 0, 2 }, { 0, 3 } };
	struct symbols *s;
	const char *text;
	unsigned n;

	open_spool();
	symbols_ask = answer;
	s = symbols_new(&view);
	for (int i = 0; i < 3; i++) {
		f[i].module = stacks_module(0x1000, NULL, 0, "/no/such/dir/libgone.so");
		ck_assert_int_eq(symbols_want(s, f[i]), 0);
	}
	ck_assert(!symbols_resolve(s));
	ck_assert_str_eq(symbols_text(s, f[0], &n), "?? (libgone.so+0x1)");
	ck_assert(!symbols_known(s, f[0]));
	ck_assert_str_eq(symbols_text(s, f[1], &n), "two (b.c:2)");
	ck_assert_uint_eq(n, 1);
	text = symbols_text(s, f[2], &n);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(text, "three (c.c:3)");
	ck_assert_str_eq(text + strlen(text) + 1, "four (c.c:4)");
	symbols_free(s);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("symbols");

	tcase_add_test(tc, functions_and_lines_and_inlined_calls);
	tcase_add_test(tc, what_was_replaced_tells_nothing);
	tcase_add_test(tc, frames_of_no_file);
	tcase_add_loop_test(tc, what_is_known_is_not_asked_again, 0, 2);
	tcase_add_test(tc, many_frames);
	tcase_add_test(tc, who_hangs_is_asked_once);
	tcase_add_test(tc, an_answer_may_be_empty);
	return unit_run(tc, "symbols");
}
