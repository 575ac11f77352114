/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roff - text as man(7) wants it, on stdout.
 *
 * Threads  one.
 * Memory   none.
 * Errors   none; main() checks stdout in the end.
 * Units    none.
 */
#ifndef LAUNCHER_ROFF_H
#define LAUNCHER_ROFF_H

#include "config/config.h"

/* Writes text in which a backslash, a dash and a leading dot mean themselves. */
void roff_text(const char *text);
/* Writes a sentence: begins with a capital letter, ends with a stop. */
void roff_sentence(const char *text);
/* Writes the page's name and its first lines. */
void roff_head(const char *page, const char *section);
/* `body` is roff already. */
void roff_section(const char *name, const char *body);
/* Writes "--record-shapes [on|off]", without the meaning. */
void roff_option(const struct config_option *o);
/* Writes what the option takes: "on|off", or the unit. */
void roff_value(const struct config_option *o);
/* Writes the option's meaning, range and default. */
void roff_help(const struct config_option *o);
/* An option of a verb of its own, a row of report.def, memory.def, ... */
void roff_row(const char *name, const char *value, const char *text);

#endif
