/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patch_shapes - functions of every shape that a marker may be put on.
 *
 * Threads  any.  Memory  none.  Errors  none.  Units  none.
 */
#ifndef TESTS_PATCH_SHAPES_H
#define TESTS_PATCH_SHAPES_H

#include <execinfo.h>
#include <stddef.h>

#define SHAPE(name, body)                                                          \
	int name(int);                                                             \
	__asm__(".text\n.p2align 4\n.type " #name ", @function\n" #name ":\n" body \
		"\n.size " #name ", . - " #name "\n.p2align 4\n");

SHAPE(shape_rip, "mov shape_data(%rip), %eax\nadd %edi, %eax\nret")
SHAPE(shape_cmp_rip,
      "cmpl $7, shape_data(%rip)\nje 1f\nmov $1, %eax\nret\n1: mov $2, %eax\nret")
SHAPE(shape_branch,
      "test %edi, %edi\nje 1f\nlea 5(%rdi), %eax\nret\n1: mov $9, %eax\nret")
SHAPE(shape_branch_not,
      "test %edi, %edi\njne 1f\nlea 5(%rdi), %eax\nret\n1: mov $9, %eax\nret")
SHAPE(shape_loop, "sub $1, %edi\ntest %edi, %edi\njg shape_loop\nmov %edi, %eax\nret")
SHAPE(shape_loop_inside,
      "mov $0, %eax\n1: add $2, %eax\nsub $1, %edi\njg 1b\nret") /* behind the five bytes
								  */
SHAPE(shape_into, "xor %eax, %eax\n1: add $2, %eax\nsub $1, %edi\njg 1b\nret")
SHAPE(shape_tiny, "xor %eax, %eax\nret")
SHAPE(shape_call, "call shape_tiny\nadd $1, %eax\nret")
SHAPE(shape_recursive,
      "endbr64\nmov $0, %eax\ntest %edi, %edi\njle 1f\nsub $1, %edi\nsub $8, %rsp\ncall "
      "shape_recursive\nadd $8, %rsp\nadd $3, %eax\n1: ret")
SHAPE(shape_endbr, "endbr64\nlea 1(%rdi,%rdi), %eax\nnop\nnop\nret")
SHAPE(shape_unknown,
      "mov $1, %eax\ntest %edi, %edi\nje 1f\nret\n1: .byte 0x06, 0x06\nret")
SHAPE(shape_tail, "jmp shape_tail_target\nnop\nnop\nnop\nnop\nret")
SHAPE(shape_registers,
      "nopl 0(%rax)\nlea (%rax,%r10), %rax\nadd %r11, %rax\nadd %rcx, %rax\nadd %rdx, %rax\n"
      "add %rsi, %rax\nadd %rdi, %rax\nadd %r8, %rax\nadd %r9, %rax\nmovq %xmm9, %rcx\n"
      "add %rcx, %rax\nmovq %xmm15, %rcx\nadd %rcx, %rax\nret")
SHAPE(shape_carry, "nopl 0(%rax)\nmov $0, %eax\nadc $40, %eax\nret")
SHAPE(shape_upper,
      "nopl 0(%rax)\nnop\nvextractf128 $1, %ymm0, %xmm0\nvmovq %xmm0, %rax\nret")
__asm__(".text\n.p2align 4\n.skip 14\n.type shape_across, @function\nshape_across:\n"
	"mov $3, %eax\nret\nnop\n.size shape_across, . - shape_across\n.p2align 4\n");
int shape_across(int);
__asm__(".text\n.p2align 4\n.skip 12\n.type shape_across_by_one, @function\n"
	"shape_across_by_one:\nmov $3, %eax\nret\nnop\n"
	".size shape_across_by_one, . - shape_across_by_one\n.p2align 4\n");
int shape_across_by_one(int);
/* Its first instruction stays where it is, and leaves something below the stack. */
#define SHAPE_SHIFT(name, below)                                                  \
	int name(int);                                                            \
	__asm__(".text\n.p2align 4\n.skip 12\n.type " #name ", @function\n" #name \
		":\nmov %edi, -" #below "(%rsp)\nmov $3, %eax\nadd %edi, %eax\n"  \
		"add -" #below "(%rsp), %eax\nret\n.size " #name ", . - " #name   \
		"\n.p2align 4\n");
SHAPE_SHIFT(shape_shift, 8)
SHAPE_SHIFT(shape_shift_far, 64)
SHAPE_SHIFT(shape_shift_farthest, 120)
SHAPE(shape_push_call,
      "push %rbx\nmov %edi, %ebx\ncall shape_deep\nadd %ebx, %eax\npop %rbx\nret")
SHAPE(shape_got_call, "push %rbx\ncall *shape_slot(%rip)\npop %rbx\nret")
SHAPE(shape_reg_call, "push %rbx\nlea shape_deep(%rip), %rax\ncall *%rax\npop %rbx\nret")
SHAPE(shape_early_call, "call *%rax\nnop\nnop\nnop\nnop\nret")
__asm__(".data\n.p2align 3\nshape_slot: .quad shape_deep\n.text\n");
__attribute__((used, noipa)) int shape_deep(int);

/* A library function walks the stack below, so each return address must be real. */
int shape_deep(int x)
{
	void *frames[8];

	return x + (backtrace(frames, 1) == 1) + (int)(frames[0] == NULL);
}
__asm__(".data\n.p2align 2\nshape_data: .long 7\n.text\n");
int shape_tail_target(int);

__attribute__((used)) int shape_tail_target(int x)
{
	return x * 3;
}

#endif
