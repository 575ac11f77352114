/* SPDX-License-Identifier: Apache-2.0 */
/* Adds events up by name. torch's doubles are added in the order in which torch does it:
 * that of all threads' events together. */
#include "report/figures/operators.h"
#include "base/array.h"
#include "base/order.h"
#include "report/figures/event_sums.h"
#include "report/figures/event_tree.h"
#include "report/figures/in_order.h"
#include "report/figures/shapes.h"
#include "report/figures/sum.h"

#include <stdlib.h>
#include <string.h>

/* What of a slice is not in one row with another's, whatever the names are. */
enum class { CLASS_HOST, CLASS_NOTE, CLASS_DEVICE, CLASS_DEVICE_NOTE };

struct own_times { /* of an event, as torch has them */
	double cpu, device, self_device;
};

struct apart { /* memory that is in no event, of which torch makes events */
	uint32_t row; /* NO_ROW = there is none */
	int64_t first;
};

struct making {
	struct operators *o;
	struct model *m;
	enum operators_by by;
	const uint32_t *group; /* by slice; NULL unless by group */
	int64_t from, to;
	uint32_t *slots; /* hash of rows */
	size_t slots_n;
	uint32_t *row_of; /* by slice; NO_ROW = it does not count */
	struct own_times *own; /* by slice */
	struct apart apart[2]; /* allocations and frees; requests that failed */
	struct shapes shapes;
	uint32_t step; /* the text "ProfilerStep*" */
};

/* ---- rows ---- */

static enum class class_of(unsigned kind) {
	return kind == SLICE_NOTE          ? CLASS_NOTE
	       : kind == SLICE_DEVICE      ? CLASS_DEVICE
	       : kind == SLICE_DEVICE_NOTE ? CLASS_DEVICE_NOTE
					   : CLASS_HOST;
}

/* What parts rows of one name: shapes, or the caller's text. */
static uint32_t part_of(const struct making *k, const struct operator_figures *r)
{
	return k->by == OPERATORS_BY_GROUP ? r->group : r->shapes;
}

/* The slot of a row, or the empty slot where that row belongs. */
static uint32_t *row_slot(const struct making *k, uint32_t name, uint32_t part,
			  unsigned kind)
{
	uint64_t h = ((uint64_t)name << 32 | part) * 0x9e3779b97f4a7c15ull;
	size_t at = (h >> 32 ^ class_of(kind)) & (k->slots_n - 1);

	for (; k->slots[at] != NO_ROW; at = (at + 1) & (k->slots_n - 1)) {
		const struct operator_figures *r = &k->o->row[k->slots[at]];

		if (r->name == name && part_of(k, r) == part &&
		    class_of(r->kind) == class_of(kind))
			break;
	}
	return &k->slots[at];
}

static bool more_slots(struct making *k)
{
	size_t n = k->slots_n ? 2 * k->slots_n : 256;
	uint32_t *slots = malloc(n * sizeof(*slots));

	if (!slots)
		return false;
	memset(slots, 0xff, n * sizeof(*slots));
	free(k->slots);
	k->slots = slots;
	k->slots_n = n;
	for (uint32_t i = 0; i < k->o->n; i++) {
		const struct operator_figures *r = &k->o->row[i];

		*row_slot(k, r->name, part_of(k, r), r->kind) = i;
	}
	return true;
}

/* The number of a row, which is made at its first event. NO_ROW: no memory. */
static uint32_t row_of(struct making *k, uint32_t name, uint32_t part, unsigned kind)
{
	struct operators *o = k->o;
	bool group = k->by == OPERATORS_BY_GROUP;
	uint32_t *slot;

	if (name == TEXT_NONE || (k->by == OPERATORS_BY_SHAPE && part == TEXT_NONE) ||
	    (2 * (o->n + 1) > k->slots_n && !more_slots(k)))
		return NO_ROW;
	slot = row_slot(k, name, part, kind);
	if (*slot != NO_ROW)
		return *slot;
	if (o->n >= NO_ROW || !GROW(o->row, o->room, o->n))
		return NO_ROW;
	o->row[o->n] = (struct operator_figures){ .name = name,
						  .shapes = group ? TEXT_NONE : part,
						  .group = group ? part : TEXT_NONE,
						  .kind = (uint8_t)kind,
						  .first = NO_ROW };
	return *slot = (uint32_t)o->n++;
}

