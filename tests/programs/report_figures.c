/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a trace's steps and devices as JSON: for tests/e2e/test_report_steps.py, which
 * has the plugin's numbers of the same file. */
#include "report/figures/devices.h"

#include <stdio.h>

static void print_steps(const struct steps *s)
{
	printf("{\"marked\":%d,\"gpu\":%d,\"communication\":%d,\"left_out\":%zu,"
	       "\"median\":%lld,\"mean\":%.17g,\"steps\":[",
	       s->marked, s->gpu, s->communication, s->left_out,
	       (long long)steps_median(s), steps_mean(s));
	for (size_t i = 0; i < s->n; i++) {
		const struct step_figures *f = &s->row[i];

		printf("%s\n{\"number\":%lld,\"begin\":%lld,\"end\":%lld", i ? "," : "",
		       (long long)f->number, (long long)f->begin, (long long)f->end);
		for (int k = 0; k < SHARES; k++)
			printf(",\"%s\":%lld", share_names[k], (long long)f->share[k]);
		printf("}");
	}
	printf("],\"means\":{");
	for (int k = 0; k < SHARES; k++)
		printf("%s\"%s\":%.17g", k ? "," : "", share_names[k],
		       steps_mean_share(s, k));
	printf("}");
}

static void print_devices(const struct devices *d)
{
	printf(",\"devices\":[");
	for (size_t i = 0; i < d->n; i++) {
		const struct device_figures *f = &d->row[i];

		printf("%s\n{\"id\":%lld,\"described\":%d,\"kernels\":%llu,\"copies\":%llu,"
		       "\"sets\":%llu,\"busy\":%lld,\"kernel_time\":%lld,"
		       "\"tensor_cores\":%lld,\"utilization\":%.17g,"
		       "\"sm_efficiency\":%.17g,\"occupancy\":%.17g}",
		       i ? "," : "", (long long)f->id, f->gpu != NULL,
		       (unsigned long long)f->kernels, (unsigned long long)f->copies,
		       (unsigned long long)f->sets, (long long)f->busy,
		       (long long)f->kernel_time, (long long)f->tensor_cores,
		       f->utilization, f->sm_efficiency, f->occupancy);
	}
	printf("]}\n");
}

int main(int argc, char **argv)
{
	unsigned want = WANT(SLICE_OP) | WANT(SLICE_NOTE) | WANT(SLICE_PYTHON) |
			WANT(SLICE_CALL) | WANT(SLICE_DEVICE) | WANT(SLICE_DEVICE_NOTE) |
			WANT_DETAILS;
	static struct model m;
	struct devices d;
	struct steps s;
	char why[512];

	if (argc != 2 || model_read(&m, argv[1], want, why, sizeof(why))) {
		fprintf(stderr, "%s\n", argc == 2 ? why : "report_figures TRACE");
		return 2;
	}
	if (!steps_make(&s, &m) || !devices_make(&d, &m, &s))
		return 1;
	print_steps(&s);
	print_devices(&d);
	devices_free(&d);
	steps_free(&s);
	model_free(&m);
	return 0;
}
