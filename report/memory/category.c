/* SPDX-License-Identifier: Apache-2.0 */
/* Categories in torch's order (memory profiler: PARAMETER to UNKNOWN), found by names and
 * times: the rules are in category_rules, and on the HTML page. */
#include "report/memory/category.h"
#include "base/order.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

const char *const category_names[CATEGORIES] = {
	"parameters",  "optimizer state", "input",           "temporary",
	"activations", "gradients",       "autograd detail", "unknown",
};

const char *const category_colours[CATEGORIES] = {
	"darkgreen", "goldenrod",  "black",     "mediumpurple",
	"red",       "mediumblue", "royalblue", "grey",
};

const char *const category_rules[CATEGORIES] = {
	"there before the first forward pass, never freed, as large as what a gradient is "
	"accumulated for",
	"allocated inside Optimizer.step and kept after it",
	"allocated by a DataLoader, or before the forward pass and still there when it begins; "
	"what a DataLoader picks items from",
	"freed inside the outermost operator, or the Optimizer.step, that allocated it",
	"allocated between the first operator of a forward pass that backward returns to and "
	"that backward pass",
	"allocated in a backward pass and kept after it",
	"allocated in a backward pass and freed during it",
	"all else",
};

#define NODE "autograd::engine::evaluate_function"

/* A backward pass with the forward pass before it. */
struct pass {
	int64_t forward; /* its first operator that makes a node; INT64_MAX = none seen */
	int64_t begin, end; /* of the backward pass */
	int64_t accumulated; /* bytes of the inputs of AccumulateGrad */
};

struct marks {
	const struct model *m;
	int64_t *seqs; /* sequence numbers of backward nodes, sorted */
	size_t seqs_n, seqs_room;
	struct mark {
		int64_t begin, end;
		enum { FORWARD, BACKWARD, OPTIMIZER } what;
		uint32_t slice;
	} * rows;
	size_t n, room;
	struct pass *passes;
	size_t passes_n, passes_room;
};

/* ---- forward and backward passes ---- */

static int by_number(const void *a, const void *b)
{
	return order_of(*(const int64_t *)a, *(const int64_t *)b);
}

/* Has a backward node that sequence number? */
static bool has_seq(const struct marks *k, int64_t seq)
{
	return seq >= 0 && k->seqs_n &&
	       bsearch(&seq, k->seqs, k->seqs_n, sizeof(seq), by_number);
}

/* Collects the numbers of backward nodes. False: no memory, as in the other finders. */
static bool find_seqs(struct marks *k)
{
	for (size_t i = 0; i < k->m->slices_n; i++) {
		const struct slice *s = &k->m->slices[i];

		if (s->kind != SLICE_OP || !s->backward || s->seq < 0)
			continue;
		if (!GROW(k->seqs, k->seqs_room, k->seqs_n))
			return false;
		k->seqs[k->seqs_n++] = s->seq;
	}
	if (k->seqs_n)
		qsort(k->seqs, k->seqs_n, sizeof(*k->seqs), by_number);
	return true;
}

/* What a slice tells of passes; -1: nothing. */
static int mark_of(const struct marks *k, uint32_t i)
{
	const struct slice *s = &k->m->slices[i];
	const char *name = slice_name(k->m, i);

	if (s->kind == SLICE_NOTE)
		return text_starts_with(name, "Optimizer.") ? OPTIMIZER : -1;
	if (s->kind != SLICE_OP)
		return -1;
	if (text_starts_with(name, NODE))
		return BACKWARD;
	/* Operators inside a backward pass may carry the number of a node outside. */
	if (has_seq(k, s->seq) && !s->backward && blocks_within(k->m, i, NODE) == NO_ROW)
		return FORWARD;
	return -1;
}

static int by_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	return order_of(x->begin, y->begin) ?: order_of(x->slice, y->slice);
}

static bool find_marks(struct marks *k)
{
	for (uint32_t i = 0; i < k->m->slices_n; i++) {
		const struct slice *s = &k->m->slices[i];
		int what = mark_of(k, i);

		if (what < 0)
			continue;
		if (!GROW(k->rows, k->room, k->n))
			return false;
		k->rows[k->n++] = (struct mark){ s->begin, s->end, (unsigned)what, i };
	}
	if (k->n)
		qsort(k->rows, k->n, sizeof(*k->rows), by_time);
	return true;
}

/* A backward pass ends where a forward operator or the optimizer begins. */
static bool find_passes(struct marks *k)
{
	int64_t forward = INT64_MAX;
	bool inside = false;

	for (size_t i = 0; i < k->n; i++) {
		const struct mark *r = &k->rows[i];
		struct pass *p;

		if (r->what != BACKWARD) {
			if (r->what == FORWARD && (inside || forward == INT64_MAX))
				forward = r->begin;
			inside = false;
			continue;
		}
		if (!inside) {
			if (!GROW(k->passes, k->passes_room, k->passes_n))
				return false;
			k->passes[k->passes_n++] =
				(struct pass){ forward, r->begin, r->end, 0 };
			forward = INT64_MAX;
			inside = true;
		}
		p = &k->passes[k->passes_n - 1];
		p->end = r->end > p->end ? r->end : p->end;
	}
	return true;
}

/* The first pass whose backward pass ends at or after `ts`. */
static struct pass *pass_after(const struct marks *k, int64_t ts)
{
	size_t at = SEARCH_FIRST(i, 0, k->passes_n, k->passes[i].end >= ts);

	return at < k->passes_n ? &k->passes[at] : NULL;
}

static bool marks_make(struct marks *k, const struct model *m)
{
	*k = (struct marks){ .m = m };
	return find_seqs(k) && find_marks(k) && find_passes(k);
}

