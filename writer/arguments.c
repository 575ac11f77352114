/* SPDX-License-Identifier: Apache-2.0 */
/* An operator's arguments out of an input description, as far as formulas need them. */
#include "writer/arguments.h"
#include "writer/scalar.h"

#include <string.h>

bool arguments_multiply(int64_t *n, int64_t by)
{
	return *n >= 0 && by >= 0 && !__builtin_mul_overflow(*n, by, n);
}

static void add_number(struct argument *a, int64_t number)
{
	if (a->n < ARGUMENT_KEPT)
		a->at[a->n] = number;
	a->n++;
	a->last = number;
	if (!arguments_multiply(&a->all, number))
		a->all = -1;
}

static void read_tensor(struct argument *a, struct scalar_walk *w, unsigned tag)
{
	int64_t ndim;

	a->dtype = scalar_byte(w);
	ndim = scalar_number(w);
	if (ndim < 0 || ndim > w->end - w->at)
		w->bad = true;
	for (int64_t i = 0; i < ndim && !w->bad; i++)
		add_number(a, scalar_number(w));
	for (int64_t i = 0; i < ndim && !w->bad && tag == IN_TENSOR; i++)
		scalar_number(w);
}

/* Passes what no formula asks for. */
static void pass_value(struct scalar_walk *w, unsigned tag)
{
	char none[1];
	struct text nowhere = { none, none };
	struct argument tensor = { 0 };

	if (tag == IN_TENSOR || tag == IN_SPARSE)
		read_tensor(&tensor, w, tag);
	else
		scalar_put_value(&nowhere, w, tag);
}

static void read_list(struct argument *a, struct scalar_walk *w)
{
	unsigned tag;

	while (!w->bad && (tag = scalar_byte(w)) != IN_END) {
		if (tag == IN_INT) {
			add_number(a, scalar_number(w));
		} else if (tag == IN_TRUE || tag == IN_FALSE) {
			add_number(a, tag == IN_TRUE);
		} else {
			a->tag = IN_OTHER;
			pass_value(w, tag);
		}
	}
}

static void read_argument(struct argument *a, struct scalar_walk *w, unsigned tag)
{
	*a = (struct argument){ .tag = tag, .all = 1 };
	if (tag == IN_TENSOR || tag == IN_SPARSE) {
		read_tensor(a, w, tag);
		a->tag = IN_TENSOR;
	} else if (tag == IN_SCALARS || tag == IN_TENSORS) {
		read_list(a, w);
	} else if (tag == IN_INT) {
		add_number(a, scalar_number(w));
	} else {
		pass_value(w, tag);
	}
}

bool arguments_read(struct arguments *all, const uint8_t *inputs, size_t len)
{
	struct scalar_walk w = { inputs, inputs + len, false };
	size_t n = 0;
	unsigned tag;

	memset(all, 0, sizeof(*all));
	while (n < ARGUMENTS && w.at < w.end && (tag = scalar_byte(&w)) != IN_END) {
		read_argument(&all->at[n++], &w, tag);
		if (w.bad)
			return false;
	}
	return true;
}
