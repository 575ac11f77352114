/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registers - a call with a mark in each register that an argument or a caller's value
 * may lie in, and what a called function found there.
 *
 * Threads  one.  Memory  static.  Errors  none.  Units  machine words.
 */
#ifndef TESTS_REGISTERS_H
#define TESTS_REGISTERS_H

#include <stdint.h>

#define REGISTERS_STACK 24

struct registers {
	uint64_t reg[6]; /* rdi rsi rdx rcx r8 r9 */
	uint64_t rax, r10;
	uint8_t sse[8][16];
	uint64_t stack[REGISTERS_STACK];
};

struct registers registers_sent;
struct registers_seen {
	struct registers all;
	uint64_t rsp;
	const void *returns; /* where to */
	uint64_t saved[6]; /* rbx rbp r12 r13 r14 r15 */
} registers_seen; /* by registers_real */
struct registers_got {
	uint64_t rax, rdx;
	uint8_t xmm0[16];
	uint64_t saved[6];
	uint64_t left; /* bytes that the call left on the stack */
} registers_got; /* by who called */

static const struct registers_result {
	uint64_t rax, rdx;
	uint8_t xmm0[16];
} registers_result __attribute__((used)) = { 0x1122334455667788, 0x99aabbccddeeff00,
					     "a vector result" };
static const uint64_t registers_marks[6] = { 0xb, 0xb9, 0x12, 0x13, 0x14, 0x15 };
uint64_t registers_kept;

void registers_call(const void *function); /* with registers_sent */
extern const char registers_returned[]; /* where a call by it returns to */
void registers_real(void); /* a function that notes registers_seen */
void registers_clobber(void); /* all that a function may change */

/* clang-format off */
__asm__(".text\n"
	".globl registers_call, registers_returned, registers_real, registers_clobber\n"
	".type registers_call, @function\n"
	"registers_call:\n"
	"push %rbx\n"
	"push %rbp\n"
	"push %r12\n"
	"push %r13\n"
	"push %r14\n"
	"push %r15\n"
	"sub $8, %rsp\n"
	"mov %rdi, %r11\n"
	"mov %rsp, registers_kept(%rip)\n"
	"lea registers_sent(%rip), %rbx\n"
	"mov $24, %ecx\n"
	"1: pushq 184(%rbx, %rcx, 8)\n"
	"dec %ecx\n"
	"jnz 1b\n"
	".irp i, 0, 1, 2, 3, 4, 5, 6, 7\n"
	"movups 64 + 16 * \\i(%rbx), %xmm\\i\n"
	".endr\n"
	"mov 0(%rbx), %rdi\n"
	"mov 8(%rbx), %rsi\n"
	"mov 16(%rbx), %rdx\n"
	"mov 24(%rbx), %rcx\n"
	"mov 32(%rbx), %r8\n"
	"mov 40(%rbx), %r9\n"
	"mov 48(%rbx), %rax\n"
	"mov 56(%rbx), %r10\n"
	"mov $0xb9, %ebp\n"
	"mov $0x12, %r12d\n"
	"mov $0x13, %r13d\n"
	"mov $0x14, %r14d\n"
	"mov $0x15, %r15d\n"
	"mov $0xb, %ebx\n"
	"call *%r11\n"
	"registers_returned:\n"
	"mov %rax, registers_got(%rip)\n"
	"mov %rdx, 8 + registers_got(%rip)\n"
	"movups %xmm0, 16 + registers_got(%rip)\n"
	"mov %rbx, 32 + registers_got(%rip)\n"
	"mov %rbp, 40 + registers_got(%rip)\n"
	"mov %r12, 48 + registers_got(%rip)\n"
	"mov %r13, 56 + registers_got(%rip)\n"
	"mov %r14, 64 + registers_got(%rip)\n"
	"mov %r15, 72 + registers_got(%rip)\n"
	"lea 192(%rsp), %rax\n"
	"sub registers_kept(%rip), %rax\n"
	"neg %rax\n"
	"mov %rax, 80 + registers_got(%rip)\n"
	"mov registers_kept(%rip), %rsp\n"
	"add $8, %rsp\n"
	"pop %r15\n"
	"pop %r14\n"
	"pop %r13\n"
	"pop %r12\n"
	"pop %rbp\n"
	"pop %rbx\n"
	"ret\n"
	".type registers_real, @function\n"
	"registers_real:\n"
	"mov %rdi, 0 + registers_seen(%rip)\n"
	"mov %rsi, 8 + registers_seen(%rip)\n"
	"mov %rdx, 16 + registers_seen(%rip)\n"
	"mov %rcx, 24 + registers_seen(%rip)\n"
	"mov %r8, 32 + registers_seen(%rip)\n"
	"mov %r9, 40 + registers_seen(%rip)\n"
	"mov %rax, 48 + registers_seen(%rip)\n"
	"mov %r10, 56 + registers_seen(%rip)\n"
	".irp i, 0, 1, 2, 3, 4, 5, 6, 7\n"
	"movups %xmm\\i, 64 + 16 * \\i + registers_seen(%rip)\n"
	".endr\n"
	"mov %rsp, 384 + registers_seen(%rip)\n"
	"mov (%rsp), %rax\n"
	"mov %rax, 392 + registers_seen(%rip)\n"
	"mov %rbx, 400 + registers_seen(%rip)\n"
	"mov %rbp, 408 + registers_seen(%rip)\n"
	"mov %r12, 416 + registers_seen(%rip)\n"
	"mov %r13, 424 + registers_seen(%rip)\n"
	"mov %r14, 432 + registers_seen(%rip)\n"
	"mov %r15, 440 + registers_seen(%rip)\n"
	"lea 8(%rsp), %rsi\n"
	"lea 192 + registers_seen(%rip), %rdi\n"
	"mov $24, %ecx\n"
	"rep movsq\n"
	"sub $8, %rsp\n"
	"call registers_clobber\n"
	"add $8, %rsp\n"
	"mov registers_result(%rip), %rax\n"
	"mov 8 + registers_result(%rip), %rdx\n"
	"movups 16 + registers_result(%rip), %xmm0\n"
	"ret\n"
	".type registers_clobber, @function\n"
	"registers_clobber:\n"
	"mov $-1, %rax\n"
	"mov %rax, %rcx\n"
	"mov %rax, %rdx\n"
	"mov %rax, %rsi\n"
	"mov %rax, %rdi\n"
	"mov %rax, %r8\n"
	"mov %rax, %r9\n"
	"mov %rax, %r10\n"
	"mov %rax, %r11\n"
	".irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"pcmpeqd %xmm\\i, %xmm\\i\n"
	".endr\n"
	"ret\n");
/* clang-format on */

static inline void registers_mark(void)
{
	uint8_t *bytes = (uint8_t *)&registers_sent;

	for (unsigned i = 0; i < sizeof(registers_sent); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 8 + 1);
	registers_seen = (struct registers_seen){ 0 };
	registers_got = (struct registers_got){ 0 };
}

#endif
