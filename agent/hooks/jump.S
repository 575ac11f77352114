/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that look and then jump: the real function sees the caller's registers
 * and return address (dlsym needs it for RTLD_NEXT and namespaces), and nothing
 * of ours is on the stack while it runs.
 */
#if defined __x86_64__

	/* The next four tell unwinders, which may walk from inside of \look, where the
	 * caller's frame is. */
	.macro function name
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	.endm

	.macro save register
	push	%\register
	.cfi_adjust_cfa_offset 8
	.endm

	.macro restore register
	pop	%\register
	.cfi_adjust_cfa_offset -8
	.endm

	/* The stack pointer is a multiple of 16 at a call, as the ABI wants it. */
	.macro aligned_call look
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	\look
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	.endm

	/* The registers of integer arguments are kept. Those of floating point are not:
	 * none of torch.def's functions has such an argument. */
	.macro hook name, look, real
	function \name
	save	rdi
	save	rsi
	save	rdx
	save	rcx
	save	r8
	save	r9
	aligned_call \look
	restore	r9
	restore	r8
	restore	rcx
	restore	rdx
	restore	rsi
	restore	rdi
	jmp	*\real(%rip)
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	/* dlsym: hook_answer_dlsym(handle, name, caller) may know the answer itself. */
	function dlsym
	save	rdi
	save	rsi
	mov	16(%rsp), %rdx
	aligned_call hook_answer_dlsym
	restore	rsi
	restore	rdi
	test	%dl, %dl
	jne	1f
	jmp	*hook_real_dlsym(%rip)
1:	ret
	.cfi_endproc
	.size	dlsym, . - dlsym

#define HOOK(id, symbol, look, real) hook symbol, look, real
#include "agent/hooks/torch.def"

#else
#error "proflaunch is built for x86-64 only so far"
#endif

	.section .note.GNU-stack, "", @progbits
