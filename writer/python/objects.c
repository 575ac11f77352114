/* SPDX-License-Identifier: Apache-2.0 */
/* Modules are told apart by their address and class; torch numbers those of a class in
 * the order in which they are first called, in whatever thread. */
#include "writer/python/objects.h"
#include "agent/core/names.h"
#include "base/hash.h"
#include "writer/sort.h"

#include <errno.h>

static struct object *nth_object(const struct objects *o, size_t i)
{
	return (struct object *)o->all.mem + i;
}

/* The first id with that text: where the agent's names are many, one is stored each time
 * that it is met. */
static uint32_t class_of(struct objects *o, uint32_t id)
{
	const struct name *n = names_get(o->view, id), *other;
	uint32_t i;

	if (!n || o->class_n >= OBJECTS_CLASSES / 2)
		return id;
	for (i = hash_bytes(n->text, n->len) % OBJECTS_CLASSES; o->classes[i];
	     i = (i + 1) % OBJECTS_CLASSES) {
		other = names_get(o->view, o->classes[i]);
		if (other && name_is_same(other, n))
			return o->classes[i];
	}
	o->class_n++;
	return o->classes[i] = id;
}

/* Where it is, or belongs. The index is never more than half full. */
static uint32_t *slot_of(const struct objects *o, uint64_t self, uint32_t class)
{
	size_t at = hash_place(self ^ (uint64_t) class << 40, o->slots);

	while (o->index[at]) {
		const struct object *found = nth_object(o, o->index[at] - 1);

		if (found->self == self && found->class == class)
			break;
		at = at + 1 < o->slots ? at + 1 : 0;
	}
	return &o->index[at];
}

static int grow_index(struct objects *o)
{
	uint32_t *old = o->index;
	size_t slots = o->slots;

	o->slots = slots ? 2 * slots : 1024;
	o->index = pile_map(o->slots * sizeof(*o->index));
	if (!o->index) {
		o->index = old;
		o->slots = slots;
		return -ENOMEM;
	}
	for (size_t i = 0; i < o->all.n; i++) {
		const struct object *found = nth_object(o, i);

		*slot_of(o, found->self, found->class) = (uint32_t)i + 1;
	}
	if (old)
		pile_unmap(old, slots * sizeof(*old));
	return 0;
}

int objects_note(struct objects *o, const struct rec_module *r)
{
	const struct object new = { r->self, r->r.begin, class_of(o, r->r.name) };
	struct object *found;
	uint32_t *slot;

	if (2 * (o->all.n + 1) > o->slots && grow_index(o))
		return -ENOMEM;
	slot = slot_of(o, new.self, new.class);
	if (!*slot) {
		if (o->all.n >= UINT32_MAX - 1 || pile_add(&o->all, &new, sizeof(new)))
			return -ENOMEM;
		*slot = (uint32_t)o->all.n;
	}
	found = nth_object(o, *slot - 1);
	if (found->begin > new.begin)
		found->begin = new.begin;
	if (!found->path)
		found->path = r->path;
	found->pathless += !r->path;
	o->entered += r->r.flags & MODULE_ENTERED;
	return 0;
}

static bool object_before(const void *left, const void *right)
{
	const struct object *a = left, *b = right;

	return a->class != b->class ? a->class < b->class : a->begin < b->begin;
}

/* The index is made anew behind it, as they have moved. */
int objects_number(struct objects *o)
{
	int err = sort_merge(o->all.mem, o->all.n, sizeof(struct object), object_before);

	for (size_t i = 0; i < o->all.n; i++) {
		struct object *is = nth_object(o, i);

		if (i && is->class == is[-1].class)
			is->number = is[-1].number + 1;
		o->pathless += is->path ? 0 : is->pathless;
	}
	return err ? err : grow_index(o);
}

/* The module of a call; a spool that changes while it is read may have one that was not
 * there before: NULL. */
const struct object *objects_of(struct objects *o, const struct rec_module *r)
{
	uint32_t i = *slot_of(o, r->self, class_of(o, r->r.name));

	return i ? nth_object(o, i - 1) : NULL;
}

void objects_free(struct objects *o)
{
	pile_free(&o->all);
	if (o->index)
		pile_unmap(o->index, o->slots * sizeof(*o->index));
}
