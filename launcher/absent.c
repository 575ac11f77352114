/* SPDX-License-Identifier: Apache-2.0 */
/* Options that leave nothing to record where the GPU or the function they name is
 * missing. */
#include "launcher/absent.h"
#include "agent/sched/marker.h"
#include "launcher/say.h"

#include <unistd.h>

static bool lacks_gpu(const struct closing *c)
{
	const uint64_t *n = c->totals->events;

	return c->config->activities == ACTIVITIES_CUDA && !n[REC_KERNEL] &&
	       !n[REC_COPY] && !n[REC_SET] && !n[REC_GRAPH] && !n[REC_CALL];
}

/* Looks for the driver's device: on Linux, or on Windows' Linux. */
static bool is_there_a_gpu(void)
{
	return !access("/dev/nvidiactl", F_OK) || !access("/dev/dxg", F_OK);
}

/* The agent has already said so where there is no such function, or none can be
 * marked. */
static bool lacks_symbol(const struct closing *c)
{
	const struct totals *s = c->totals;
	struct marker m;

	return !marker_parse(&m, c->config->marker) && m.kind == MARKER_SYMBOL &&
	       !s->spools && !s->opened && !s->files && !s->living && !s->failed &&
	       !s->lost && !s->late;
}

bool absent_say(const struct closing *c)
{
	if (lacks_gpu(c))
		say_warn(
			"nothing of a GPU was recorded, and --activities cuda leaves out all else: "
			"%s; --activities cpu,cuda records operators, too",
			is_there_a_gpu()
				? "no CUDA call was seen"
				: "this machine shows no NVIDIA GPU (there is no /dev/nvidiactl)");
	else if (lacks_symbol(c))
		say_warn(
			"nothing was recorded: the function of the marker %s was not seen to be called",
			c->config->marker);
	else
		return false;
	return true;
}
