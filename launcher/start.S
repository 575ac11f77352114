/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start - where the kernel's loader jumps to, in the place of crt1.o.
 *
 * crt1.o of glibc 2.34 and newer asks for a __libc_start_main of that version. The old
 * one is still in every C library; it calls the init routine that it is handed, here
 * start_init (old_libc.c). Registers and stack as the x86-64 psABI has them at entry:
 * argc on the stack, argv behind it, the loader's end routine in rdx.
 */
	.symver __libc_start_main, __libc_start_main@GLIBC_2.2.5

	.text
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip		/* no frame lies above this one */
	endbr64
	xorl %ebp, %ebp
	movq %rdx, %r9			/* rtld_fini */
	popq %rsi			/* argc */
	movq %rsp, %rdx			/* argv */
	andq $-16, %rsp
	pushq %rax			/* keeps the stack aligned */
	pushq %rsp			/* stack_end */
	xorl %r8d, %r8d			/* fini: the loader runs the program's own */
	leaq start_init(%rip), %rcx
	leaq main(%rip), %rdi
	call *__libc_start_main@GOTPCREL(%rip)
	hlt
	.cfi_endproc
	.size _start, . - _start

	.section .note.GNU-stack, "", @progbits
