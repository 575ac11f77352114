/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_near - a name that no option has, and the one that was meant.
 *
 * Threads  parsing: one at a time.
 * Memory   static: a complaint stays until the next call.
 * Errors   NULL: no name is near.
 * Units    none.
 */
#ifndef CONFIG_CONFIG_NEAR_H
#define CONFIG_CONFIG_NEAR_H

const char *config_nearest(const char *name); /* to a misspelt one; may be NULL */
/* Why a name is refused that no option has, with the nearest as it is spelt there: in a
 * file, on the command line (without its dashes), in the environment. */
enum config_where { CONFIG_LINE, CONFIG_WORD, CONFIG_ROW };
const char *config_unknown(const char *typed, enum config_where where);

#endif
