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

#include "config/config.h"

#define ARGS_OPERANDS 16

extern const char *const args_verbs[]; /* proflaunch's own verbs; ends with NULL */
/* Those whose options are not a run's: they read the words behind them. */
extern const char *const args_own_verbs[];

struct args {
	struct config config; /* default < file < environment < command line */
	const char *verb; /* of args_verbs, or "--help", ...; NULL = run the command */
	const char *operand[ARGS_OPERANDS +
			    1]; /* recover's directories, --print-man's page */
	unsigned operands;
	size_t limit; /* bottleneck's --limit; 0 = another verb, or none */
	const char *output; /* recover's --output; NULL = each directory itself */
	bool has_on_trace; /* on_trace is on the command line, not only in a file */
	char **command; /* what is run, or what follows "report", "memory" or
			 * "export"; NULL = none */
	bool bare; /* the command's first word stands without "--" before it */
	const char *flag; /* the option just before that word, if it had no value */
	char bad[4096]; /* complaints, a line each */
	unsigned wrong;
	unsigned options; /* how many options the command line has, known or not */
	bool verbose; /* --version says more */
	bool quiet_said; /* --quiet was given, with any value */
};

/* Reads configuration file, environment and command line; `argv` (with the program's
 * name) and `env` end with NULL, and argv has to stay as long as *a. */
int args_parse(struct args *a, char **argv, char *const *env);

#endif
