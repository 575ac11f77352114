/* SPDX-License-Identifier: Apache-2.0 */
/* The whole program is one window unless the command line says which steps are. */
#include "launcher/bottleneck.h"
#include "config/stages.h"
#include "launcher/verb_options.h"

#include <string.h>

#define WHOLE "none" /* the marker */

void bottleneck_set(struct config *c)
{
	c->python_stack = PYTHON_FULL;
	c->record_shapes = true;
	strcpy(c->c_calls, "all"); /* as cProfile has them */
	c->activities = ACTIVITIES_BOTH;
	c->report = false;
	*c->schedule = '\0';
	strcpy(c->marker, WHOLE);
	c->preset = PRESET_OFF;
	*c->stages = '\0';
}

void bottleneck_judge(struct config *c,
		      void (*complain)(const char *where, const char *why, void *arg),
		      void *arg)
{
	/* A schedule counts steps, and so do stages. */
	if ((*c->schedule || stages_any(c)) && !strcmp(c->marker, WHOLE))
		strcpy(c->marker, "auto");
	if (c->python_stack != PYTHON_FULL)
		complain("--python-stack",
			 "bottleneck has a table of functions, and needs full: without "
			 "it, proflaunch --report shows operators",
			 arg);
	if (c->activities == ACTIVITIES_CUDA)
		complain("--activities",
			 "bottleneck has tables of functions and operators, and needs "
			 "cpu, too",
			 arg);
	if (c->report)
		complain("--report", "bottleneck shows a report of its own", arg);
}

size_t bottleneck_rows(const char *value)
{
	int64_t n = 0;

	return verb_options_number(value, 1, INT32_MAX, &n) ? (size_t)n : 0;
}
