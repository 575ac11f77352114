/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin_types - see cuda.h.
 *
 * Threads, Memory, Errors, Units   none: types.
 */
#include "cuda.h"