static void marks_free(struct marks *k)
{
	free(k->seqs);
	free(k->rows);
	free(k->passes);
}

/* ---- the rules ---- */

static enum category of_forward(const struct marks *k, const struct block *b)
{
	const struct pass *p = pass_after(k, b->begin);

	if (!p || p->forward == INT64_MAX)
		return CATEGORY_UNKNOWN;
	/* The operator that makes the first node begins before the blocks that it
	 * allocates. */
	if (b->begin >= p->forward)
		return CATEGORY_ACTIVATION;
	return b->end > p->forward ? CATEGORY_INPUT : CATEGORY_UNKNOWN;
}

/* The category of a block that was allocated in the window: by the place of its
 * allocation, and by its end. */
static enum category of_new(const struct marks *k, const struct block *b)
{
	uint32_t slice = k->m->memory[b->from].slice, found;
	const struct pass *p;

	if (blocks_within(k->m, slice, NODE) != NO_ROW) {
		p = pass_after(k, b->begin);
		if (p && b->end > p->end)
			return CATEGORY_GRADIENT;
		return b->brief ? CATEGORY_TEMPORARY : CATEGORY_AUTOGRAD;
	}
	found = blocks_within(k->m, slice, "Optimizer.step");
	if (found != NO_ROW)
		return b->end > k->m->slices[found].end ? CATEGORY_OPTIMIZER
							: CATEGORY_TEMPORARY;
	if (b->brief)
		return CATEGORY_TEMPORARY;
	found = blocks_within(k->m, slice, "enumerate(Data");
	if (found != NO_ROW)
		return b->end > k->m->slices[found].end ? CATEGORY_INPUT
							: CATEGORY_UNKNOWN;
	return of_forward(k, b);
}

/* The category of a block that is older than the window: only the place of its end is
 * known. */
static enum category of_old(const struct marks *k, const struct block *b)
{
	uint32_t slice = k->m->memory[b->to].slice;

	if (blocks_within(k->m, slice, "Optimizer.zero_grad") != NO_ROW)
		return CATEGORY_GRADIENT;
	if (blocks_within(k->m, slice, NODE) != NO_ROW)
		return CATEGORY_ACTIVATION;
	return CATEGORY_UNKNOWN;
}

/* ---- parameters ---- */

/* Collects the sizes of the tensors whose gradients the largest pass accumulates,
 * sorted. */
static bool parameter_sizes(const struct marks *k, int64_t **sizes, size_t *n)
{
	size_t room = 0, first = 0, best = 0, best_n = 0, all = 0;
	int64_t *list = NULL, sum = 0, most = -1;
	const struct pass *current = NULL;

	for (size_t i = 0; i <= k->n; i++) {
		const struct mark *r = i < k->n ? &k->rows[i] : NULL;
		const struct pass *p = r ? pass_after(k, r->begin) : NULL;
		const struct slice *s = NULL;

		if (p != current || !r) {
			if (sum > most)
				most = sum, best = first, best_n = all - first;
			current = p;
			first = all;
			sum = 0;
		}
		if (!r || r->what != BACKWARD || r->slice + 1 >= k->m->slices_n)
			continue;
		s = &k->m->slices[r->slice + 1]; /* its first child */
		if (s->parent != r->slice || s->input_bytes <= 0 ||
		    s->input_bytes > INT64_C(1) << 45 ||
		    strcmp(slice_name(k->m, r->slice + 1),
			   "torch::autograd::AccumulateGrad"))
			continue;
		if (!GROW(list, room, all)) {
			free(list);
			return false;
		}
		list[all++] = s->input_bytes;
		sum += s->input_bytes;
	}
	if (best_n)
		memmove(list, list + best, best_n * sizeof(*list));
	if (best_n)
		qsort(list, best_n, sizeof(*list), by_number);
	*sizes = list;
	*n = best_n;
	return true;
}

static int64_t allocator_size(int64_t size, int64_t type)
{
	return type ? (size + 511) / 512 * 512
		    : size; /* the CUDA allocator's smallest unit */
}

/* Each size stands for one parameter. */
/* Only a block from before the first forward pass that is never freed can be a
 * parameter. */
static void find_parameters(const struct marks *k, struct blocks *b, int64_t *sizes,
			    size_t n)
{
	int64_t forward = k->passes_n ? k->passes[0].forward : INT64_MIN;

	for (size_t i = 0; i < b->n; i++) {
		struct block *row = &b->rows[i];
		int64_t type = b->model->devices[row->device].type;

		if (row->begin == BLOCK_BEFORE || row->end != BLOCK_LIVE ||
		    row->begin >= forward || row->brief)
			continue;
		for (size_t s = 0; s < n && s < 100000; s++)
			if (sizes[s] > 0 &&
			    allocator_size(sizes[s], type) == row->bytes) {
				row->category = CATEGORY_PARAMETER;
				sizes[s] = -1;
				break;
			}
	}
}

bool category_set_all(struct blocks *b)
{
	struct marks k;
	int64_t *sizes = NULL;
	size_t n = 0;
	bool fine = marks_make(&k, b->model) && parameter_sizes(&k, &sizes, &n);

	for (size_t i = 0; fine && i < b->n; i++) {
		struct block *row = &b->rows[i];

		row->category = (uint8_t)(row->from == NO_ROW ? of_old(&k, row)
							      : of_new(&k, row));
	}
	if (fine)
		find_parameters(&k, b, sizes, n);
	b->parameters = 0;
	for (size_t i = 0; fine && i < n; i++)
		b->parameters += sizes[i] > 0 ? sizes[i] : 0;
	free(sizes);
	marks_free(&k);
	return fine;
}
