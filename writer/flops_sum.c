/* SPDX-License-Identifier: Apache-2.0 */
/* Two passes over the operators give the same numbers: one sums up, as the sums stand
 * before the events in the file, one writes. */
#include "writer/flops_sum.h"
#include "agent/core/names.h"
#include "agent/core/record_stack.h"
#include "writer/flops.h"
#include "writer/trace.h"

/* What is looked at inside an operator: operators, and records of any kind. */
#define OPS_AHEAD     256
#define RECORDS_AHEAD 16384

static const struct flops_row *row_of(struct trace *t, uint32_t id)
{
	unsigned slot = (id ^ id >> 10) & (FLOPS_NAMES - 1);
	const struct name *n;

	if (t->flops.known[slot].name == id)
		return t->flops.known[slot].row;
	n = names_get(t->view, id);
	t->flops.known[slot].name = id;
	t->flops.known[slot].row =
		n ? flops_find(n->text, n->len, n->text + n->len + 1, n->extra_len)
		  : NULL;
	return t->flops.known[slot].row;
}

/* Lies a product in the operator: one of torch's, or any? */
static bool has_product(struct trace *t, const struct cursor *c, uint64_t end, bool any)
{
	struct cursor ahead = *c;
	const struct record *r;
	uint64_t offset;
	unsigned ops = 0;

	for (unsigned i = 0;
	     i < RECORDS_AHEAD && ops < OPS_AHEAD && (r = read_next(&ahead, &offset));
	     i++) {
		const struct flops_row *row;

		if (r->begin >= end)
			return false;
		ops += r->kind == REC_OP;
		row = r->kind == REC_OP ? row_of(t, r->name) : NULL;
		if (row && flops_is_product(row) && (any || !row->ours))
			return true;
	}
	return false;
}

struct found {
	const struct flops_row *row;
	int64_t flops; /* FLOPS_UNKNOWN: it has some, and they cannot be computed */
	bool counts; /* in the sum */
};

/* An operator with a formula that cannot be used leaves its work to those inside. */
static struct found find_flops(struct trace *t, const struct cursor *c,
			       const struct rec_op *op)
{
	struct found none = { 0 }, found = { .row = row_of(t, op->r.name) };
	uint64_t end = read_end(&t->cycle, &op->r);
	bool inside = op->r.begin < t->flops.until;
	const uint8_t *inputs;
	size_t len;

	if (!found.row || (found.row->ours && (inside || has_product(t, c, end, false))))
		return none;
	inputs = op_inputs(op, &len);
	found.flops = op->r.flags & OP_INPUTS ? flops_of(found.row, inputs, len)
					      : FLOPS_UNKNOWN;
	if (found.flops == FLOPS_UNKNOWN && (inside || has_product(t, c, end, true)))
		return none;
	found.counts = !inside;
	if (found.flops > 0 && !inside)
		t->flops.until = end;
	return found;
}

static void add_found(struct flops_total *sum, const struct found *found)
{
	if (found->flops == FLOPS_UNKNOWN)
		sum->unknown++;
	if (found->flops <= 0)
		return;
	sum->operators++;
	if (found->counts &&
	    __builtin_add_overflow(sum->total, (uint64_t)found->flops, &sum->total))
		sum->total = UINT64_MAX;
}

static void sum_thread(struct trace *t, size_t first, size_t last)
{
	struct cursor c = { .cycle = &t->cycle, .run = first, .last = last };
	const struct record *r;
	uint64_t offset;

	flops_sum_thread(t);
	while ((r = read_next(&c, &offset))) {
		struct found found;

		if (r->kind != REC_OP)
			continue;
		found = find_flops(t, &c, (const struct rec_op *)r);
		add_found(&t->result->flops, &found);
	}
}

void flops_sum_start(struct trace *t)
{
	if (!t->config->flops)
		return;
	for (size_t first = 0, last; first < t->cycle.runs.n; first = last) {
		last = read_thread(&t->cycle, first);
		sum_thread(t, first, last);
	}
	t->result->flops.window_ns = (uint64_t)(t->row.end_ns - t->row.begin_ns);
}

void flops_sum_thread(struct trace *t)
{
	t->flops.until = 0;
}

void flops_sum_write(struct trace *t, const struct cursor *c, const struct rec_op *op)
{
	struct json *j = &t->json;
	struct found found = find_flops(t, c, op);

	if (found.flops <= 0)
		return;
	json_text_number(j, "\"flops\":", found.flops);
	json_text(j, found.row->ours ? ",\"flops_source\":\"proflaunch\"," : ",");
}

void flops_sum_counts(struct trace *t)
{
	const struct flops_total *sum = &t->result->flops;
	struct json *j = &t->json;

	if (!t->config->flops)
		return;
	json_text_unsigned(j, ", \"flops\": {\"operators\": ", sum->operators);
	json_text_unsigned(j, ", \"not computed\": ", sum->unknown);
	json_text_unsigned(j, ", \"total\": ", sum->total);
	json_lit(j, "}");
}
