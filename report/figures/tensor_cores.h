/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_cores - which kernels use tensor cores, by their names.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none: a name that is not known does not.
 * Units    none.
 */
#ifndef REPORT_FIGURES_TENSOR_CORES_H
#define REPORT_FIGURES_TENSOR_CORES_H

#include <stdbool.h>

bool tensor_cores_used(const char *kernel);

#endif
