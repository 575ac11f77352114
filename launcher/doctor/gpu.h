/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu - the part of doctor that is about the GPU.
 *
 * Threads  one.
 * Memory   none.
 * Errors   told by verdict.h.
 * Units    none.
 */
#ifndef LAUNCHER_DOCTOR_GPU_H
#define LAUNCHER_DOCTOR_GPU_H

#include "config/config.h"

/* `image`: the program that will run. `mapped`: text with the paths of the libraries that
 * it maps; "" = not known. */
void doctor_gpu(const struct config *c, const char *image, const char *mapped);

#endif
