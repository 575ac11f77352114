/* SPDX-License-Identifier: Apache-2.0 */
/* driver - libcuda.so.1: start, devices, contexts, modules, and who has which name. */
#include "tests/fake/driver_internal.h"

EXPORT CUresult cuInit(unsigned flags)
{
	int error = script_error("cuInit", -1);

	(void)flags;
	return error ? error : device_init();
}

EXPORT CUresult cuDriverGetVersion(int *version)
{
	*version = (int)script_number("FAKE_DRIVER", 13040);
	return 0;
}

EXPORT CUresult cuDeviceGetCount(int *count)
{
	return CALL(cuDeviceGetCount, (*count = device_count(), 0));
}

EXPORT CUresult cuDeviceGet(CUdevice *out, int ordinal)
{
	return CALL(cuDeviceGet,
		    device_get(ordinal) ? (*out = ordinal, 0) : cudaErrorInvalidDevice);
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	struct fake_device *d = device_get(device);

	return CALL(cuDeviceGetName, d ? (snprintf(name, (size_t)size, "%s", d->name), 0)
				       : cudaErrorInvalidDevice);
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	struct fake_device *d = device_get(device);

	return CALL(cuDeviceTotalMem_v2,
		    d ? (*bytes = d->memory, 0) : cudaErrorInvalidDevice);
}

EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	memset(uuid, 0x40 + device, sizeof(*uuid));
	return 0;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	return cuDeviceGetUuid(uuid, device);
}

EXPORT CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device)
{
	snprintf(id, (size_t)size, "0000:%02x:00.0", device + 1);
	return 0;
}

/* An H100's, by CUdevice_attribute. */
static const int attributes[][2] = {
	{ 1, 1024 }, /* threads per block */
	{ 2, 1024 },       { 3, 1024 },   { 4, 64 }, /* block */
	{ 5, 0x7fffffff }, { 6, 65535 },  { 7, 65535 }, /* grid */
	{ 8, 49152 }, /* shared memory per block */
	{ 9, 65536 },      { 10, 32 }, /* constant memory, warp */
	{ 12, 65536 }, /* registers per block */
	{ 13, 1980000 }, /* clock, kHz */
	{ 16, 132 }, /* multiprocessors */
	{ 31, 1 }, /* concurrent kernels */
	{ 36, 2619000 },   { 37, 5120 },  { 38, 50 << 20 }, /* memory clock, bus, L2 */
	{ 39, 2048 }, /* threads per multiprocessor */
	{ 40, 3 },         { 41, 1 }, /* copy engines, unified addressing */
	{ 75, 9 },         { 76, 0 }, /* compute capability */
	{ 78, 1 }, /* stream priorities */
	{ 81, 233472 },    { 82, 65536 }, /* shared memory, registers per multiprocessor
					   */
	{ 97, 232448 }, /* shared memory per block, opt-in */
	{ 106, 32 }, /* blocks per multiprocessor */
	{ 111, 1024 }, /* shared memory reserved per block */
	{ 115, 1 }, /* memory pools */
};

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
	int found = 0;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (attributes[i][0] == attribute)
			found = attributes[i][1];
	return CALL(cuDeviceGetAttribute,
		    device_get(device) ? (*value = found, 0) : cudaErrorInvalidDevice);
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
	return CALL(cuDevicePrimaryCtxRetain,
		    (*out = device_primary(device)) ? 0 : cudaErrorInvalidDevice);
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	(void)device;
	return CALL(cuDevicePrimaryCtxRelease_v2, 0);
}

EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	struct fake_device *d = device_get(device);

	*flags = 0;
	*active = d && d->primary;
	return CALL(cuDevicePrimaryCtxGetState, d ? 0 : cudaErrorInvalidDevice);
}

EXPORT CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice device)
{
	(void)flags;
	return CALL(cuCtxCreate_v2,
		    device_get(device)
			    ? (device_make_current(*out = device_create(device)), 0)
			    : cudaErrorInvalidDevice);
}

EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
	return CALL(cuCtxDestroy_v2, time_wait_context(context));
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
	return CALL(cuCtxSetCurrent, (device_make_current(context), 0));
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *out)
{
	return CALL(cuCtxGetCurrent, (*out = device_current(false), 0));
}

EXPORT CUresult cuCtxGetDevice(CUdevice *out)
{
	struct fake_context *c = device_current(false);

	return CALL(cuCtxGetDevice, c ? (*out = c->device, 0) : 201);
}

