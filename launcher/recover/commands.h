/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands - runs on_trace's command for finished files without its mark.
 *
 * Threads  one.
 * Memory   names of a directory.
 * Errors   lines.
 * Units    files.
 */
#ifndef RECOVER_COMMANDS_H
#define RECOVER_COMMANDS_H

#include <stdbool.h>

/* Looks at files in a log directory and its children/. With a command, each is named and
 * the command is run for them, one after the other; without (NULL) they are named where
 * other files there have a mark, or where `wanted`. False: a command went wrong. */
bool commands_run_file(const char *path, const char *command);
bool commands_run(const char *logdir, const char *command, bool wanted);

#endif
