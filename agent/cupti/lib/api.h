/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api - CUPTI's functions and numbers, found at run time: no CUDA header needed.
 *
 * Threads  api_resolve: one at a time, before anybody calls; then read-only.
 * Memory   static.
 * Errors   the name of a required function that is not there; NULL = all there.
 *          Functions that a version lacks stay NULL: ask before you call.
 * Units    CUPTI's own: ns since the epoch, bytes.
 */
#ifndef CUPTI_LIB_API_H
#define CUPTI_LIB_API_H

#include "agent/cupti/lib/layout.h"

#include <stddef.h>

typedef void (*cupti_callback)(void *arg, int domain, uint32_t cbid, const void *data);
typedef void (*cupti_requested)(uint8_t **buffer, size_t *size, size_t *most);
typedef void (*cupti_completed)(void *context, uint32_t stream, uint8_t *buffer,
				size_t size, size_t valid);

struct cupti_subscriber { /* CUpti_SubscriberParams as of 13.0 */
	size_t size;
	const char *name;
	char *owner; /* CUPTI writes here, with error 39, who has subscribed already */
	size_t owner_size;
};

struct cupti_api {
#define API(name, required, params) int(*name) params;
#include "agent/cupti/lib/api.def"
#undef API
};
extern struct cupti_api cupti; /* all NULL until api_resolve */

const char *api_resolve(void *handle);
/* Are we inside api_resolve? Our own dlsym hook sees these questions, too. */
int api_asking(void);

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_NO_MEMORY = 8,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_VGPU = 33,
	CUPTI_NO_PRIVILEGE = 35,
	CUPTI_TWO_SUBSCRIBERS = 39,
	CUPTI_VGPU_NOT_ALLOWED = 40,
	CUPTI_CONFIDENTIAL = 41,
	CUPTI_CMP = 42,
	CUPTI_MIG = 43,
	CUPTI_SLI = 44,
	CUPTI_WSL = 45,
	CUPTI_UNKNOWN = 999,
};

enum cupti_domain { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME = 2, DOMAIN_RESOURCE = 3 };
enum cupti_resource { RESOURCE_CONTEXT_CREATED = 1 };
enum cupti_attribute {
	ATTRIBUTE_DEVICE_BUFFER_SIZE = 0,
	ATTRIBUTE_DEVICE_BUFFER_POOL_LIMIT = 2,
	ATTRIBUTE_ZEROED_OUT = 5,
	ATTRIBUTE_PER_THREAD = 9,
};

/* Are records of this kind calls, of the driver or the runtime? */
static inline bool api_is_call(uint32_t kind)
{
	return kind == KIND_DRIVER || kind == KIND_RUNTIME;
}

#endif
