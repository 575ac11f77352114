/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args - the command line, and all that configures a run.
 *
 * Threads  one.
 * Memory   points into argv; the complaints lie inside the struct.
 * Errors   args_parse returns how many things are wrong; `bad` has a line for each.
 * Units    none.
 */
#ifndef LAUNCHER_ARGS_H
#define LAUNCHER_ARGS_H

#include "agent/core/config.h"

#define ARGS_OPERANDS 16

struct args {
	struct config config; /* default < file < environment < command line */
	const char *verb; /* "recover", "doctor", "--help", ...; NULL = run the command */
	const char *operand[ARGS_OPERANDS +
			    1]; /* recover's directories, --print-man's page */
	unsigned operands;
	char **command; /* what follows "--"; NULL = no "--" */
	char bad[4096]; /* complaints, a line each */
	unsigned wrong;
};

int args_parse(struct args *a, char **argv, char *const *env);
/* What the option table cannot judge: schedule, marker, file, spool. For config_check. */
const char *args_check(const char *name, const char *value);

#endif
