/* SPDX-License-Identifier: Apache-2.0 */
/* Forward and backward operators, paired in two passes over the records: backward
 * operators make the slots, forward operators look for theirs. */
#include "writer/fwdbwd.h"
#include "agent/core/names.h"
#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define SEQ_MASK   ((1ull << 48) - 1)
#define LOOK_AHEAD 64 /* records between an outer node and its inner one */

static const struct rec_op *op_at(const struct links *l, uint64_t offset)
{
	return (const struct rec_op *)(l->cycle->view->base + offset);
}

/* An operator without a sequence number of its own is no end of a flow. */
static bool has_seq(const struct rec_op *op)
{
	return op->seq >= 0 && !(op->r.flags & OP_NO_SEQ);
}

/* The slot of (thread, seq), or the empty slot where that pair belongs. */
static struct link_pair *slot_of(const struct links *l, uint32_t thread, uint64_t seq)
{
	size_t i = hash_place((seq & SEQ_MASK) ^ (uint64_t)thread << 48, l->slots);

	for (;; i = i + 1 < l->slots ? i + 1 : 0) {
		const struct rec_op *op;

		if (!l->pairs[i].backward)
			return &l->pairs[i];
		op = op_at(l, l->pairs[i].backward);
		if (op->fwd_thread == thread &&
		    !((uint64_t)(op->seq ^ (int64_t)seq) & SEQ_MASK))
			return &l->pairs[i];
	}
}

static uint64_t end_of_op(const struct links *l, uint64_t offset)
{
	return read_end(l->cycle, &op_at(l, offset)->r);
}

/* Of several backward operators with one number the first that ended counts, as in
 * Kineto. */
static void add_backward(struct links *l, const struct rec_op *op, uint64_t offset)
{
	struct link_pair *pair = slot_of(l, op->fwd_thread, (uint64_t)op->seq);

	if (!pair->backward || end_of_op(l, offset) < end_of_op(l, pair->backward))
		pair->backward = offset;
}

/* Of several forward operators the one that began last counts, as in Kineto: the
 * innermost. */
static void add_forward(struct links *l, const struct rec_op *op, uint64_t offset,
			uint32_t thread)
{
	struct link_pair *pair = slot_of(l, thread, (uint64_t)op->seq);

	if (!pair->backward)
		return;
	if (!pair->forward || op->r.begin > op_at(l, pair->forward)->r.begin)
		pair->forward = offset;
}

static void add_ops(struct links *l, bool backward)
{
	struct cursor c = { .cycle = l->cycle, .last = l->cycle->runs.n };
	const struct record *r;
	uint64_t offset, left = l->cycle->backward;

	while ((r = read_next(&c, &offset))) {
		const struct rec_op *op = (const struct rec_op *)r;

		if (r->kind != REC_OP || !has_seq(op) ||
		    backward != (op->fwd_thread != 0))
			continue;
		/* A live spool may change under us: never add more pairs than there is
		 * room for. */
		if (backward && left-- == 0)
			return;
		if (backward)
			add_backward(l, op, offset);
		else
			add_forward(l, op, offset, read_run(l->cycle, c.run)->ordinal);
	}
}

int fwdbwd_find(struct links *l, const struct cycle_read *c)
{
	*l = (struct links){ .cycle = c };
	if (!c->backward)
		return 0;
	l->slots = c->backward + c->backward / 3 + 1;
	l->bytes = l->slots * sizeof(*l->pairs);
	l->pairs = pile_map(l->bytes);
	if (!l->pairs)
		return -ENOMEM;
	add_ops(l, true);
	add_ops(l, false);
	return 0;
}

void fwdbwd_free(struct links *l)
{
	pile_unmap(l->pairs, l->bytes);
	l->pairs = NULL;
	l->slots = 0;
}

enum link_side fwdbwd_of(const struct links *l, const struct rec_op *op, uint64_t offset,
			 uint32_t thread, uint64_t *id)
{
	const struct link_pair *pair;

	*id = 0;
	if (!l->slots || !has_seq(op))
		return LINK_NONE;
	pair = slot_of(l, op->fwd_thread ? op->fwd_thread : thread, (uint64_t)op->seq);
	if (!pair->backward || !pair->forward)
		return LINK_NONE;
	*id = (uint64_t)(pair - l->pairs) + 1;
	return pair->forward == offset    ? LINK_START
	       : pair->backward == offset ? LINK_END
					  : LINK_NONE;
}

const struct rec_op *fwdbwd_forward(const struct links *l, const struct rec_op *backward)
{
	const struct link_pair *pair;

	if (!l->slots || !has_seq(backward) || !backward->fwd_thread)
		return NULL;
	pair = slot_of(l, backward->fwd_thread, (uint64_t)backward->seq);
	return pair->forward ? op_at(l, pair->forward) : NULL;
}

const struct rec_op *fwdbwd_inner(const struct cursor *c, const struct rec_op *outer)
{
	static const char prefix[] = "autograd::engine::evaluate_function: ";
	const struct name *name = names_get(c->cycle->view, outer->r.name);
	uint64_t end = read_end(c->cycle, &outer->r), offset;
	struct cursor ahead = *c;
	const struct record *r;

	if (outer->seq >= 0 || !name || name->len < sizeof(prefix) ||
	    memcmp(name->text, prefix, sizeof(prefix) - 1))
		return NULL;
	/* The run may have ended with the outer node; the cursor goes into no other
	 * thread. */
	for (int i = 0; i < LOOK_AHEAD && (r = read_next(&ahead, &offset)); i++) {
		const struct rec_op *op = (const struct rec_op *)r;
		const struct name *inner;

		if (r->begin >= end)
			return NULL;
		if (r->kind != REC_OP || !op->fwd_thread || !has_seq(op))
			continue;
		inner = names_get(c->cycle->view, r->name);
		if (inner && inner->len == name->len - (sizeof(prefix) - 1) &&
		    !memcmp(inner->text, name->text + sizeof(prefix) - 1, inner->len))
			return op;
	}
	return NULL;
}
