/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image - what an ELF file says about itself.
 *
 * Threads  one.
 * Memory   inside the struct; the file is mapped during the call only.
 * Errors   0 or -errno; -ENOEXEC for what is no sound ELF file.
 * Units    none.
 */
#ifndef LAUNCHER_IMAGE_H
#define LAUNCHER_IMAGE_H

#include <stdbool.h>

struct image {
	bool native; /* 64-bit, for the processor that the agent is built for */
	char loader[128]; /* PT_INTERP; "" = linked statically */
	const char *sanitizer; /* "AddressSanitizer" ...; "" = none */
};

int image_read(struct image *image, const char *path);

#endif
