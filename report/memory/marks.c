/* SPDX-License-Identifier: Apache-2.0 */
/* Counters turned into one level for each step. */
#include "report/memory/marks.h"
#include "base/search.h"

#define COUNTER_NS 20000000

/* The first of the view's steps that ends at or after a moment. */
static size_t step_until(const struct memory_view *v, int64_t ts)
{
	return SEARCH_FIRST(i, 0, v->steps_n, v->ends[i] >= ts);
}

bool marks_are_close(const struct memory_view *v, size_t from)
{
	size_t n = v->steps_n - from;

	return n &&
	       v->ends[v->steps_n - 1] - v->begins[from] >= (int64_t)n * COUNTER_NS / 2;
}

/* Bounds a value, so that the difference of two does not overflow, whatever a file
 * says. */
static int64_t bound_value(int64_t n)
{
	int64_t most = INT64_C(1) << 48;

	return n > most ? most : n < -most ? -most : n;
}

/* A step without a value gets the last value of the step before; steps before the first
 * value get `before` or, without that, that first value. */
static void fill_gaps(int64_t *level, const int64_t *last, size_t n, int64_t before)
{
	for (size_t i = 0; i < n && before == INT64_MAX; i++)
		before = level[i];
	for (size_t i = 0; i < n; i++) {
		if (level[i] == INT64_MAX)
			level[i] = before;
		else
			before = last[i];
	}
}

bool marks_of_counter(const struct memory_view *v, const char *name, const char *key,
		      size_t from, int64_t *level)
{
	const struct model *m = v->model;
	uint32_t names = texts_find(&m->texts, name), keys = texts_find(&m->texts, key);
	int64_t before = INT64_MAX, before_ts = INT64_MIN;
	static int64_t last[MEMORY_STEPS];
	bool any = false;

	for (size_t i = from; i < v->steps_n; i++)
		level[i - from] = INT64_MAX;
	for (size_t k = 0; k < m->counters_n && names != TEXT_NONE; k++) {
		const struct counter *c = &m->counters[k];
		size_t step;
		int64_t value;

		if (c->name != names || c->key != keys)
			continue;
		any = true;
		step = step_until(v, c->ts);
		if (step < from && c->ts >= before_ts) {
			before_ts = c->ts;
			before = bound_value(c->value);
		}
		if (step < from || step >= v->steps_n || c->ts <= v->begins[step])
			continue;
		value = bound_value(c->value);
		last[step - from] = value;
		if (value < level[step - from])
			level[step - from] = value;
	}
	fill_gaps(level, last, v->steps_n - from, before);
	return any;
}
