/* SPDX-License-Identifier: Apache-2.0 */
/* cupti_fill - records to order: every field distinct, raw bytes, many threads. */
#include "tests/fake/cupti_internal.h"

/* Texts are CUPTI's and stay; but a device's name is the client's to free. */
static char *keep(const char *text, uint32_t kind)
{
	static struct kept {
		struct kept *next;
		char text[];
	} * all;
	struct kept *k;

	if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
		return strdup(text);
	k = malloc(sizeof(*k) + strlen(text) + 1);
	strcpy(k->text, text);
	k->next = __atomic_exchange_n(&all, k, __ATOMIC_ACQ_REL);
	return k->text;
}

static void fill_field(uint8_t *record, const struct fake_field *f, uint32_t seed)
{
	uint64_t value = fake_value(f->kind, f->field, seed);
	uint8_t *at = record + f->offset;
	char text[160];

	if (strcmp(f->field, "kind") == 0) {
		memcpy(at, &f->kind, sizeof(f->kind));
	} else if (f->type == 'p') {
		char *copy;

		fake_text(text, sizeof(text), f->kind, f->field, seed);
		copy = keep(text, f->kind);
		memcpy(at, &copy, sizeof(copy));
	} else {
		for (uint32_t i = 0; i < f->width; i++)
			at[i] = ((uint8_t *)&value)[i % 8];
	}
}

EXPORT size_t fake_record(void *at, uint32_t kind, uint32_t seed)
{
	size_t n;
	const struct fake_field *f = fake_fields(&n);

	for (size_t i = 0; i < n; i++)
		if (f[i].kind == kind)
			fill_field(at, &f[i], seed);
	return name_stride(kind);
}

EXPORT int fake_fill(uint32_t kind, uint32_t seed)
{
	size_t size = name_stride(kind);
	void *at = size ? record_begin(size) : NULL;

	if (!at)
		return size ? CUPTI_ERROR_MAX_LIMIT_REACHED : CUPTI_ERROR_INVALID_KIND;
	fake_record(at, kind, seed);
	record_end(cupti_raw());
	return 0;
}

EXPORT int fake_raw(const void *bytes, size_t size)
{
	void *at = record_begin(size);

	if (!at)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	memcpy(at, bytes, size);
	record_end(cupti_raw());
	return 0;
}

struct storm {
	pthread_barrier_t start;
	unsigned each, number;
};

static void *rain(void *arg)
{
	struct storm *s = arg;
	unsigned seed = __atomic_add_fetch(&s->number, 1000, __ATOMIC_RELAXED);

	pthread_barrier_wait(&s->start);
	for (unsigned i = 0; i < s->each; i++)
		fake_fill(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, seed + i);
	return NULL;
}

EXPORT void fake_storm(unsigned threads, unsigned each)
{
	pthread_t *thread = calloc(threads, sizeof(*thread));
	struct storm s = { .each = each };
	bool one = cupti.per_thread;

	cupti.per_thread = true; /* each thread asks for a buffer, whatever was chosen */
	pthread_barrier_init(&s.start, NULL, threads);
	for (unsigned i = 0; i < threads; i++)
		if (pthread_create(&thread[i], NULL, rain, &s) != 0)
			abort();
	for (unsigned i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	cupti.per_thread = one;
	free(thread);
}

EXPORT void fake_cupti(struct fake_cupti *out)
{
	pthread_mutex_lock(&cupti.mutex);
	*out = cupti.counts;
	out->kinds = cupti.kinds;
	out->runtime_calls = cupti.n_runtime;
	out->driver_calls = cupti.n_driver;
	out->subscribers = cupti.subscribed;
	pthread_mutex_unlock(&cupti.mutex);
}
