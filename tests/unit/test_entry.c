/* SPDX-License-Identifier: Apache-2.0 */
/* Calls through the entries of cuda/entry.S: what the real function, cuda_enter and the
 * caller find in each register and on the stack. */
#include "agent/cuda/libraries.h"
#include "tests/unit/registers.h"
#include "tests/unit/unit.h"

/* ---- all of the tables, as entry.S numbers them ---- */

#define HOOK(group, symbol, kind, ...) extern const char symbol[];
#include "agent/cuda/cudart.def"
#include "agent/cuda/driver.def"
#include "agent/cuda/nccl.def"
#undef HOOK

static const struct {
	const char *name, *at;
	enum cuda_group group;
	enum cuda_kind kind;
} entries[] = {
#define HOOK(group, symbol, kind, ...) { #symbol, symbol, GROUP_##group, KIND_##kind },
#include "agent/cuda/cudart.def"
#include "agent/cuda/driver.def"
#include "agent/cuda/nccl.def"
#undef HOOK
};
#define ENTRIES (sizeof(entries) / sizeof(*entries))

/* ---- what is called, as the test plays it ---- */

static struct {
	_Atomic uint64_t window;
} gate_page;
extern void *gate;
void *gate = &gate_page;
uint8_t cuda_wanted[2];
void *cuda_real[ENTRIES + CUDA_SLOTS_SPARE];

static uint32_t slot; /* that is called */
static uint32_t stack_bytes;
static unsigned entered, left, resolved;

static bool is_aligned(const void *frame)
{
	return (uintptr_t)frame % 16 == 0;
}

__attribute__((noinline)) void cuda_enter(struct cuda_frame *f)
{
	ck_assert(is_aligned(__builtin_frame_address(0)) && is_aligned(f));
	ck_assert_uint_eq(f->slot, slot);
	ck_assert_ptr_eq(f->caller, registers_returned);
	ck_assert_mem_eq(f->reg, registers_sent.reg, sizeof(f->reg));
	ck_assert_uint_eq(f->rax, registers_sent.rax);
	ck_assert_mem_eq(f->sse, registers_sent.sse, sizeof(f->sse));
	ck_assert_mem_eq(f->stack, registers_sent.stack, sizeof(registers_sent.stack));
	entered++;
	memset(&f->fn, 0xff,
	       sizeof(*f) - offsetof(struct cuda_frame, fn)); /* is its own */
	f->real = (void *)registers_real;
	f->stack_bytes = stack_bytes;
	registers_clobber();
}

__attribute__((noinline)) void cuda_leave(struct cuda_frame *f)
{
	ck_assert(is_aligned(__builtin_frame_address(0)));
	ck_assert_uint_eq(f->slot, slot);
	ck_assert_uint_eq(f->result[0], registers_result.rax);
	ck_assert_uint_eq(f->token, UINT32_MAX); /* the frame of cuda_enter */
	left++;
	registers_clobber();
}

__attribute__((noinline)) void *cuda_resolve(uint32_t number, const void *caller)
{
	ck_assert(is_aligned(__builtin_frame_address(0)));
	ck_assert_uint_eq(number, slot);
	ck_assert_ptr_eq(caller, registers_returned);
	resolved++;
	registers_clobber();
	return (void *)registers_real;
}

/* ---- one call ---- */

enum way { JUMPS, ENTERS, RESOLVES };

/* The caller and the real function cannot tell what lies between them. */
static void expect_call(uint32_t number, const void *at, enum way way)
{
	slot = number;
	entered = left = resolved = 0;
	registers_mark();
	registers_call(at);
	ck_assert_msg(entered == (way == ENTERS) && left == entered &&
			      resolved == (way == RESOLVES),
		      "slot %u: entered %u, left %u, resolved %u", number, entered, left,
		      resolved);
	ck_assert_mem_eq(&registers_seen.all, &registers_sent,
			 offsetof(struct registers, stack));
	ck_assert_mem_eq(registers_seen.all.stack, registers_sent.stack,
			 way == ENTERS ? stack_bytes : sizeof(registers_sent.stack));
	ck_assert_uint_eq(registers_seen.rsp % 16, 8);
	if (way != ENTERS) {
		ck_assert_ptr_eq(registers_seen.returns, registers_returned);
		ck_assert_mem_eq(registers_seen.saved, registers_marks,
				 sizeof(registers_marks));
	}
	ck_assert_mem_eq(registers_got.saved, registers_marks, sizeof(registers_marks));
	ck_assert_uint_eq(registers_got.left, 0);
	ck_assert_mem_eq(&registers_got, &registers_result, sizeof(registers_result));
}

