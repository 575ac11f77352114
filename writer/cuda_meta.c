/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cuda_parts.h"

const char *const cuda_count_names[CUDA_COUNTS] = {
	[CUDA_DROPPED] = "dropped by CUPTI",
	[CUDA_DISCARDED] = "discarded for want of a buffer",
	[CUDA_LATE] = "after the file was written",
	[CUDA_ZERO] = "without a time",
	[CUDA_REVERSED] = "end before begin",
	[CUDA_UNMATCHED] = "GPU work without its call",
	[CUDA_OLDER] = "GPU work from before the window",
	[CUDA_MISSING] = "calls without their GPU work",
	[CUDA_OUTSIDE] = "far outside of the window",
	[CUDA_UNDECODED] = "buffers not read to their end",
	[CUDA_AMBIGUOUS] = "calls at an operator's edge",
	[CUDA_EARLY] = "GPU work before its call",
	[CUDA_GAPS] = "gaps",
	[CUDA_GAP_NS] = "gap ns",
};

/* Calls and work that lack each other are counted here, where all is seen, as far as
 * there is anything to be seen; the rest is said by one of us only. */
void cuda_counts(const struct trace *t, uint64_t counts[CUDA_COUNTS])
{
	struct cycle_info *info = (struct cycle_info *)t->info;

	for (unsigned i = 0; i < CUDA_COUNTS; i++) {
		uint64_t ours = t->cuda ? t->cuda->known[i] : 0;
		bool alone = t->cuda && (i == CUDA_UNMATCHED || i == CUDA_MISSING);

		counts[i] = ours + (alone ? 0 : atomic_load(&info->cuda[i]));
	}
}

static void put_member(struct json *j, const char *key, uint64_t n)
{
	json_raw(j, key, strlen(key));
	json_unsigned(j, n);
}

void cuda_facts(struct trace *t)
{
	const struct cuda *c = t->cuda;
	struct json *j = &t->json;
	uint64_t counts[CUDA_COUNTS];

	cuda_counts(t, counts);
	json_lit(j, ",\n\"cuda\": {\"clock error ns\": ");
	if (c->clock.moments.n)
		json_unsigned(
			j, (uint64_t)((double)c->clock.error * c->clock.per_tick + 0.5));
	else
		json_lit(j, "null");
	put_member(j, ", \"clock moments\": ", c->clock.all);
	put_member(j, ", \"calls\": ", c->calls.n);
	put_member(j, ", \"GPU work\": ", c->gpu);
	put_member(j, ", \"matched\": ", c->matched);
	for (unsigned i = 0; i < CUDA_COUNTS; i++) {
		if (!counts[i])
			continue;
		json_lit(j, ", ");
		json_string(j, cuda_count_names[i], strlen(cuda_count_names[i]));
		put_member(j, ": ", counts[i]);
	}
	json_lit(j, "}");
}

/* ---- devices and versions ---- */

static uint32_t devices(const struct trace *t)
{
	const struct cuda *c = t->cuda;
	uint32_t n = c->devices > t->cycle.gpus ? c->devices : t->cycle.gpus;

	for (size_t first = 0; first < c->work.n; first = cuda_row_end(c, first)) {
		uint64_t row = cuda_work_at(c, first)->row;
		uint32_t device = (uint32_t)(row >> 40 & 0xff);

		if ((row >> 32 & 0xff) != ROW_OVERHEAD && device >= n)
			n = device + 1;
	}
	return n < CUDA_DEVICES ? n : CUDA_DEVICES;
}

/* Readers go by the place in the list: a device that nobody described has one, too. */
static void put_device(struct trace *t, uint32_t id)
{
	const struct rec_device *d = t->cuda->device[id];
	struct json *j = &t->json;
	size_t len;
	const char *name;

	put_member(j, "{\"id\": ", id);
	if (!d) {
		json_lit(j, ", \"name\": \"unknown\"}");
		return;
	}
	name = demangle_json(t->cuda->demangle, t->view, d->r.name, &len);
	json_lit(j, ", \"name\": \"");
	json_raw(j, name, len);
	put_member(j, "\", \"totalGlobalMem\": ", d->memory);
	put_member(j, ", \"computeMajor\": ", d->major);
	put_member(j, ", \"computeMinor\": ", d->minor);
	put_member(j, ", \"maxThreadsPerBlock\": ", d->threads_per_block);
	put_member(j, ", \"maxThreadsPerMultiprocessor\": ", d->threads_per_sm);
	put_member(j, ", \"regsPerBlock\": ", d->registers_per_block);
	put_member(j, ", \"warpSize\": ", d->warp);
	put_member(j, ", \"sharedMemPerBlock\": ", d->shared_per_block);
	put_member(j, ", \"numSms\": ", d->sms);
	put_member(j, ", \"regsPerMultiprocessor\": ", d->registers_per_sm);
	put_member(j, ", \"sharedMemPerBlockOptin\": ", d->shared_optin);
	put_member(j, ", \"sharedMemPerMultiprocessor\": ", d->shared_per_sm);
	json_lit(j, "}");
}

void cuda_properties(struct trace *t)
{
	uint32_t n = t->cuda->devices ? devices(t) : 0;

	for (uint32_t i = 0; i < n; i++) {
		if (i)
			json_lit(&t->json, ",\n");
		put_device(t, i);
	}
}

/* The number behind a key in a fact's JSON text; 0 = none. */
static uint64_t number_of(const char *text, size_t len, const char *key)
{
	const char *end = text + len, *at = text;
	size_t n = strlen(key);
	uint64_t number = 0;

	for (; at + n < end; at++)
		if (!memcmp(at, key, n))
			break;
	if (at + n >= end)
		return 0;
	for (at += n; at < end && *at == ' '; at++)
		;
	for (; at < end && *at >= '0' && *at <= '9' && number < 1000000000; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	return number;
}

void cuda_versions(struct trace *t)
{
	static const struct {
		const char *fact, *key;
		uint64_t least; /* what is less is not the whole number */
	} versions[] = { { "\"cupti\":", "\"cupti_version\": ", 1 },
			 { "\"runtime\":", "\"cuda_runtime_version\": ", 1000 },
			 { "\"driver\":", "\"cuda_driver_version\": ", 1000 } };
	size_t len = 0;
	const char *fact = facts_get(t->view->head, "cuda", &len);

	for (size_t i = 0; fact && i < sizeof(versions) / sizeof(*versions); i++) {
		uint64_t n = number_of(fact, len, versions[i].fact);

		if (n < versions[i].least)
			continue;
		put_member(&t->json, versions[i].key, n);
		json_lit(&t->json, ",\n");
	}
}