EXPORT CUresult cuCtxSynchronize(void)
{
	struct fake_context *c = device_current(false);

	return CALL(cuCtxSynchronize, c ? time_wait_context(c) : 201);
}

EXPORT CUresult cuModuleLoadData(struct fake_module **out, const void *image)
{
	(void)image;
	return CALL(cuModuleLoadData, (*out = calloc(1, 8), 0));
}

EXPORT CUresult cuModuleUnload(struct fake_module *module)
{
	(void)module;
	return CALL(cuModuleUnload, 0);
}

EXPORT CUresult cuModuleGetFunction(CUfunction *out, struct fake_module *module,
				    const char *name)
{
	(void)module;
	return CALL(cuModuleGetFunction, (*out = device_kernel(name), 0));
}

EXPORT CUresult cuFuncGetName(const char **name, CUfunction function)
{
	return CALL(cuFuncGetName, function && device_is_kernel(function)
					   ? (*name = function->name, 0)
					   : cudaErrorInvalidValue);
}

EXPORT CUresult cuGetErrorName(CUresult error, const char **text)
{
	*text = error ? "CUDA_ERROR_FAKE" : "CUDA_SUCCESS";
	return 0;
}

EXPORT CUresult cuGetErrorString(CUresult error, const char **text)
{
	*text = error ? "an error of the fake GPU" : "no error";
	return 0;
}

/* Private tables are for the real driver's friends alone. */
EXPORT CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	(void)id;
	*table = NULL;
	return cudaErrorInvalidValue;
}

/* Addresses by assembler names: the prototypes do not matter here. */
#define DRIVER(name) extern char proc_##name __asm__(#name);
#include "tests/fake/driver.def"
#undef DRIVER

static const struct {
	const char *name;
	void *at;
} procs[] = {
#define DRIVER(name) { #name, &proc_##name },
#include "tests/fake/driver.def"
#undef DRIVER
};

static void *proc(const char *name, const char *suffix)
{
	char full[128];

	snprintf(full, sizeof(full), "%s%s", name, suffix);
	for (size_t i = 0; i < sizeof(procs) / sizeof(*procs); i++)
		if (strcmp(procs[i].name, full) == 0)
			return procs[i].at;
	return NULL;
}

/* Base names: "cuMemAlloc" is cuMemAlloc_v2; flag 2: the per-thread stream's form. */
EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **out, int version,
				    uint64_t flags, int *status)
{
	static const char *const thread[] = { "_v2_ptsz", "_ptsz", "_v2_ptds", "_ptds" };

	(void)version;
	*out = NULL;
	for (int i = 0; i < 4 && (flags & 2) && !*out; i++)
		*out = proc(symbol, thread[i]);
	if (!*out)
		*out = proc(symbol, "_v2");
	if (!*out)
		*out = proc(symbol, "");
	if (status)
		*status = *out ? 0 : 1;
	return *out || status ? 0 : 500;
}

EXPORT CUresult cuGetProcAddress(const char *symbol, void **out, int version,
				 uint64_t flags)
{
	return cuGetProcAddress_v2(symbol, out, version, flags, NULL);
}

EXPORT extern const struct fake_gpu fake_gpu_table;
const struct fake_gpu fake_gpu_table = {
	.function = call_function,
	.name = call_name,
	.enter = call_enter,
	.leave = call_leave,
	.error = script_error,
	.text = script_text,
	.number = script_number,
	.generation = script_generation,
	.observe = call_observe,
	.ready = device_ready,
	.dead = device_dead,
	.now = time_now,
	.devices = device_count,
	.device = device_get,
	.attribute = cuDeviceGetAttribute,
	.primary = device_primary,
	.current = device_current,
	.make_current = device_make_current,
	.want_device = device_want,
	.wanted_device = device_wanted,
	.stream = device_stream,
	.stream_create = device_stream_create,
	.each_context = device_each_context,
	.kernel = device_kernel,
	.is_kernel = device_is_kernel,
	.copy = time_copy,
	.set = time_set,
	.host = time_host,
	.wait_stream = time_wait_stream,
	.wait_context = time_wait_context,
	.wait_event = time_wait_event,
	.stream_waits = time_stream_waits,
	.event_create = time_event_create,
	.record = time_record,
	.allocate = memory_allocate,
	.release = memory_release,
	.memory_kind = memory_kind,
	.memory_used = memory_used,
	.capture_begin = graph_capture_begin,
	.capture_end = graph_capture_end,
	.instantiate = graph_instantiate,
};
