/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions give way to a jump: code laid out by hand, at any place of a page;
 * and a decoder that is not the one that we know. */
#include "agent/patch/steps.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool astray;

/* Another thread may have taken the place that a page was to have. */
void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, astray ? (char *)at + (16ul << 30) : at, size,
			       prot, flags, fd, offset);
}

static uint8_t *page; /* behind it nothing is mapped */

static void setup(void)
{
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	munmap(page + 4096, 4096);
}

static const char *plan_of(size_t at, const void *code, size_t size,
			   struct patch_plan *plan)
{
	struct patch_found f = { .at = (uintptr_t)page + at, .size = size };

	memcpy(page + at, code, size);
	return patch_code_plan(&f, plan);
}

/* Wherever a function lies, a processor sees all of the jump or nothing. */
START_TEST(a_jump_never_lies_across_a_word)
{
	/* mov $3, %eax; ret; nop: nothing but the first one can give way. */
	static const uint8_t one[] = { 0xb8, 3, 0, 0, 0, 0xc3, 0x90 };
	/* mov $3, %eax, twice; ret: the second one can, too. */
	static const uint8_t two[] = { 0xb8, 3, 0, 0, 0, 0xb8, 3, 0, 0, 0, 0xc3 };
	struct patch_plan plan;
	const char *why;

	for (size_t at = 0; at < 16; at++) {
		why = plan_of(at, one, sizeof(one), &plan);
		if (at <= 11) {
			ck_assert_msg(!why, "%zu: %s", at, why);
			ck_assert_uint_eq(plan.at, (uintptr_t)page + at);
		} else {
			ck_assert_msg(why && strstr(why, "across an aligned"), "%zu: %s",
				      at, why);
		}
		why = plan_of(at, two, sizeof(two), &plan);
		ck_assert_msg(!why, "%zu: %s", at, why);
		ck_assert_uint_eq(plan.at, (uintptr_t)page + at + (at > 11 ? 5 : 0));
	}
}
END_TEST

/* Five nops; then back to one of them. */
START_TEST(no_branch_lands_on_any_replaced_byte)
{
	uint8_t code[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0, 0xc3 };
	struct patch_plan plan;

	for (int to = 0; to < 7; to++) {
		const char *why;

		code[7] = (uint8_t)(to - 8);
		why = plan_of(0, code, sizeof(code), &plan);
		if (to < 5)
			ck_assert_msg(why && strstr(why, "branches back"), "%d", to);
		else
			ck_assert_msg(!why, "%d: %s", to, why);
	}
}
END_TEST

START_TEST(nothing_behind_a_function_is_read)
{
	static const uint8_t half[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0xe8, 0 };
	struct patch_plan plan;
	const char *why = plan_of(4096 - sizeof(half), half, sizeof(half), &plan);

	ck_assert_msg(why && strstr(why, "unknown"), "%s", why);
}
END_TEST

/* Too far from where they would run: 4 GiB. */
static const struct {
	uint8_t code[8];
	const char *why;
} far[] = {
	{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3, 0x90, 0x90 }, "no memory near it" },
	{ { 0xe9, 2, 0, 0, 0, 0x90, 0x90, 0xc3 }, "goes too far" },
	{ { 0x0f, 0x84, 0, 0, 0, 0, 0x90, 0xc3 }, "goes too far" },
	{ { 0x48, 0x8b, 0x05, 0, 0, 0, 0, 0xc3 }, "too far away" },
};

