/* SPDX-License-Identifier: Apache-2.0 */
/* One counter track, thinned where it is too dense. */
#include "writer/heap/track.h"
#include "writer/trace.h"

#include <errno.h>

/* Keeps the points with the largest values of an interval, and its last point. */
static size_t keep_peaks(struct heap_point *to, const struct heap_point *p, size_t n)
{
	size_t at[2] = { n - 1, n - 1 }, kept = 0;

	for (size_t i = 0; i < n; i++)
		for (unsigned v = 0; v < 2; v++)
			if (p[i].value[v] > p[at[v]].value[v])
				at[v] = i;
	for (size_t i = 0; i < n; i++)
		if (i == at[0] || i == at[1] || i == n - 1)
			to[kept++] = p[i];
	return kept;
}

static void thin_points(struct heap_track *k, int64_t begin)
{
	struct heap_point *p = k->point;
	size_t n = 0, next;

	for (size_t i = 0; i < k->n; i = next) {
		uint64_t bucket = (uint64_t)(p[i].ns - begin) >> k->shift;

		for (next = i + 1; next < k->n; next++)
			if ((uint64_t)(p[next].ns - begin) >> k->shift != bucket)
				break;
		n += keep_peaks(p + n, p + i, next - i);
	}
	k->n = n;
}

/* Thins the points added since the last time, interval by interval, and makes the
 * intervals longer until half of the room is free. A single interval would keep three
 * points. */
static void make_room(struct heap_track *k, int64_t begin)
{
	for (thin_points(k, begin); k->n > HEAP_POINTS / 2 && k->shift < 63;
	     thin_points(k, begin))
		k->shift++;
}

int heap_track_add(struct heap_track *k, int64_t begin, struct heap_point p)
{
	struct heap_point *last;

	if (!k->point) {
		k->point = pile_map(HEAP_POINTS * sizeof(*k->point));
		if (!k->point)
			return -ENOMEM;
	}
	last = k->n ? &k->point[k->n - 1] : NULL;
	if (last && last->value[0] == p.value[0] && last->value[1] == p.value[1])
		return 0;
	if (k->n == HEAP_POINTS)
		make_room(k, begin);
	k->point[k->n++] = p;
	return 0;
}

/* Writes Chrome's counter events; Perfetto draws one track for each name and series. */
void heap_track_write(struct trace *t, const struct heap_track *k, const char *name,
		      const char *const series[2])
{
	struct json *j = &t->json;

	for (size_t i = 0; i < k->n && !j->err; i++) {
		json_lit(j, "{\"ph\":\"C\",\"name\":\"");
		json_text(j, name);
		json_text_unsigned(j, "\",\"pid\":", t->pid);
		slice_text_ts(t, ",\"ts\":", k->point[i].ns);
		json_lit(j, ",\"args\":{");
		for (unsigned v = 0; v < 2 && series[v]; v++) {
			if (v)
				json_lit(j, ",");
			json_lit(j, "\"");
			json_text(j, series[v]);
			json_text_number(j, "\":", k->point[i].value[v]);
		}
		json_lit(j, "}},\n");
	}
}

void heap_track_free(struct heap_track *k)
{
	pile_unmap(k->point, HEAP_POINTS * sizeof(*k->point));
	*k = (struct heap_track){ 0 };
}
