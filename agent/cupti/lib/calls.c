/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's calls by CUPTI's numbers: their names, and which of them launch. */
#include "agent/cupti/lib/calls.h"
#include "agent/cupti/lib/api.h"
#include "base/arena.h"

#include <string.h>

/*
 * Which calls are recorded is decided by name, so that calls of coming releases are
 * judged like their kin. Runtime calls are recorded but for those that only ask, which
 * come by the dozen for each launch. Of driver calls, what launches and what maps memory.
 */
#define GAP_MOST 100 /* unnamed ids in a row: there are no more */

static struct call *table[2]; /* driver, runtime */

static const char *const questions[] = {
	"Get",
	"Peek",
	"IsCapturing",
	"Occupancy",
	"CanAccess",
	"EventCreate",
	"EventDestroy",
	"SetDevice",
	"Version",
	"SetLastError",
	"cudaCtxReset",
	"ChooseDevice",
	"CreateChannel",
	"__cudaPush",
	"__cudaPop",
	"__cudaRegister",
	"__cudaUnregister",
	"__cudaInit",
};

/* The driver tells CUPTI of these calls, and CUPTI gives GPU work for them. */
static const char *const runtime_works[] = {
	"cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchCooperativeKernel",
	"cudaLaunch_",      "cudaGraphLaunch",    "cudaMemcpy",
	"cudaMemset",
};
static const char *const driver_works[] = {
	"cuLaunchKernel", "cuLaunchCooperativeKernel",
	"cuLaunchGrid",   "cuGraphLaunch",
	"cuMemcpy",       "cuMemset",
};
static const char *const driver_maps[] = {
	"cuMemCreate", "cuMemRelease", "cuMemMap",
	"cuMemUnmap",  "cuMemExport",  "cuMemImport",
};

static bool begins_with(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, list[i], strlen(list[i])))
			return true;
	return false;
}
#define BEGINS(name, list) begins_with(name, list, sizeof(list) / sizeof(*(list)))

static bool only_asks(const char *name)
{
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++)
		if (strstr(name, questions[i]))
			return true;
	return false;
}

/* "cudaMemcpyWithAttributesAsync" copies; what asks for attributes does not. */
static bool about_attributes(const char *name)
{
	return strstr(name, "Attribute") && !strstr(name, "WithAttributes");
}

static uint8_t traits_of(int domain, const char *name, bool all_driver_calls)
{
	uint8_t traits = CALL_KNOWN;

	if (domain == DOMAIN_RUNTIME) {
		if (BEGINS(name, runtime_works) && !about_attributes(name))
			traits |= CALL_WORKS | CALL_OURS;
		else if (!only_asks(name))
			traits |= CALL_OURS;
	} else {
		if (BEGINS(name, driver_works) && !about_attributes(name))
			traits |= CALL_WORKS | CALL_OURS;
		else if (all_driver_calls || BEGINS(name, driver_maps))
			traits |= CALL_OURS;
	}
	if (strstr(name, "StreamBeginCapture"))
		traits |= CALL_CAPTURES;
	if (strstr(name, "StreamEndCapture"))
		traits |= CALL_CAPTURED;
	return traits;
}

/* "cudaLaunchKernel_v7000" is written as cudaLaunchKernel; "cuMemcpy_v2" as it is. */
static uint16_t bare_length(const char *name)
{
	size_t length = strlen(name), at = length;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (length - at >= 4 && at > 2 && name[at - 1] == 'v' && name[at - 2] == '_')
		length = at - 2;
	return (uint16_t)length;
}

static unsigned fill_table(int domain, bool all_driver_calls)
{
	struct call *calls = table[domain - 1];
	unsigned gap = 0, named = 0;

	memset(calls, 0, CALLS_MOST * sizeof(*calls));
	for (uint32_t cbid = 1; cbid < CALLS_MOST && gap < GAP_MOST; cbid++) {
		const char *name = NULL;

		gap++;
		if (cupti.GetCallbackName(domain, cbid, &name) || !name || !*name)
			continue;
		gap = 0;
		named++;
		calls[cbid].name = name;
		calls[cbid].length = bare_length(name);
		calls[cbid].traits = traits_of(domain, name, all_driver_calls);
	}
	return named;
}

const char *calls_start(bool all_driver_calls)
{
	unsigned named = 0;

	for (int domain = DOMAIN_DRIVER; domain <= DOMAIN_RUNTIME; domain++) {
		struct call **calls = &table[domain - 1];

		if (!*calls && !(*calls = arena_alloc(CALLS_MOST * sizeof(**calls))))
			return "there is no memory for it";
		named += fill_table(domain, all_driver_calls);
	}
	/* Without a call there is no window that a kernel could belong to. */
	return named ? NULL
		     : "cuptiGetCallbackName names no CUDA call: please report this";
}

struct call *calls_get(int domain, uint32_t cbid)
{
	struct call *calls = domain == DOMAIN_DRIVER || domain == DOMAIN_RUNTIME
				     ? table[domain - 1]
				     : NULL;

	return calls && cbid < CALLS_MOST && calls[cbid].traits ? &calls[cbid] : NULL;
}

void calls_forget_names(void)
{
	for (int domain = 0; domain < 2; domain++)
		for (uint32_t cbid = 0; table[domain] && cbid < CALLS_MOST; cbid++)
			table[domain][cbid].id = 0;
}

/* ---- sets ---- */

bool calls_has(const struct calls_set *s, uint32_t cbid)
{
	return cbid < CALLS_MOST && atomic_load(&s->bits[cbid / 64]) >> cbid % 64 & 1;
}

void calls_put(struct calls_set *s, uint32_t cbid, bool on)
{
	if (cbid >= CALLS_MOST)
		return;
	if (on)
		atomic_fetch_or(&s->bits[cbid / 64], 1ull << cbid % 64);
	else
		atomic_fetch_and(&s->bits[cbid / 64], ~(1ull << cbid % 64));
}

void calls_put_all(struct calls_set *s, bool on)
{
	for (unsigned i = 0; i < CALLS_WORDS; i++)
		atomic_store(&s->bits[i], on ? ~0ull : 0);
}
