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

/* The next path in `text`, a list of files, whose last part begins with `base`; returns
 * behind it, NULL = none. */
const char *find_mapped(const char *text, const char *base, char *path, size_t size);

/*
 * Sets a->cupti, or a->majors where it is left to the loader (ask_gpu asks it). `mapped`
 * are the program's libraries, `image` its path. Returns the runtime's major, 0 = none.
 */
int find_cupti(struct ask_gpu *a, const char *image, const char *mapped);

/* One that lies where the agent does not look; false: there is none. */
bool find_stray(char *path, size_t size);

#endif
