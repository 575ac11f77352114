/* SPDX-License-Identifier: Apache-2.0 */
/* Three numbers: what the agent took of the program's own threads (an estimate,
 * finisher/totals.h), what the finisher took of the machine, and how long the caller had
 * to wait for it. */
#include "launcher/costs.h"

#include <stdio.h>

const char *costs_time(char text[COSTS_TIME], double ns)
{
	if (ns < 999.5e6)
		snprintf(text, COSTS_TIME, "%.3g ms", ns / 1e6);
	else
		snprintf(text, COSTS_TIME, ns < 999.5e9 ? "%.3g s" : "%.0f s", ns / 1e9);
	return text;
}

/* CUPTI works inside the driver's calls, where no clock of the agent can see it. */
static bool has_cupti(const struct totals *t)
{
	return t->events[REC_KERNEL] || t->events[REC_COPY] || t->events[REC_SET] ||
	       t->events[REC_GRAPH] || t->events[REC_CALL];
}

static size_t put_overhead(const struct closing *c, char *text, size_t size)
{
	const struct totals *t = c->totals;
	char all[COSTS_TIME], part[COSTS_TIME], torch[80] = "";
	double percent = (double)t->cost_ns / 1e7 / c->seconds;

	if (t->torch_ns)
		snprintf(torch, sizeof(torch), "; libtorch's part, %s, is estimated",
			 costs_time(part, (double)t->torch_ns));
	return (size_t)snprintf(
		text, size, ", about %s of overhead (%.*g %% of the run%s%s)",
		costs_time(all, (double)t->cost_ns), percent < 99.5 ? 2 : 4, percent,
		torch, has_cupti(t) ? "; without CUPTI's own in CUDA calls" : "");
}

void costs_text(const struct closing *c, char *text, size_t size)
{
	char time[COSTS_TIME];
	size_t n = 0;

	*text = '\0';
	if (c->totals->cost_ns && c->seconds > 0)
		n = put_overhead(c, text, size);
	if (c->finisher_ns && n < size)
		n += (size_t)snprintf(text + n, size - n, ", %s in a helper process",
				      costs_time(time, (double)c->finisher_ns));
	if (c->waited_ns > 0 && n < size)
		snprintf(text + n, size - n, "; you waited %s for the files",
			 costs_time(time, (double)c->waited_ns));
}
