/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts that begin and end: CUPTI calls back, and what it holds is fetched in time. */
#include "agent/cupti/flow/contexts.h"
#include "agent/core/rare.h"
#include "agent/cupti/flow/buffers.h"
#include "agent/cupti/flow/consumer.h"
#include "agent/cupti/lib/calls.h"
#include "agent/cupti/lib/session.h"

#include <string.h>

#define FLUSH_WAIT 100000000ll /* ns that the end of a context waits for us */

static void (*tell_created)(void);
static bool unwatched; /* the creation of contexts is not told */

void contexts_start(void (*created)(void))
{
	tell_created = created;
}

/* A call that ends a context takes along what CUPTI still holds of it. */
static bool ends_context(int domain, uint32_t cbid)
{
	static const char *const enders[] = { "cudaDeviceReset",
					      "cuDevicePrimaryCtxReset",
					      "cuDevicePrimaryCtxRelease",
					      "cuCtxDestroy" };
	struct call *c = calls_get(domain, cbid);

	for (unsigned i = 0; c && i < sizeof(enders) / sizeof(*enders); i++)
		if (!strncmp(c->name, enders[i], strlen(enders[i])))
			return true;
	return false;
}

/* The program's thread waits for the flush, so the time counts as rare. */
static void fetch_of_context(void)
{
	struct rare cost;

	rare_begin(&cost);
	consumer_flush(FLUSH_WAIT);
	rare_end(&cost);
}

void contexts_callback(int domain, uint32_t cbid, const void *data)
{
	if (domain == DOMAIN_RESOURCE && cbid == RESOURCE_CONTEXT_CREATED)
		tell_created();
	else if (ends_context(domain, cbid) && *(const int *)data == 0) /* at entry */
		fetch_of_context();
}

void contexts_watch(void)
{
	unwatched = cupti.EnableCallback(1, session.subscriber, DOMAIN_RESOURCE,
					 RESOURCE_CONTEXT_CREATED);
	for (int domain = DOMAIN_DRIVER; domain <= DOMAIN_RUNTIME; domain++)
		for (uint32_t cbid = 0; cbid < CALLS_MOST; cbid++)
			if (ends_context(domain, cbid))
				cupti.EnableCallback(1, session.subscriber, domain, cbid);
}

/* Where CUPTI does not tell of contexts, the first buffers do: something is launched. */
void contexts_request(uint8_t **buffer, size_t *size, size_t *most)
{
	if (unwatched)
		tell_created();
	buffers_requested(buffer, size, most);
}