START_TEST(what_does_not_reach_is_not_moved)
{
	struct patch_plan plan;
	size_t used;
	uint8_t *there = mmap(page + (4ul << 30), 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const char *why;

	ck_assert_ptr_ne(there, MAP_FAILED);
	if ((uintptr_t)there - (uintptr_t)page < 3ul << 30 &&
	    (uintptr_t)page - (uintptr_t)there < 3ul << 30)
		ck_abort_msg("no memory that is far enough");
	why = plan_of(0, far[_i].code, sizeof(far[_i].code), &plan);
	ck_assert_msg(!why, "%s", why);
	why = patch_code_move(&plan, there, &used);
	ck_assert_msg(why && strstr(why, far[_i].why), "%s", why);
	why = patch_code_move(&plan, page + 2048, &used);
	ck_assert_msg(!why, "%s", why);
}
END_TEST

/* Behind a nop, as what is replaced ends with them: each becomes a push and a jump. */
static const struct {
	uint8_t code[8], size, jump[8], length;
} calls[] = {
	{ { 0x90, 0x90, 0x90, 0xff, 0xd0 }, 5, { 0xff, 0xe0 }, 2 }, /* *%rax */
	{ { 0x90, 0x90, 0x41, 0xff, 0xd3 }, 5, { 0x41, 0xff, 0xe3 }, 3 },
	{ { 0x90, 0x90, 0xff, 0x55, 8 }, 5, { 0xff, 0x65, 8 }, 3 }, /* *8(%rbp) */
	{ { 0x90, 0x90, 0xff, 0x14, 0xc3 }, 5, { 0 }, 0 }, /* *(%rbx,%rax,8) */
	{ { 0x90, 0x90, 0xff, 0x14, 0x24 }, 5, { 0 }, 0 }, /* *(%rsp): moved by then */
	{ { 0x90, 0xff, 0x54, 0x24, 8 }, 5, { 0 }, 0 },
	{ { 0x90, 0x90, 0xff, 0x5d, 8 }, 5, { 0 }, 0 }, /* a far one */
};

START_TEST(an_indirect_call_is_moved_but_by_the_stack)
{
	uint8_t code[16] = { 0 };
	struct patch_plan plan;
	size_t used = 0;
	const char *why;

	memcpy(code, calls[_i].code, calls[_i].size);
	code[calls[_i].size] = 0xc3;
	why = plan_of(0, code, calls[_i].size + 1u, &plan);
	ck_assert_msg(!why, "%s", why);
	ck_assert_uint_eq(plan.length, calls[_i].size);
	why = patch_code_move(&plan, page + 2048, &used);
	if (!calls[_i].length) {
		ck_assert_msg(why && strstr(why, "cannot be moved"), "%s", why);
		return;
	}
	ck_assert_msg(!why, "%s", why);
	ck_assert_mem_eq(page + 2048 + used - calls[_i].length, calls[_i].jump,
			 calls[_i].length);
}
END_TEST

/* Stacks grow down, and somebody may be about to map what follows: a page is left. */
START_TEST(a_page_beside_another_mapping_is_not_used)
{
	uint8_t *all = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *got;

	munmap(all + 32 * 4096, 8 * 4096);
	got = patch_near((uintptr_t)all + 31 * 4096);
	ck_assert_ptr_eq(got, all + 33 * 4096);
	got = patch_near((uintptr_t)all + 41 * 4096);
	ck_assert_ptr_eq(got, all + 38 * 4096);
	for (int i = -1; i < 2; i += 2)
		ck_assert_int_eq(patch_prot((uintptr_t)got + i * 4096), -1);
}
END_TEST

/* The real decoder, but for one byte of what it says. */
static const unsigned altered[] = { 8, 20, 255, 257, 258, 264, 272, 273, 281, 288 };

START_TEST(a_decoder_of_other_structures_is_refused)
{
	char dir[] = "/tmp/patch-code-XXXXXX", path[64], command[1024];
	const char *why;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/decoder.so", dir);
	snprintf(command, sizeof(command),
		 "echo '#include <dlfcn.h>\n"
		 "static void *real(const char *name) { void *lib = "
		 "dlopen(\"/usr/lib/x86_64-linux-gnu/libZydis.so.4.0\", RTLD_NOW);"
		 "return dlsym(lib, name); }"
		 "int ZydisDecoderInit(void *d, int m, int w) { return ((int (*)(void *, "
		 "int, int))real(\"ZydisDecoderInit\"))(d, m, w); }"
		 "int ZydisDecoderDecodeInstruction(void *d, void *c, void *b, long n, "
		 "unsigned char *out) { int rc = ((int (*)(void *, void *, void *, long, "
		 "void *))real(\"ZydisDecoderDecodeInstruction\"))(d, c, b, n, out);"
		 "out[%u] ^= 1; return rc; }' | cc -x c - -shared -fPIC "
		 "-Wl,-soname,libZydis.so.4.0 -o %s",
		 altered[_i], path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_ptr_nonnull(dlopen(path, RTLD_NOW));
	why = patch_decode_open();
	ck_assert_msg(why && strstr(why, "has not the structures"), "%u: %s", altered[_i],
		      why);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(a_page_that_is_not_near_is_not_used)
{
	astray = true;
	ck_assert_ptr_null(patch_near((uintptr_t)page));
	astray = false;
	ck_assert_ptr_nonnull(patch_near((uintptr_t)page));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("patch code");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_jump_never_lies_across_a_word);
	tcase_add_test(tc, no_branch_lands_on_any_replaced_byte);
	tcase_add_test(tc, nothing_behind_a_function_is_read);
	tcase_add_loop_test(tc, what_does_not_reach_is_not_moved, 0,
			    sizeof(far) / sizeof(*far));
	tcase_add_loop_test(tc, a_decoder_of_other_structures_is_refused, 0,
			    sizeof(altered) / sizeof(*altered));
	tcase_add_test(tc, a_page_that_is_not_near_is_not_used);
	tcase_add_loop_test(tc, an_indirect_call_is_moved_but_by_the_stack, 0,
			    sizeof(calls) / sizeof(*calls));
	tcase_add_test(tc, a_page_beside_another_mapping_is_not_used);
	return unit_run(tc, "patch_code");
}
