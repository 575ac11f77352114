/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch - a libtorch_cpu that has the functions that agent/torch needs, and no more.
 *
 * $BUILD/fake/torch/new.so, old.so (its strings are) and half.so (a function is missing).
 * Copied under any name that libtorch_cpu may have: its version is read from there.
 *
 * Threads  one.  Memory  static.  Errors  none.  Units  none.
 */
#ifndef FAKE_TORCH_H
#define FAKE_TORCH_H

#include "agent/torch/abi.h"

struct fake_torch {
	struct torch_callback callback[4]; /* by handle - 1 */
	uint64_t added;
	unsigned enabled[4], disabled[4]; /* by handle */
	unsigned constructed, destroyed, deleted, reports, exhausted;
	uint32_t bool_tag; /* 0: it does not tell */
	bool profiling;
};

#endif
