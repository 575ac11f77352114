/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu_group.h"
#include "base/control_group.h"
#include "base/text.h"

#include <stddef.h>
#include <string.h>

/* A quota of "max", -1 or 0 is none, and of 10,000 CPUs or more, too. */
static uint64_t to_hundredths(const char *quota, const char *period)
{
	uint64_t most, of;

	if (*quota < '1' || *quota > '9' || *period < '1' || *period > '9')
		return UINT64_MAX;
	most = text_number(quota);
	of = text_number(period);
	return most / 10000 < of ? most * 100 / of : UINT64_MAX;
}

/* "<quota> <period>" */
static uint64_t newer_quota(const char *group, const void *arg)
{
	char text[64];
	const char *space;

	(void)arg;
	if (control_group_read(group, "cpu.max", text, sizeof(text)) <= 0)
		return UINT64_MAX;
	space = strchr(text, ' ');
	return space ? to_hundredths(text, space + 1) : UINT64_MAX;
}

static uint64_t older_quota(const char *group, const void *arg)
{
	char quota[32], period[32];

	(void)arg;
	if (control_group_read(group, "cpu.cfs_quota_us", quota, sizeof(quota)) <= 0 ||
	    control_group_read(group, "cpu.cfs_period_us", period, sizeof(period)) <= 0)
		return UINT64_MAX;
	return to_hundredths(quota, period);
}

/* Both hierarchies may be there, but a controller is in one of them. */
uint64_t cpu_group_quota(void)
{
	uint64_t quota = control_group_least("", "/sys/fs/cgroup", newer_quota, NULL);

	return quota < UINT64_MAX ? quota
				  : control_group_least("cpu", "/sys/fs/cgroup/cpu",
							older_quota, NULL);
}

/* A part of a CPU is one: there is no thread without. */
unsigned cpu_group_usable(unsigned bound, uint64_t quota)
{
	if (quota >= bound * UINT64_C(100))
		return bound;
	return quota ? (unsigned)(quota + 99) / 100 : 1;
}
