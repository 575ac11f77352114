/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cudart_internal - inside the fake libcudart: what its files share.
 *
 * Threads  any.
 * Memory   kernels stay registered.
 * Errors   CUDA's; the thread's last one is kept.
 * Units    as gpu.h.
 *
 * CUDART is the major version, 11, 12 or 13. Like the real one it finds the driver by
 * dlopen, asks dlsym once, for cuGetProcAddress_v2, and gets the rest from that.
 */
#ifndef FAKE_CUDART_INTERNAL_H
#define FAKE_CUDART_INTERNAL_H

#include "tests/fake/gpu.h"

#include "tests/fake/cudart.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

extern const struct fake_gpu *gpu;

struct driver { /* from cuGetProcAddress_v2 */
	void *proc; /* itself */
	CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
			   unsigned, unsigned, CUstream, void **, void **);
	CUresult (*launch_ptsz)(CUfunction, unsigned, unsigned, unsigned, unsigned,
				unsigned, unsigned, unsigned, CUstream, void **, void **);
	CUresult (*launch_ex)(const CUlaunchConfig *, CUfunction, void **, void **);
	CUresult (*launch_ex_ptsz)(const CUlaunchConfig *, CUfunction, void **, void **);
	CUresult (*cooperative)(CUfunction, unsigned, unsigned, unsigned, unsigned,
				unsigned, unsigned, unsigned, CUstream, void **);
	CUresult (*graph_launch)(CUgraphExec, CUstream);
};
extern struct driver driver;

int rt_start(bool context); /* 0, or what the call returns */
int rt_keep(int error); /* as the thread's last error; returns it */
CUfunction rt_kernel(const void *function); /* host stub, handle or fake_kernel's */
const char *rt_name(const void *function); /* never needs the driver; NULL */

/* A runtime function's body, between its begin and its end for the observer. */
#define RT_OF(fn, kernel, context, work)                                              \
	({                                                                            \
		static uint32_t number_;                                              \
		struct fake_call call_ = { .domain = RUNTIME_API, .symbol = kernel }; \
		int r_ = rt_start(context);                                           \
		if (r_ == 0) {                                                        \
			if (!number_)                                                 \
				number_ = gpu->function(#fn);                         \
			call_.function = number_;                                     \
			r_ = gpu->enter(&call_, #fn);                                 \
			if (r_ == 0)                                                  \
				r_ = (work);                                          \
			gpu->leave(&call_, r_);                                       \
		}                                                                     \
		rt_keep(r_);                                                          \
	})
#define RT(fn, work) RT_OF(fn, NULL, true, work)

/* The driver call that a runtime call makes inside. */
#define NESTED(fn, work)                                             \
	({                                                           \
		static uint32_t inner_;                              \
		struct fake_call nested_ = { .domain = DRIVER_API }; \
		int n_;                                              \
		if (!inner_)                                         \
			inner_ = gpu->function(#fn);                 \
		nested_.function = inner_;                           \
		n_ = gpu->enter(&nested_, #fn);                      \
		if (n_ == 0)                                         \
			n_ = (work);                                 \
		gpu->leave(&nested_, n_);                            \
		n_;                                                  \
	})

#endif
