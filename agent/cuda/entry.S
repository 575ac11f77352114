/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries for every row of cudart.def, driver.def and nccl.def. While nothing is wanted
 * they jump on with all registers and the stack as they were. Else cuda_full keeps the
 * argument registers, calls cuda_enter, calls the real function with the same registers
 * and a copy of the stack's arguments, and calls cuda_leave. r11 is free at a
 * function's entry: procedure linkage tables use it, too.
 */
#if defined __x86_64__

#define WANTED_NOW 17 /* CUDA_WANT_MARKS, CUDA_WANT_READY: not only in windows */

/* struct cuda_frame */
#define F_RAX    48
#define F_SSE    64
#define F_STACK  192
#define F_CALLER 200
#define F_SLOT   208
#define F_BYTES  212
#define F_REAL   216
#define F_RESULT 224
#define F_SIZE   320

#define ALWAYS_CALL 0
#define ALWAYS_SYNC 0
#define ALWAYS_INIT 0
#define ALWAYS_LAUNCH 0
#define ALWAYS_LAUNCH_DRIVER 0
#define ALWAYS_LAUNCH_CONFIG 0
#define ALWAYS_GRAPH 0
#define ALWAYS_CAPTURE 1
#define ALWAYS_RESET 1
#define ALWAYS_REGISTER 1
#define ALWAYS_SAME 1
#define ALWAYS_NAMED 1
#define ALWAYS_ENTRY 1
#define ALWAYS_COLLECTIVE 0
#define ALWAYS_COMM 1
#define ALWAYS_COMM_END 1

	.set	slot, 0

	/* A table grows with every entry. It holds no address that the dynamic linker would
	 * have to write at each start of a program: an entry's is told by its distance from
	 * the row. */
	.section .rodata.cuda_entry, "a", @progbits
	.p2align 2
	.globl	cuda_entry
	.hidden	cuda_entry
cuda_entry:

	/* wanted: what of cuda_wanted concerns this entry. */
	.macro body always, wanted
	.p2align 4
1:	.cfi_startproc
	endbr64
	.if \always
	movl	$slot, %r11d
	jmp	cuda_full
	.else
	cmpb	$0, \wanted(%rip)
	jne	2f
	movq	cuda_real + 8 * slot(%rip), %r11
	testq	%r11, %r11
	je	3f
	jmp	*%r11
2:	movl	$slot, %r11d
	jmp	cuda_slow
3:	movl	$slot, %r11d
	jmp	cuda_find_first
	.endif
	.cfi_endproc
	.section .rodata.cuda_entry, "a", @progbits
	.long	1b - .
	.text
	.set	slot, slot + 1
	.endm

	.macro entry name, always, wanted
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	body	\always, \wanted
	.size	\name, . - \name
	.endm

	.macro keep /* at %rsp */
	movq	%rdi, 0(%rsp)
	movq	%rsi, 8(%rsp)
	movq	%rdx, 16(%rsp)
	movq	%rcx, 24(%rsp)
	movq	%r8, 32(%rsp)
	movq	%r9, 40(%rsp)
	movq	%rax, F_RAX(%rsp)
	movq	%r10, F_RAX + 8(%rsp)
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7
	movups	%xmm\i, F_SSE + 16 * \i(%rsp)
	.endr
	.endm

	.macro restore /* at %rbp - F_SIZE */
	movq	0 - F_SIZE(%rbp), %rdi
	movq	8 - F_SIZE(%rbp), %rsi
	movq	16 - F_SIZE(%rbp), %rdx
	movq	24 - F_SIZE(%rbp), %rcx
	movq	32 - F_SIZE(%rbp), %r8
	movq	40 - F_SIZE(%rbp), %r9
	movq	F_RAX - F_SIZE(%rbp), %rax
	movq	F_RAX + 8 - F_SIZE(%rbp), %r10
	.irp	i, 0, 1, 2, 3, 4, 5, 6, 7
	movups	F_SSE + 16 * \i - F_SIZE(%rbp), %xmm\i
	.endr
	.endm

	.macro frame
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	subq	$F_SIZE, %rsp
	keep
	.endm

	.text
	/* Something is wanted; but perhaps only in windows, and there is none. */
	.type	cuda_slow, @function
	.p2align 4
cuda_slow:
	.cfi_startproc
	testb	$WANTED_NOW, cuda_wanted(%rip)
	jne	cuda_full
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	movq	gate(%rip), %rax
	cmpq	$0, (%rax)
	jne	1f
	leaq	cuda_real(%rip), %rax
	movq	(%rax, %r11, 8), %rax
	testq	%rax, %rax
	je	2f
	movq	%rax, %r11
	popq	%rax
	.cfi_adjust_cfa_offset -8
	jmp	*%r11
	.cfi_adjust_cfa_offset 8
1:	popq	%rax
	.cfi_adjust_cfa_offset -8
	jmp	cuda_full
	.cfi_adjust_cfa_offset 8
2:	popq	%rax
	.cfi_adjust_cfa_offset -8
	jmp	cuda_find_first
	.cfi_endproc
	.size	cuda_slow, . - cuda_slow

	.type	cuda_full, @function
	.p2align 4
cuda_full:
	.cfi_startproc
	frame
	movl	%r11d, F_SLOT(%rsp)
	leaq	16(%rbp), %rax
	movq	%rax, F_STACK(%rsp)
	movq	8(%rbp), %rax
	movq	%rax, F_CALLER(%rsp)
	movq	%rsp, %rdi
	call	cuda_enter
	movq	F_STACK - F_SIZE(%rbp), %rax
	movl	F_BYTES - F_SIZE(%rbp), %ecx
1:	subq	$16, %rcx
	movups	(%rax, %rcx), %xmm0
	leaq	-16(%rsp), %rsp
	movups	%xmm0, (%rsp)
	jne	1b
	movq	F_REAL - F_SIZE(%rbp), %r11
	restore
	call	*%r11
	movq	%rax, F_RESULT - F_SIZE(%rbp)
	movq	%rdx, F_RESULT + 8 - F_SIZE(%rbp)
	movups	%xmm0, F_RESULT + 16 - F_SIZE(%rbp)
	leaq	0 - F_SIZE(%rbp), %rsp
	movq	%rsp, %rdi
	call	cuda_leave
	movq	F_RESULT - F_SIZE(%rbp), %rax
	movq	F_RESULT + 8 - F_SIZE(%rbp), %rdx
	movups	F_RESULT + 16 - F_SIZE(%rbp), %xmm0
	leave
	.cfi_restore rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	cuda_full, . - cuda_full

	/* The real function is not known yet. */
	.type	cuda_find_first, @function
	.p2align 4
cuda_find_first:
	.cfi_startproc
	frame
	movl	%r11d, %edi
	movq	8(%rbp), %rsi
	call	cuda_resolve
	movq	%rax, %r11
	restore
	leave
	.cfi_restore rbp
	.cfi_def_cfa rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	cuda_find_first, . - cuda_find_first

#define WANTED_CUDART cuda_wanted
#define WANTED_DRIVER cuda_wanted
#define WANTED_NCCL   cuda_wanted + 1
#define HOOK(group, symbol, kind, ...) entry symbol, ALWAYS_##kind, WANTED_##group
#include "agent/cuda/cudart.def"
#include "agent/cuda/driver.def"
#include "agent/cuda/nccl.def"

	.rept	64 /* CUDA_SLOTS_SPARE */
	body	0, cuda_wanted
	.endr

#else
#error "proflaunch is built for x86-64 only so far"
#endif

	.section .note.GNU-stack, "", @progbits
