/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks that look and then jump: the real function sees the caller's registers
 * and return address (dlsym needs it for RTLD_NEXT and namespaces), and nothing
 * of ours is on the stack while it runs.
 */
#if defined __x86_64__

	.macro hook name, look, real
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	push	%rdx
	.cfi_adjust_cfa_offset 8
	push	%rcx
	.cfi_adjust_cfa_offset 8
	push	%r8
	.cfi_adjust_cfa_offset 8
	push	%r9
	.cfi_adjust_cfa_offset 8
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	\look
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%r9
	.cfi_adjust_cfa_offset -8
	pop	%r8
	.cfi_adjust_cfa_offset -8
	pop	%rcx
	.cfi_adjust_cfa_offset -8
	pop	%rdx
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*\real(%rip)
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	/* dlsym: hook_answer_dlsym(handle, name, caller) may know the answer itself. */
	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	mov	16(%rsp), %rdx
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	hook_answer_dlsym
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	test	%dl, %dl
	jne	1f
	jmp	*hook_real_dlsym(%rip)
1:	ret
	.cfi_endproc
	.size	dlsym, . - dlsym

	hook _ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_, hook_look_execute, hook_real_execute
	hook _ZN3c1011LogAPIUsageERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE, hook_look_usage, hook_real_usage
	hook _ZN3c1011LogAPIUsageERKSs, hook_look_usage, hook_real_usage
	hook _ZN5torch8autograd8profiler23toggleCollectionDynamicEbRKSt3setINS_8profiler4impl12ActivityTypeESt4lessIS5_ESaIS5_EE, hook_look_toggle, hook_real_toggle
	hook _ZN5torch8autograd8profiler14enableProfilerERKNS_8profiler4impl14ProfilerConfigERKSt3setINS3_12ActivityTypeESt4lessIS8_ESaIS8_EERKSt13unordered_setIN2at11RecordScopeESt4hashISH_ESt8equal_toISH_ESaISH_EE, hook_look_profile, hook_real_enable
	hook _ZN5torch8autograd8profiler15prepareProfilerERKNS_8profiler4impl14ProfilerConfigERKSt3setINS3_12ActivityTypeESt4lessIS8_ESaIS8_EE, hook_look_profile, hook_real_prepare
	hook _ZN5torch8autograd8profiler15disableProfilerEv, hook_look_profile_end, hook_real_disable

#else
#error "proflaunch is built for x86-64 only so far"
#endif

	.section .note.GNU-stack, "", @progbits
