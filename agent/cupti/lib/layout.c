/* SPDX-License-Identifier: Apache-2.0 */
/* The length of each kind of record: asked of the library itself, and where that does
 * not answer, read from the table of releases. */
#include "agent/cupti/lib/layout.h"
#include "agent/cupti/lib/api.h"
#include "base/seldom.h"

#define SCRATCH 8192u /* holds two records of any kind */

uint16_t layout_stride[KIND_MOST];

static const struct {
	uint32_t release, version;
} releases[] = {
#define RELEASE(number, cupti_version) { number, cupti_version },
#define STRIDES(kind, KIND, ...)
#define FIELD(KIND, name, offset, bytes)
#include "agent/cupti/lib/layouts.def"
#undef RELEASE
#undef STRIDES
};
#define RELEASES (sizeof(releases) / sizeof(*releases))

static const struct {
	uint8_t kind;
	uint16_t stride[RELEASES];
} strides[] = {
#define RELEASE(number, cupti_version)
#define STRIDES(number, KIND, ...) { number, { __VA_ARGS__ } },
#include "agent/cupti/lib/layouts.def"
#undef RELEASE
#undef STRIDES
#undef FIELD
};

/*
 * The version number alone does not name a release (11.8 and 12.1 both say 18): the
 * oldest that it can be, with this major, promises nothing that is not there. One that
 * is newer than the table is read as the newest in it.
 */
static unsigned release_of(uint32_t version, int major)
{
	unsigned best = 0;

	for (unsigned i = 0; i < RELEASES; i++) {
		if (major && (int)(releases[i].release / 100) > major)
			break;
		if (releases[i].version > version)
			break;
		if (releases[i].version > releases[best].version ||
		    (major && (int)(releases[best].release / 100) < major))
			best = i;
	}
	return best;
}

/* The library steps over records by their kind alone: so it tells each kind's size.
 * It needs neither a driver nor a buffer of its own for that. */
static uint16_t ask_stride(uint8_t *scratch, uint32_t kind)
{
	void *first = NULL, *second;
	size_t stride;

	for (unsigned at = 0; at < SCRATCH; at += 8)
		memcpy(scratch + at, &(uint64_t){ kind }, 8);
	if (cupti.ActivityGetNextRecord(scratch, SCRATCH, &first) || !first)
		return 0;
	second = first;
	if (cupti.ActivityGetNextRecord(scratch, SCRATCH, &second) || !second)
		return 0;
	stride = (size_t)((uint8_t *)second - (uint8_t *)first);
	return stride >= 8 && stride <= SCRATCH / 2 && stride % 8 == 0 ? (uint16_t)stride
								       : 0;
}

static bool probe_strides(void)
{
	static SELDOM uint8_t scratch[SCRATCH] __attribute__((aligned(64)));

	for (uint32_t kind = 1; kind < KIND_MOST; kind++)
		layout_stride[kind] = ask_stride(scratch, kind);
	/* Kinds that have one size in every release show whether the answers are
	 * sound. */
	return layout_stride[KIND_RUNTIME] == 40 && layout_stride[KIND_DRIVER] == 40 &&
	       layout_stride[KIND_CONCURRENT_KERNEL] >= 176;
}

bool layout_start(uint32_t version, int major)
{
	unsigned row = release_of(version, major);

	if (cupti.ActivityGetNextRecord && probe_strides())
		return true;
	memset(layout_stride, 0, sizeof(layout_stride));
	for (unsigned i = 0; i < sizeof(strides) / sizeof(*strides); i++)
		layout_stride[strides[i].kind] = strides[i].stride[row];
	return false;
}
