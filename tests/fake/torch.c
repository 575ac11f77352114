/* SPDX-License-Identifier: Apache-2.0 */
/* What agent/torch looks for in libtorch_cpu: it counts who calls it (torch.h). */
#include "tests/fake/torch.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT struct fake_torch fake_torch;

EXPORT uint64_t
_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE(struct torch_callback cb)
{
	fake_torch.callback[fake_torch.added % 4] = cb;
	return ++fake_torch.added;
}

EXPORT void _ZN2at16reenableCallbackEm(uint64_t handle)
{
	fake_torch.enabled[handle % 4]++;
}

#ifndef FAKE_TORCH_HALF
EXPORT void _ZN2at15disableCallbackEm(uint64_t handle)
{
	fake_torch.disabled[handle % 4]++;
}
#endif

EXPORT const char *_ZNK2at14RecordFunction4nameEv(const void *rf)
{
	(void)rf;
	return "fake";
}

EXPORT uint64_t _ZN2at14RecordFunction15currentThreadIdEv(void)
{
	return 3;
}

EXPORT void _ZN2at14RecordFunctionC1ENS_11RecordScopeE(void *rf, int scope)
{
	(void)rf;
	(void)scope;
	fake_torch.constructed++;
}

EXPORT void _ZN2at14RecordFunctionD1Ev(void *rf)
{
	(void)rf;
	fake_torch.destroyed++;
}

#ifndef FAKE_TORCH_OLD
EXPORT void _ZN5torch8profiler4impl10inputTypesB5cxx11ERKN2at14RecordFunctionE(void)
{
}
#endif

/* ---- objects: offset to top, type info, functions ---- */

EXPORT const void *_ZTVN3c1010TensorImplE[4];
EXPORT const void *_ZTVN3c108BoolTypeE[4];

/* What is known of the type of a value: at tag 9 the one that Bool has. */
EXPORT void *_ZN3c106IValue7TagTypeINS_4TypeEE3getERKS0_(const void **result,
							 const struct abi_value *v)
{
	static const void *type[1] = { _ZTVN3c108BoolTypeE + 2 };

	if (fake_torch.bool_tag && v->tag == fake_torch.bool_tag)
		result[0] = type;
	return result;
}

/* ---- memory ---- */

EXPORT void _ZdlPv(void *p)
{
	(void)p;
	fake_torch.deleted++;
}

EXPORT bool _ZN3c1022memoryProfilingEnabledEv(void)
{
	return fake_torch.profiling;
}

EXPORT void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *p, int64_t bytes,
								  uint64_t allocated,
								  uint64_t reserved,
								  uint16_t device)
{
	(void)p;
	(void)bytes;
	(void)allocated;
	(void)reserved;
	(void)device;
	fake_torch.reports++;
}

EXPORT void _ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE(int64_t bytes,
								uint64_t allocated,
								uint64_t reserved,
								uint16_t device)
{
	(void)bytes;
	(void)allocated;
	(void)reserved;
	(void)device;
	fake_torch.exhausted++;
}
