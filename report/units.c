/* SPDX-License-Identifier: Apache-2.0 */
/* Three digits are what a reader compares. Programs get all of them, without a unit. */
#include "report/units.h"
#include "report/out.h"

#include <stdio.h>

/* Decimals that make three digits of it. */
static int decimals_of(double n)
{
	return n < 9.995 ? 2 : n < 99.95 ? 1 : 0;
}

const char *units_time(int64_t ns)
{
	static const char *const units[] = { "us", "ms", "s" };
	char *out = out_buffer();
	double n = (double)ns / 1e3;
	unsigned unit = 0;

	if (ns > -1000 && ns < 1000) {
		snprintf(out, OUT_BUFFER, ns ? "%d ns" : "0", (int)ns);
		return out;
	}
	for (; (n >= 999.5 || n <= -999.5) && unit < 2; unit++)
		n /= 1e3;
	snprintf(out, OUT_BUFFER, "%.*f %s", decimals_of(n < 0 ? -n : n), n, units[unit]);
	return out;
}

const char *units_percent(double share)
{
	char *out = out_buffer();

	if (share > 0 && share < 0.005)
		return "<1 %";
	snprintf(out, OUT_BUFFER, "%.0f %%", share > 0 ? 100 * share : 0);
	return out;
}

const char *units_us(int64_t ns)
{
	char *out = out_buffer();
	uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	snprintf(out, OUT_BUFFER, "%s%llu.%03u", ns < 0 ? "-" : "",
		 (unsigned long long)(n / 1000), (unsigned)(n % 1000));
	return out;
}

int64_t units_whole(double n)
{
	if (!(n > -9.2e18))
		return INT64_MIN;
	return n < 9.2e18 ? (int64_t)n : INT64_MAX;
}
