/* SPDX-License-Identifier: Apache-2.0 */
/* The first lines of the overview, each cut to what one line holds. */
#include "report/view/glance.h"
#include "report/out.h"
#include "report/units.h"
#include "report/view/overview.h"
#include "report/view/trust.h"
#include "report/whose.h"

#include <string.h>

#define LINE  200u /* columns */
#define SMALL 0.02 /* of a step: shares below are not named */

static void print_step(const struct subject *s, FILE *out)
{
	double mean = steps_mean(&s->steps);
	char text[256];
	const char *before = ": ";

	overview_steps(s, text, sizeof(text));
	if (*whose_stage(&s->model))
		fprintf(out, "stage %s: ", whose_stage(&s->model));
	fprintf(out, "%s", text);
	for (unsigned k = 0; mean > 0 && k < SHARES; k++) {
		double share = steps_mean_share(&s->steps, (enum share)k) / mean;

		if (share < SMALL)
			continue;
		fprintf(out, "%s%s %s", before, share_names[k], units_percent(share));
		before = ", ";
	}
	putc('\n', out);
}

static void print_advice(const struct subject *s, FILE *out)
{
	const struct advice *a = overview_advice(s, 0);
	char text[512];

	if (!a || a->gain <= 0 || s->evidence.step <= 0)
		return;
	snprintf(text, sizeof(text), "fix first: %s (%s%s of a step): %s", a->title,
		 a->exact ? "" : "at most ",
		 units_percent((double)a->gain / (double)s->evidence.step), a->act);
	out_text(out, text, LINE);
	putc('\n', out);
}

/* Rows are by their own time, the largest first. */
static void print_operator(const struct subject *s, FILE *out)
{
	const struct operators *all = &s->operators;
	double steps = (double)(s->steps.n ? s->steps.n : 1), own;
	size_t i = 0;

	while (i < all->n && !overview_is_large(s, &all->row[i]))
		i++;
	if (i == all->n)
		return;
	own = (double)(all->device ? all->row[i].self_device : all->row[i].self_cpu);
	fputs("largest operator: ", out);
	out_text(out, texts_get(&s->model.texts, all->row[i].name), LINE / 2);
	fprintf(out, ", %s a step of its own%s\n", units_time(units_whole(own / steps)),
		all->device ? " on the GPU" : "");
}

void glance_print(const struct subject *s, FILE *out)
{
	struct trust trust;

	if (!s->steps.n)
		return;
	trust_make(&trust, s);
	for (unsigned i = 0; i < trust.doubts; i++) {
		out_text(out, trust.doubt[i], LINE);
		putc('\n', out);
	}
	print_step(s, out);
	print_advice(s, out);
	print_operator(s, out);
}
