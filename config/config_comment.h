/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_comment - comments in the lines of a profile.conf.
 *
 * Threads  any.
 * Memory   none.
 * Errors   none.
 * Units    bytes.
 */
#ifndef CONFIG_CONFIG_COMMENT_H
#define CONFIG_CONFIG_COMMENT_H

/* Ends a line before its comment: a '#' at the line's begin, or behind a blank, that does
 * not stand in quotes. */
void config_comment_cut(char *line);

#endif
