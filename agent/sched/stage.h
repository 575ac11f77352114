/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage - a part of the run that has steps and windows of its own: the run itself or,
 * where the user names them, training, validation and so on.
 *
 * A trigger is a function whose calls mean something: number of the stage, and role.
 *
 * Threads  stage_start: the agent's constructor; stage_reset: the holder of the
 *          scheduler's lock; the others: any.
 * Memory   static.
 * Errors   none: config/stages.h has judged what the user wrote.
 * Units    ticks.
 */
#ifndef SCHED_STAGE_H
#define SCHED_STAGE_H

#include "agent/sched/marker.h"
#include "agent/sched/schedule.h"
#include "config/stages.h"

#include <stdbool.h>
#include <stdint.h>

struct cycle_info;

/* What a call of a function does: ends steps of the stage; the stage is on meanwhile; it
 * enters it; it leaves it. */
enum stage_role { STAGE_STEP, STAGE_WITHIN, STAGE_ENTER, STAGE_LEAVE, STAGE_ROLES };

struct stage {
	struct marker marker; /* what ends a step */
	struct schedule plan;
	bool given; /* the plan is the user's */
	bool settled; /* default plan: no window is provisional any more */
	bool bare; /* no function enters it: calls of the marker do */
	bool between; /* its marker has not begun a step since it was entered */
	uint8_t number; /* as config/stages.h has it; 0: the run's own */
	enum phase phase;
	uint64_t step; /* the open one, or the next */
	struct cycle_info *held; /* cycle_held, while the stage is not on */
	struct marker
		edge[STAGE_ROLES]; /* functions; of those that are not there no text */
	bool asked; /* the user has said something of it */
	char name[STAGES_NAME];
};

#define STAGE_TRIGGERS ((STAGES_MOST + 1) * STAGE_ROLES)

/* The run itself, which is in none of the user's stages, or has none. */
extern struct stage stage_run;
extern unsigned stage_count; /* of the user's */

void stage_start(const struct config *cfg);
/* Does the marker of any stage, or of the run, look at annotations? */
bool stage_wants_names(void);
/* The trigger of an annotation or operator by its name, or -1. */
int stage_find(const char *name, size_t len);
/* Names of Python's function that is the trigger, '|' between them; NULL: none is, or a
 * trigger before it has the same. */
const char *stage_function(unsigned trigger);
uint64_t stage_group(unsigned trigger); /* bits of all that have its function */
struct stage *stage_of(unsigned trigger);
const struct marker *stage_marker(unsigned trigger); /* what it was read from */
void stage_reset(void); /* before step 0, under the lock: no step has ended yet */

#endif
