/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs: what the driver says of them, for the file. */
#include "agent/cupti/lib/devices.h"
#include "agent/core/names.h"
#include "agent/core/record_gpu.h"
#include "agent/cupti/lib/layout.h"
#include "base/seldom.h"

#include <dlfcn.h>
#include <string.h>

/*
 * What is told of a GPU: CUPTI's DEVICE records, which come when a context is made;
 * else, and for what they lack, the driver's attributes. Asking for those makes no
 * context: the program's GPUs are left as they are.
 */
#define DEVICES  64u
#define NAME_MAX 96u

enum attribute { /* CUdevice_attribute */
		 MAX_THREADS_PER_BLOCK = 1,
		 SHARED_PER_BLOCK = 8,
		 WARP_SIZE = 10,
		 REGISTERS_PER_BLOCK = 12,
		 SM_COUNT = 16,
		 THREADS_PER_SM = 39,
		 MAJOR = 75,
		 MINOR = 76,
		 SHARED_PER_SM = 81,
		 REGISTERS_PER_SM = 82,
		 SHARED_OPTIN = 97,
		 SHARED_RESERVED = 111,
};

static SELDOM struct device {
	bool known;
	char name[NAME_MAX];
	struct rec_device facts;
} devices[DEVICES];
static uint64_t used; /* a bit for each device */
static _Atomic bool mute;

static struct {
	bool looked;
	int (*get)(int *device, int ordinal);
	int (*attribute)(int *value, int attribute, int device);
	int (*name)(char *name, int size, int device);
	int (*memory)(size_t *bytes, int device);
} driver;

static void *driver_library(void)
{
	return dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

static void find_driver(void)
{
	void *library;

	if (driver.looked || !(library = driver_library()))
		return;
	driver.looked = true;
	driver.get = (int (*)(int *, int))dlsym(library, "cuDeviceGet");
	driver.attribute =
		(int (*)(int *, int, int))dlsym(library, "cuDeviceGetAttribute");
	driver.name = (int (*)(char *, int, int))dlsym(library, "cuDeviceGetName");
	driver.memory = (int (*)(size_t *, int))dlsym(library, "cuDeviceTotalMem_v2");
}

uint32_t devices_driver(void)
{
	void *library = driver_library();
	int (*get)(int *version) =
		library ? (int (*)(int *))dlsym(library, "cuDriverGetVersion") : NULL;
	int version = 0;

	return get && !get(&version) && version > 0 ? (uint32_t)version : 0;
}

static uint32_t ask_attribute(int device, enum attribute what)
{
	int value = 0;

	if (!driver.attribute || driver.attribute(&value, (int)what, device) || value < 0)
		return 0;
	return (uint32_t)value;
}

/* 0 is not known: leave what a DEVICE record said. */
static void fill_field(uint32_t *field, int device, enum attribute what)
{
	if (!*field)
		*field = ask_attribute(device, what);
}

void devices_mute(void)
{
	atomic_store(&mute, true);
}

static void complete_device(struct device *d, uint32_t id)
{
	struct rec_device *f = &d->facts;
	size_t bytes = 0;
	int device;

	if (atomic_load(&mute))
		return;
	find_driver();
	if (!driver.get || driver.get(&device, (int)id))
		return;
	fill_field(&f->sms, device, SM_COUNT);
	fill_field(&f->threads_per_block, device, MAX_THREADS_PER_BLOCK);
	fill_field(&f->threads_per_sm, device, THREADS_PER_SM);
	fill_field(&f->warp, device, WARP_SIZE);
	fill_field(&f->registers_per_block, device, REGISTERS_PER_BLOCK);
	fill_field(&f->registers_per_sm, device, REGISTERS_PER_SM);
	fill_field(&f->shared_per_block, device, SHARED_PER_BLOCK);
	fill_field(&f->shared_per_sm, device, SHARED_PER_SM);
	fill_field(&f->shared_optin, device, SHARED_OPTIN);
	fill_field(&f->shared_reserved, device, SHARED_RESERVED);
	if (!f->major) {
		f->major = (uint16_t)ask_attribute(device, MAJOR);
		f->minor = (uint16_t)ask_attribute(device, MINOR);
	}
	if (!f->memory && driver.memory && !driver.memory(&bytes, device))
		f->memory = bytes;
	if (!d->name[0] && driver.name && driver.name(d->name, sizeof(d->name), device))
		d->name[0] = '\0';
	d->name[sizeof(d->name) - 1] = '\0';
}

#define DEVICE(field) ((uint32_t)LAYOUT_GET(p, DEVICE, field))

void devices_seen(const uint8_t *p)
{
	const char *name = (const char *)(uintptr_t)LAYOUT_GET(p, DEVICE, name);
	uint32_t id = DEVICE(id);
	struct rec_device *f;

	if (id >= DEVICES)
		return;
	f = &devices[id].facts;
	f->id = id;
	f->memory = LAYOUT_GET(p, DEVICE, globalMemorySize);
	f->major = (uint16_t)DEVICE(computeCapabilityMajor);
	f->minor = (uint16_t)DEVICE(computeCapabilityMinor);
	f->sms = DEVICE(numMultiprocessors);
	f->warp = DEVICE(numThreadsPerWarp);
	f->threads_per_block = DEVICE(maxThreadsPerBlock);
	f->threads_per_sm = DEVICE(maxWarpsPerMultiprocessor) * f->warp;
	f->registers_per_block = DEVICE(maxRegistersPerBlock);
	f->registers_per_sm = DEVICE(maxRegistersPerMultiprocessor);
	f->shared_per_block = DEVICE(maxSharedMemoryPerBlock);
	f->shared_per_sm = DEVICE(maxSharedMemoryPerMultiprocessor);
	if (name) {
		strncpy(devices[id].name, name, sizeof(devices[id].name) - 1);
		devices[id].name[sizeof(devices[id].name) - 1] = '\0';
	}
	complete_device(&devices[id], id);
	devices[id].known = true;
}

void devices_used(uint32_t device)
{
	if (device < DEVICES)
		used |= 1ull << device;
}

void devices_write(struct side *side, uint64_t begin)
{
	for (uint32_t id = 0; id < DEVICES; id++) {
		struct device *d = &devices[id];
		struct rec_device *r;

		if (!d->known && used >> id & 1) {
			complete_device(d, id);
			d->facts.id = id;
			d->known = true;
		}
		if (!d->known || !(r = side_reserve(side, REC_GPU, sizeof(*r))))
			continue;
		*r = d->facts;
		r->r.name = names_add(d->name, strlen(d->name), NULL, 0);
		r->r.begin = r->r.end = begin;
		side_commit(side, &r->r, REC_GPU, 0, sizeof(*r));
	}
}