static uint32_t shapes_of(struct making *k, uint32_t shapes)
{
	return k->by == OPERATORS_BY_SHAPE ? shapes_plain(&k->shapes, shapes) : TEXT_NONE;
}

static uint32_t part_of_slice(struct making *k, uint32_t slice)
{
	return k->group ? k->group[slice] : shapes_of(k, k->m->slices[slice].shapes);
}

/* Counts a slice; *row is NO_ROW where it does not count. False: no memory. */
static bool count_slice(struct making *k, uint32_t slice, uint32_t *row)
{
	const struct slice *s = &k->m->slices[slice];
	bool note = s->kind == SLICE_NOTE || s->kind == SLICE_DEVICE_NOTE;
	uint32_t name = s->name;

	*row = NO_ROW;
	if (s->begin < k->from || s->begin >= k->to)
		return true;
	if (note && event_is_step(slice_name(k->m, slice)))
		name = k->step;
	*row = k->row_of[slice] = row_of(k, name, part_of_slice(k, slice), s->kind);
	if (*row == NO_ROW)
		return false;
	k->o->row[*row].count += !s->continued;
	k->o->shapes |= s->shapes != TEXT_NONE;
	return true;
}

/* ---- events on the host, work on devices, memory ---- */

static bool take_event(void *arg, uint32_t slice, const struct event_sums *sums)
{
	struct making *k = arg;
	struct operator_figures *r;
	uint32_t row;

	if (!count_slice(k, slice, &row))
		return false;
	if (row == NO_ROW)
		return true;
	r = &k->o->row[row];
	sum_add(&r->cpu, sums->cpu);
	sum_add(&r->self_cpu, sums->self_cpu);
	sum_add(&r->device, sums->device);
	sum_add(&r->self_device, sums->self_device);
	sum_add(&r->cpu_memory, sums->moved.cpu);
	sum_add(&r->self_cpu_memory, sums->self_moved.cpu);
	sum_add(&r->device_memory, sums->moved.device);
	sum_add(&r->self_device_memory, sums->self_moved.device);
	sum_add(&r->flops, k->m->slices[slice].flops);
	if (!k->m->slices[slice].flops_ours)
		sum_add(&r->torch_flops, k->m->slices[slice].flops);
	k->own[slice] = (struct own_times){ sums->self_cpu_us, sums->device_us,
					    sums->self_device_us };
	return true;
}

static bool take_work(struct making *k)
{
	for (uint32_t i = 0; i < k->m->slices_n; i++) {
		const struct slice *s = &k->m->slices[i];
		uint32_t row;

		if (!event_tree_is_work(k->m, i))
			continue;
		if (!count_slice(k, i, &row))
			return false;
		if (row == NO_ROW)
			continue;
		sum_add(&k->o->row[row].device, event_ns(s));
		sum_add(&k->o->row[row].self_device, event_ns(s));
		k->own[i] = (struct own_times){ 0, event_us(k->m, s), event_us(k->m, s) };
	}
	return true;
}

static bool take_apart(void *arg, const struct memory_event *e)
{
	struct making *k = arg;
	struct apart *apart = &k->apart[e->oom];
	struct moved_bytes by = moved_by(k->m, e);
	const char *name = e->oom ? "[OutOfMemory]" : "[memory]";
	struct operator_figures *r;

	if (e->ts < k->from || e->ts >= k->to)
		return true;
	if (apart->row == NO_ROW) {
		apart->row = row_of(k, texts_add(&k->m->texts, name, strlen(name)),
				    shapes_of(k, TEXT_NONE), SLICE_OP);
		apart->first = e->ts;
	}
	if (apart->row == NO_ROW)
		return false;
	r = &k->o->row[apart->row];
	r->count++;
	sum_add(&r->cpu_memory, by.cpu);
	sum_add(&r->self_cpu_memory, by.cpu);
	sum_add(&r->device_memory, by.device);
	sum_add(&r->self_device_memory, by.device);
	return true;
}

/* ---- order ---- */

