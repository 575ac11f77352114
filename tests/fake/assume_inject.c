/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver loads for assumption 26: looks about when it is called. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

struct assume_injected {
	int times, inside, context, subscribed;
};
struct assume_injected assume_injected;

static void ignore(void *arg, int domain, unsigned cbid, const void *data)
{
	(void)arg, (void)domain, (void)cbid, (void)data;
}

int InitializeInjection(void);
int InitializeInjection(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *context = NULL;
	void *cupti = dlopen(getenv("CUPTI"), RTLD_NOW), *subscriber;
	const int *inside = dlsym(RTLD_DEFAULT, "assume_inside");
	int (*subscribe)(void **, void *, void *) = NULL;
	int (*current)(void **) = NULL;

	*(void **)&subscribe = cupti ? dlsym(cupti, "cuptiSubscribe") : NULL;
	*(void **)&current = driver ? dlsym(driver, "cuCtxGetCurrent") : NULL;
	assume_injected.times++;
	assume_injected.inside = inside && *inside;
	if (current)
		current(&context);
	assume_injected.context = context != NULL;
	assume_injected.subscribed =
		subscribe ? subscribe(&subscriber, (void *)ignore, NULL) : -1;
	return 1;
}
