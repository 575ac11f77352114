/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what advice there is for a trace file, as JSON: tests/e2e/test_report_advice.py.
 */
#include "report/advice/evidence.h"
#include "report/out.h"

#include <inttypes.h>

#define ALL                                                                          \
	(WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON) | WANT(SLICE_CALL) | \
	 WANT(SLICE_DEVICE) | WANT(SLICE_DEVICE_NOTE) | WANT_DETAILS)

static void print_member(const char *key, const char *text)
{
	printf(", \"%s\": ", key);
	out_json(stdout, text);
}

static void print_row(const struct advice *a, int64_t step)
{
	printf("{\"gain\": %" PRId64
	       ", \"percent\": %.1f, \"exact\": %d, \"consequence\": %d",
	       a->gain, (double)a->gain * 100 / (double)step, a->exact, a->consequence);
	print_member("rule", a->rule);
	print_member("title", a->title);
	print_member("seen", a->seen);
	print_member("why", a->why);
	print_member("act", a->act);
	print_member("where", a->where);
	putchar('}');
}

static void print_all(const struct advices *a, const struct evidence *e)
{
	printf("{\"steps\": %zu, \"step\": %" PRId64 ", \"advice\": [", e->judged,
	       e->step);
	for (unsigned i = 0; i < a->n; i++) {
		fputs(i ? ",\n" : "", stdout);
		print_row(&a->row[i], e->step);
	}
	fputs("], \"silent\": {", stdout);
	for (unsigned i = 0; i < a->silent_n; i++) {
		fputs(i ? ", " : "", stdout);
		out_json(stdout, a->silent[i].rule);
		fputs(": ", stdout);
		out_json(stdout, a->silent[i].record);
	}
	puts("}}");
}

int main(int argc, char **argv)
{
	static struct advices advices;
	struct model m;
	struct steps steps;
	struct devices devices;
	struct operators operators;
	struct kernels kernels;
	struct evidence e;
	char why[512];

	if (argc != 2 || model_read(&m, argv[1], ALL, why, sizeof(why))) {
		fprintf(stderr, "%s\n", argc == 2 ? why : "usage: report_advice FILE");
		return 2;
	}
	if (!steps_make(&steps, &m) || !devices_make(&devices, &m, &steps) ||
	    !operators_make(&operators, &m, OPERATORS_BY_NAME, INT64_MIN, INT64_MAX) ||
	    !kernels_make(&kernels, &m, INT64_MIN, INT64_MAX) ||
	    !evidence_make(&e, &m, &steps, &devices, &operators, &kernels) ||
	    !advice_make(&advices, &e))
		return 3;
	print_all(&advices, &e);
	kernels_free(&kernels);
	operators_free(&operators);
	devices_free(&devices);
	steps_free(&steps);
	model_free(&m);
	return 0;
}
