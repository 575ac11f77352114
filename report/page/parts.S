/* SPDX-License-Identifier: Apache-2.0 */
/* The files that join.sh wrote, as they are; the Makefile says where they lie. */
	.macro part name, file
	.globl \name, \name\()_end
	.hidden \name, \name\()_end
	.type \name, %object
	.type \name\()_end, %object
\name:
	.incbin "\file"
\name\()_end:
	.endm

	.section .rodata
	part parts_head, "page.head"
	part parts_tail, "page.tail"
	.section .note.GNU-stack,"",%progbits
