/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands - on_trace's command for finished files that have no mark of it.
 *
 * Threads  one.
 * Memory   names of a directory.
 * Errors   lines.
 * Units    files.
 */
#ifndef RECOVER_COMMANDS_H
#define RECOVER_COMMANDS_H

#include <stdbool.h>

/* In a log directory and its children/. With a command each is named and it is run for
 * them, one after the other; without (NULL) they are named where others there have a
 * mark, or where `wanted`. False: a command went wrong. */
bool commands_run_file(const char *path, const char *command);
bool commands_run(const char *logdir, const char *command, bool wanted);

#endif
