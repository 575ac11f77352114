/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find_cupti - which libcupti the agent would take in a program; for doctor.
 *
 * Threads  one.  Memory  the caller's.  Errors  as said.  Units  none.
 */
#ifndef LAUNCHER_DOCTOR_FIND_CUPTI_H
#define LAUNCHER_DOCTOR_FIND_CUPTI_H

#include "launcher/doctor/ask_gpu.h"

#include <stddef.h>

/* Finds the next path in `text`, a list of files, whose last part begins with `base`;
 * returns the place behind it, NULL = there is none. */
const char *find_mapped(const char *text, const char *base, char *path, size_t size);

/*
 * Sets a->cupti, or a->majors where the loader is to find it (ask_gpu asks it). `mapped`:
 * the program's libraries, `image`: its path. Returns the runtime's major, 0 = none.
 */
int find_cupti(struct ask_gpu *a, const char *image, const char *mapped);

/* Finds a libcupti where the agent does not look; false: there is none. */
bool find_stray(char *path, size_t size);

#endif
