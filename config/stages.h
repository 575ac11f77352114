/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stages - train, validation, test: parts of a run with steps and files of their own.
 *
 * Threads  as config: parsing one at a time, a filled struct config is read-only.
 * Memory   the caller's.
 * Errors   NULL for fine, else why not, as text that stays until the next call.
 * Units    bytes; stages count from 1, 0 is none.
 */
#ifndef CONFIG_STAGES_H
#define CONFIG_STAGES_H

#include "config/config.h"

#define STAGES_MOST 8
#define STAGES_NAME 32 /* a name's bytes at most, its end among them */
#define STAGES_TEXT 256 /* a value's */

#define STAGES_SECTION (sizeof(STAGES_PREFIX) + STAGES_NAME)
#define STAGES_PREFIX  "stage." /* of options: stage.val.marker */
#define STAGES_ENV     "PROF_STAGE_" /* of rows of an environment: PROF_STAGE_val_marker */

#define STAGES_KEYS(KEY) \
	KEY(marker) KEY(within) KEY(enter) KEY(leave) KEY(schedule) KEY(file)

/* A text that is empty was not given. */
struct stages_row {
	char name[STAGES_NAME];
	char marker[STAGES_TEXT]; /* auto, torch:..., python:f|g[@begin|@end] */
	char within[STAGES_TEXT]; /* python:f|g */
	char enter[STAGES_TEXT], leave[STAGES_TEXT]; /* python:f|g[@begin|@end] */
	char schedule[STAGES_TEXT];
	char file[STAGES_TEXT];
};

static inline bool stages_any(const struct config *c)
{
	return c->preset || *c->stages;
}

/* Those of the preset first, then the others by their names. What the user says of one of
 * the preset's counts over it, key by key; within, enter and leave are one key there.
 * Returns how many; `rows` has STAGES_MOST. */
size_t stages_of(const struct config *c, struct stages_row *rows);
/* Of the stage of that number; "" where there is none. */
void stages_name(const struct config *c, unsigned number, char *buf, size_t size);
/* What its files' names have behind the process: `file`, else a dot and the name. */
void stages_suffix(const struct config *c, unsigned number, char *buf, size_t size);
/* Why what was said of stages makes none: one without a marker, with two ways in, ... */
const char *stages_check(const struct config *c);

/* Sets "<name>.<key>" to a value without blanks around it; an empty value takes back what
 * was said before. A dash in a name is an underscore: names of variables have none. */
const char *stages_set(struct config *c, const char *name, const char *v, size_t len);
/* "<name>=<marker>", of --stage. */
const char *stages_set_marker(struct config *c, const char *v, size_t len);
bool stages_has_key(const char *key);
/* "[stage <name>]": what config_line_in needs for the lines behind it. */
const char *stages_head(const char *head, char section[STAGES_SECTION]);
/* The option's name, "stage.<name>.<key>", of an environment's row whose name has `len`
 * bytes; false: it is no stage's. */
bool stages_of_row(const char *row, size_t len, char *name, size_t size);

#endif