static void setup(void)
{
	stack_bytes = sizeof(registers_sent.stack);
	for (unsigned i = 0; i < ENTRIES + CUDA_SLOTS_SPARE; i++)
		cuda_real[i] = (void *)registers_real;
}

static bool is_always(enum cuda_kind kind)
{
	return (kind >= KIND_CAPTURE && kind <= KIND_ENTRY) || kind == KIND_COMM ||
	       kind == KIND_COMM_END;
}

START_TEST(each_row_has_its_entry_and_spare_ones_follow)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	for (unsigned i = 0; i < ENTRIES + CUDA_SLOTS_SPARE; i++) {
		const char *at = cuda_entry_of(i);

		if (i < ENTRIES)
			ck_assert_msg(at == entries[i].at, "%s", entries[i].name);
		else
			ck_assert_msg(at > (const char *)cuda_entry_of(i - 1) &&
					      at - (const char *)cuda_entry_of(i - 1) <=
						      64,
				      "slot %u", i);
		ck_assert_mem_eq(at, endbr64, sizeof(endbr64));
	}
}
END_TEST

START_TEST(while_nothing_is_wanted_calls_jump_but_for_some)
{
	for (unsigned i = 0; i < ENTRIES + CUDA_SLOTS_SPARE; i++)
		expect_call(i, cuda_entry_of(i),
			    i < ENTRIES && is_always(entries[i].kind) ? ENTERS : JUMPS);
}
END_TEST

START_TEST(a_first_call_finds_the_function)
{
	cuda_wanted[0] = cuda_wanted[1] = _i ? CUDA_WANT_TIMES : 0;
	for (unsigned i = 0; i < ENTRIES + CUDA_SLOTS_SPARE; i++) {
		cuda_real[i] = NULL;
		if (i >= ENTRIES || !is_always(entries[i].kind))
			expect_call(i, cuda_entry_of(i), RESOLVES);
	}
}
END_TEST

/* What is wanted of calls, and what in windows alone. */
START_TEST(what_is_wanted_is_entered_when_it_is)
{
	static const struct {
		uint8_t wanted;
		enum way outside;
	} rows[] = { { CUDA_WANT_MARKS, ENTERS },
		     { CUDA_WANT_READY, ENTERS },
		     { CUDA_WANT_STACKS, JUMPS },
		     { CUDA_WANT_TIMES, JUMPS },
		     { CUDA_WANT_COLLECTIVES, JUMPS } };

	for (unsigned i = 0; i < ENTRIES + CUDA_SLOTS_SPARE; i++) {
		bool nccl = i < ENTRIES && entries[i].group == GROUP_NCCL;

		if (i < ENTRIES && is_always(entries[i].kind))
			continue;
		cuda_wanted[0] = nccl ? 0 : rows[_i].wanted;
		cuda_wanted[1] = nccl ? rows[_i].wanted : 0;
		gate_page.window = 0;
		if (!nccl)
			expect_call(i, cuda_entry_of(i), rows[_i].outside);
		gate_page.window = (uint64_t)1 << 40;
		expect_call(i, cuda_entry_of(i), ENTERS);
		/* It is the others' that is wanted. */
		cuda_wanted[0] = nccl ? CUDA_WANT_TIMES : 0;
		cuda_wanted[1] = nccl ? 0 : CUDA_WANT_COLLECTIVES;
		expect_call(i, cuda_entry_of(i), JUMPS);
	}
}
END_TEST

START_TEST(as_much_of_the_stack_as_is_asked_for)
{
	cuda_wanted[0] = CUDA_WANT_MARKS;
	for (stack_bytes = 16; stack_bytes <= sizeof(registers_sent.stack);
	     stack_bytes += 16)
		expect_call(0, entries[0].at, ENTERS);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("entry");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, each_row_has_its_entry_and_spare_ones_follow);
	tcase_add_test(tc, while_nothing_is_wanted_calls_jump_but_for_some);
	tcase_add_loop_test(tc, a_first_call_finds_the_function, 0, 2);
	tcase_add_loop_test(tc, what_is_wanted_is_entered_when_it_is, 0, 5);
	tcase_add_test(tc, as_much_of_the_stack_as_is_asked_for);
	return unit_run(tc, "entry");
}
