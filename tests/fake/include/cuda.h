/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda - the few types that CUPTI's own headers ask of CUDA's: enough to compile
 * cupti_activity.h of any version without a CUDA toolkit.
 *
 * Threads, Memory, Errors, Units   none: types.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_VERSION 13000
#define CUDAAPI

typedef int CUdevice;
typedef int CUresult;
typedef int CUdevice_attribute;
typedef int CUfunc_cache;
typedef int CUsharedconfig;
typedef int CUclusterSchedulingPolicy;
typedef int CUdevWorkqueueConfigScope;
typedef int CUgraphNodeType;
typedef int CUstreamAttrID;
typedef int cudaError_t;
typedef struct fake_context *CUcontext;
typedef struct fake_stream *CUstream;
typedef struct fake_event *CUevent;
typedef struct fake_graph *CUgraph;
typedef struct fake_exec *CUgraphExec;
typedef struct fake_node *CUgraphNode;
typedef struct fake_module *CUmodule;
typedef struct fake_function *CUfunction;
typedef union {
	char bytes[64];
} CUstreamAttrValue;
typedef struct {
	char bytes[16];
} CUuuid;
typedef struct {
	void *base_ptr;
	size_t num_bytes;
	float hitRatio;
	int hitProp, missProp;
} CUaccessPolicyWindow;

#endif
