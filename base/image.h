/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image - what a file that is to be run says about itself.
 *
 * Threads  any, also a vfork child and a signal handler.
 * Memory   the caller's (two parts of the file at a time); little stack.
 * Errors   what cannot be read or is not sound is IMAGE_OTHER, or has less to say; a
 *          file of any content costs a bounded number of reads.
 * Units    bytes.
 */
#ifndef BASE_IMAGE_H
#define BASE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_ROOM 4096
#define IMAGE_LINE 256 /* the kernel reads no more of a #! line */

#define IMAGE_LOADS  16 /* a linker makes five */
#define IMAGE_NEEDED 64

/* What the loader is told, as places in the file. */
struct image_dynamic {
	uint64_t at, count; /* the section, its entries */
	uint64_t strings, strings_size, symbols, hash; /* places, and a size */
	uint64_t soname, needed[IMAGE_NEEDED]; /* offsets in the strings */
	unsigned loads, needs;
	struct {
		uint64_t address, size, at;
	} load[IMAGE_LOADS];
};

enum image_kind { IMAGE_OTHER, IMAGE_ELF, IMAGE_SCRIPT, IMAGE_TEXT };

struct image {
	enum image_kind kind;
	/* A program's loader (PT_INTERP; "" = linked statically), a script's interpreter.
	 */
	char interpreter[IMAGE_LINE];
	char argument[IMAGE_LINE]; /* of a script's interpreter */
	bool native; /* 64-bit, for the processor that the agent is built for */
	bool loader; /* the C library's loader itself, given a program to start */
	const char *sanitizer; /* "AddressSanitizer" ...; "" = none */
	/* ---- while it is read ---- */
	int fd;
	struct image_dynamic dynamic;
	uint64_t base; /* where `part` lies in the file */
	size_t head_length, length;
	char head[IMAGE_ROOM]; /* the file's begin, all that a small program needs */
	char part[IMAGE_ROOM];
};

/* Fills all of *image from the file at `fd`, which stays open and keeps its position.
 * errno is left alone. */
void image_read(struct image *image, int fd);

#endif