/* Gives numbers to rows of memory whose first event is before `ts`. */
static uint32_t place_apart(struct making *k, uint32_t next, int64_t ts)
{
	bool turned = k->apart[1].first < k->apart[0].first;

	for (unsigned i = 0; i < 2; i++) {
		const struct apart *a = &k->apart[i ^ turned];

		if (a->row != NO_ROW && a->first < ts &&
		    k->o->row[a->row].first == NO_ROW)
			k->o->row[a->row].first = next++;
	}
	return next;
}

/* Adds torch's times in the order of all events, and numbers rows by their first. */
static bool add_in_order(struct making *k)
{
	struct in_order order;
	uint32_t next = 0;

	if (!in_order_begin(&order, k->m))
		return false;
	for (uint32_t i; (i = in_order_next(&order)) != NO_ROW;) {
		const struct slice *s = &k->m->slices[i];
		struct operator_figures *r;

		if (k->row_of[i] == NO_ROW)
			continue;
		next = place_apart(k, next, s->begin);
		r = &k->o->row[k->row_of[i]];
		if (r->first == NO_ROW)
			r->first = next++;
		if (class_of(s->kind) < CLASS_DEVICE)
			r->torch.cpu += event_us(k->m, s);
		r->torch.self_cpu += k->own[i].cpu;
		r->torch.device += k->own[i].device;
		r->torch.self_device += k->own[i].self_device;
	}
	place_apart(k, next, INT64_MAX);
	in_order_end(&order);
	return true;
}

static int by_self_time(const void *left, const void *right)
{
	const struct operator_figures *a = left, *b = right;

	return order_of(b->self_device, a->self_device) ?:
	       order_of(b->self_cpu, a->self_cpu) ?: order_of(a->first, b->first);
}

static void sum_up(struct operators *o)
{
	for (size_t i = 0; i < o->n; i++) {
		const struct operator_figures *r = &o->row[i];

		sum_add(&o->self_cpu, r->self_cpu);
		if (r->kind == SLICE_DEVICE)
			sum_add(&o->self_device, r->self_device);
		o->device |= r->self_device > 0;
		o->flops |= r->flops > 0;
	}
	if (o->n)
		qsort(o->row, o->n, sizeof(*o->row), by_self_time);
}

static bool make_rows(struct making *k)
{
	struct moved moved = { 0 };
	bool fine = shapes_begin(&k->shapes, &k->m->texts) && moved_make(&moved, k->m) &&
		    event_sums_each(k->m, &moved, take_event, k) && take_work(k) &&
		    moved_apart(&moved, take_apart, k) && add_in_order(k);

	moved_free(&moved);
	return fine;
}

static bool make_operators(struct operators *o, struct model *m, enum operators_by by,
			   const uint32_t *group, int64_t from, int64_t to)
{
	static const char step[] = "ProfilerStep*";
	size_t room = m->slices_n + 1;
	struct making k = { .o = o,
			    .m = m,
			    .by = by,
			    .group = group,
			    .from = from,
			    .to = to,
			    .row_of = malloc(room * sizeof(*k.row_of)),
			    .own = malloc(room * sizeof(*k.own)),
			    .apart = { { NO_ROW, 0 }, { NO_ROW, 0 } },
			    .step = texts_add(&m->texts, step, sizeof(step) - 1) };
	bool fine = k.row_of && k.own && k.step != TEXT_NONE;

	*o = (struct operators){ 0 };
	if (fine)
		memset(k.row_of, 0xff, room * sizeof(*k.row_of));
	fine = fine && make_rows(&k);
	if (fine)
		sum_up(o);
	else
		operators_free(o);
	free(k.slots);
	free(k.row_of);
	free(k.own);
	shapes_free(&k.shapes);
	return fine;
}

bool operators_make(struct operators *o, struct model *m, enum operators_by by,
		    int64_t from, int64_t to)
{
	return make_operators(o, m, by, NULL, from, to);
}

bool operators_make_grouped(struct operators *o, struct model *m, const uint32_t *group,
			    int64_t from, int64_t to)
{
	return make_operators(o, m, OPERATORS_BY_GROUP, group, from, to);
}

void operators_free(struct operators *o)
{
	free(o->row);
	*o = (struct operators){ 0 };
}
