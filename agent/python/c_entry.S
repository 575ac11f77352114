/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries for the functions of C that Python calls through us (c_place.h): each says which
 * it is by a sixth argument, as none of them takes more than five.
 */
#if defined __x86_64__

	.text
	.p2align 4
	.globl	c_entry
	.hidden	c_entry
	.type	c_entry, @function
c_entry:
	.set	place, 0
	.rept	2048 /* C_PLACES */
	.p2align 4
	.cfi_startproc
	endbr64
	movl	$place, %r9d
	jmp	*c_entry_to(%rip)
	.cfi_endproc
	.set	place, place + 1
	.endr
	.size	c_entry, . - c_entry

	/* Where all of them lead. */
	.bss
	.p2align 3
	.globl	c_entry_to
	.hidden	c_entry_to
	.type	c_entry_to, @object
	.size	c_entry_to, 8
c_entry_to:
	.zero	8

#else
#error "proflaunch is built for x86-64 only so far"
#endif

	.section .note.GNU-stack, "", @progbits
