/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over all traces are kept; they are written when the last one was added. */
#include "report/export/pstats.h"
#include "base/frame_text.h"
#include "base/order.h"
#include "base/text.h"
#include "report/export/marshal.h"
#include "report/export/thread_list.h"
#include "report/figures/functions.h"

#include <stdlib.h>

/* ---- a trace ---- */

/* The reason is written ahead: most of what can fail here is the memory. */
static bool add_model(struct pstats *p, struct model *m, const char *path, char *why,
		      size_t size)
{
	const struct cut_options *o = p->options;
	bool *listed = calloc(m->threads_n + 1, sizeof(*listed)), fine;

	snprintf(why, size, "%s: not enough memory", path);
	fine = listed &&
	       (!o->threads_n || thread_list_find(m, path, o, listed, why, size)) &&
	       callers_add(&p->callers, m, o->threads_n ? listed : NULL);
	free(listed);
	return fine;
}

/* A file with operators alone has nothing that called them. */
bool pstats_add(struct pstats *p, const char *path, struct pstats_found *found, char *why,
		size_t size)
{
	unsigned want = WANT(SLICE_PYTHON) | (p->operators ? WANT(SLICE_OP) : 0);
	uint64_t before = p->callers.added;
	struct model m;
	bool fine = true;

	*found = (struct pstats_found){ 0 };
	if (model_read(&m, path, want, why, size))
		return false;
	found->damage = m.damage;
	found->functions = functions_are_there(&m);
	if (found->functions)
		fine = add_model(p, &m, path, why, size);
	found->any = p->callers.added > before;
	model_free(&m);
	return fine;
}

/* ---- the file ---- */

/* A function's key is written whole where it comes first. */
struct keys {
	const struct texts *names;
	uint32_t *number; /* by function; NO_ROW = not written yet */
	uint32_t n;
};

static void put_key(struct keys *k, uint32_t function, FILE *out)
{
	const char *name = texts_get(k->names, function);
	const char *place = frame_place(name, strlen(name));

	if (k->number[function] != NO_ROW) {
		marshal_again(out, k->number[function]);
		return;
	}
	k->number[function] = k->n++;
	marshal_kept(out, 3);
	if (place) {
		marshal_text(out, name, (size_t)(place - name));
		marshal_int(out, text_number(place + 1));
		name = strchr(place, ' ') + 1;
	} else {
		marshal_text(out, "~", 1);
		marshal_int(out, 0);
	}
	marshal_text(out, name, strlen(name));
}

static void put_times(const struct call_sums *sums, FILE *out)
{
	marshal_double(out, (double)sums->own / 1e9);
	marshal_double(out, (double)sums->total / 1e9);
}

/* Pairs of one function lie together, so that its callers are found in one pass. */
static int by_callee(const void *left, const void *right)
{
	const struct callers_pair *a = left, *b = right;

	return order_of(a->callee, b->callee) ?: order_of(a->caller, b->caller);
}

static void write_stats(const struct callers *c, struct keys *k, FILE *out)
{
	const struct callers_pair *pair = c->pair, *end = pair + c->pairs_n;

	marshal_dict(out);
	for (uint32_t i = 0; i < c->n; i++) {
		const struct call_sums *sums = &c->row[i].sums;

		put_key(k, i, out);
		marshal_tuple(out, 5);
		marshal_int(out, sums->primitive);
		marshal_int(out, sums->calls);
		put_times(sums, out);
		marshal_dict(out);
		for (; pair < end && pair->callee == i; pair++) {
			put_key(k, pair->caller, out);
			marshal_tuple(out, 4);
			marshal_int(out, pair->sums.calls);
			marshal_int(out, pair->sums.primitive);
			put_times(&pair->sums, out);
		}
		marshal_dict_end(out);
	}
	marshal_dict_end(out);
}

bool pstats_end(struct pstats *p, FILE *out)
{
	struct callers *c = &p->callers;
	struct keys keys = { .names = &c->names };
	bool fine = true;

	if (c->n) {
		keys.number = malloc(c->n * sizeof(*keys.number));
		fine = keys.number;
	}
	if (keys.number) {
		memset(keys.number, 0xff, c->n * sizeof(*keys.number));
		if (c->pairs_n)
			qsort(c->pair, c->pairs_n, sizeof(*c->pair), by_callee);
		write_stats(c, &keys, out);
	}
	free(keys.number);
	callers_free(c);
	return fine;
}
