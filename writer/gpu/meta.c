/* SPDX-License-Identifier: Apache-2.0 */
/* The file's members about GPUs: devices, versions, counts of what is missing. */
#include "writer/gpu/cuda.h"
#include "writer/symbols/demangle.h"

static const char *const count_names[CUDA_COUNTS] = {
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
	[CUDA_UNFETCHED] = "ended before CUPTI gave everything back",
	[CUDA_CROWDED] = "too many windows waited for CUPTI",
	[CUDA_UNNAMED] = "without a name",
};

/* The writer counts calls without work and work without calls, as it sees all of them;
 * only without GPU records the agent's counts hold. Each other count is the sum of the
 * agent's and the writer's: neither counts what the other has counted. */
void gpu_counts(const struct trace *t, uint64_t counts[CUDA_COUNTS])
{
	struct cycle_info *info = (struct cycle_info *)t->info;

	for (unsigned i = 0; i < CUDA_COUNTS; i++) {
		uint64_t ours = t->cuda ? t->cuda->known[i] : 0;
		bool alone = t->cuda && (i == CUDA_UNMATCHED || i == CUDA_MISSING);

		counts[i] = ours + (alone ? 0 : atomic_load(&info->cuda[i]));
	}
}

/* "cuda" in "proflaunch": how well clocks and calls were joined, and what was lost, by
 * cause. The clock's error is null where no moment was good. */
void gpu_facts(struct trace *t)
{
	const struct cuda *c = t->cuda;
	struct json *j = &t->json;
	uint64_t counts[CUDA_COUNTS];

	gpu_counts(t, counts);
	json_lit(j, ",\n\"cuda\": {\"clock error ns\": ");
	if (c->clock.moments.n)
		json_unsigned(
			j, (uint64_t)((double)c->clock.error * c->clock.per_tick + 0.5));
	else
		json_lit(j, "null");
	json_text_unsigned(j, ", \"clock moments\": ", c->clock.all);
	json_text_unsigned(j, ", \"calls\": ", c->calls.n);
	json_text_unsigned(j, ", \"GPU work\": ", c->gpu);
	json_text_unsigned(j, ", \"matched\": ", c->matched);
	for (unsigned i = 0; i < CUDA_COUNTS; i++) {
		if (!counts[i])
			continue;
		json_lit(j, ", ");
		json_string(j, count_names[i], strlen(count_names[i]));
		json_text_unsigned(j, ": ", counts[i]);
	}
	json_lit(j, "}");
}

/* ---- devices and versions ---- */

/* One more than the highest device id that CUPTI, tensor memory or work names, at most
 * CUDA_DEVICES. */
static uint32_t count_devices(const struct trace *t)
{
	const struct cuda *c = t->cuda;
	uint32_t n = c->devices > t->cycle.gpus ? c->devices : t->cycle.gpus;

	for (size_t first = 0; first < c->work.n; first = gpu_row_end(c, first)) {
		uint64_t row = cuda_work_at(c, first)->row;

		if (cuda_row_kind(row) != ROW_OVERHEAD && cuda_row_device(row) >= n)
			n = cuda_row_device(row) + 1;
	}
	return n < CUDA_DEVICES ? n : CUDA_DEVICES;
}

/* Readers find a device by its place in the list: so a device that CUPTI did not describe
 * has an entry, too. */
static void put_device(struct trace *t, uint32_t id)
{
	const struct rec_device *d = t->cuda->device[id];
	struct json *j = &t->json;
	size_t len;
	const char *name;

	json_text_unsigned(j, "{\"id\": ", id);
	if (!d) {
		json_lit(j, ", \"name\": \"unknown\"}");
		return;
	}
	name = demangle_json(t->cuda->demangle, t->view, d->r.name, &len);
	json_lit(j, ", \"name\": \"");
	json_raw(j, name, len);
	json_text_unsigned(j, "\", \"totalGlobalMem\": ", d->memory);
	json_text_unsigned(j, ", \"computeMajor\": ", d->major);
	json_text_unsigned(j, ", \"computeMinor\": ", d->minor);
	json_text_unsigned(j, ", \"maxThreadsPerBlock\": ", d->threads_per_block);
	json_text_unsigned(j, ", \"maxThreadsPerMultiprocessor\": ", d->threads_per_sm);
	json_text_unsigned(j, ", \"regsPerBlock\": ", d->registers_per_block);
	json_text_unsigned(j, ", \"warpSize\": ", d->warp);
	json_text_unsigned(j, ", \"sharedMemPerBlock\": ", d->shared_per_block);
	json_text_unsigned(j, ", \"numSms\": ", d->sms);
	json_text_unsigned(j, ", \"regsPerMultiprocessor\": ", d->registers_per_sm);
	json_text_unsigned(j, ", \"sharedMemPerBlockOptin\": ", d->shared_optin);
	json_text_unsigned(j, ", \"sharedMemPerMultiprocessor\": ", d->shared_per_sm);
	json_lit(j, "}");
}

void gpu_properties(struct trace *t)
{
	uint32_t n = t->cuda->devices ? count_devices(t) : 0;

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

/* Versions in Kineto's keys: major x 1000 + minor x 10 for runtime and driver, the API
 * number for CUPTI. */
void gpu_versions(struct trace *t)
{
	static const struct {
		const char *fact, *key;
		uint64_t least; /* a smaller number is a damaged one */
	} versions[] = { { "\"cupti\":", "\"cupti_version\": ", 1 },
			 { "\"runtime\":", "\"cuda_runtime_version\": ", 1000 },
			 { "\"driver\":", "\"cuda_driver_version\": ", 1000 } };
	size_t len = 0;
	const char *fact = facts_get(t->view->head, "cuda", &len);

	for (size_t i = 0; fact && i < sizeof(versions) / sizeof(*versions); i++) {
		uint64_t n = number_of(fact, len, versions[i].fact);

		if (n < versions[i].least)
			continue;
		json_text_unsigned(&t->json, versions[i].key, n);
		json_lit(&t->json, ",\n");
	}
}
