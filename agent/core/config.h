/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config - every option we have: one table, three spellings.
 *
 * Threads  parsing: one at a time.  A filled struct config is read-only.
 * Memory   everything lies inside the struct; nothing is allocated.
 * Errors   parsers return NULL for fine, else why not, as text that stays until
 *          the next call.
 * Units    in the table (config.def).
 */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_TEXT     1024
#define CONFIG_METADATA 4096

typedef uint32_t cfg_u32;
typedef uint32_t cfg_flag;
typedef uint32_t cfg_choice;
typedef char cfg_text[CONFIG_TEXT];

enum cfg_dialect { DIALECT_KINETO, DIALECT_TB043 };
enum cfg_format { FORMAT_JSON, FORMAT_JSON_GZ };
enum cfg_activities { ACTIVITIES_CPU, ACTIVITIES_CUDA, ACTIVITIES_BOTH };
enum cfg_graphs { GRAPHS_NODE, GRAPHS_GRAPH, GRAPHS_OFF };
enum cfg_stacks { STACKS_OFF, STACKS_NATIVE };
enum cfg_occupancy { OCCUPANCY_EXACT, OCCUPANCY_KINETO };

enum cfg_type { CFG_u32, CFG_flag, CFG_choice, CFG_text };

/* The members are the names of config.def, plus the metadata lines. */
struct config {
#define CFG(type, name, def, low, high, values, unit, help) cfg_##type name;
#include "agent/core/config.def"
#undef CFG
	char metadata[CONFIG_METADATA]; /* "key = value\n" for each metadata.<key> */
};

struct config_option {
	const char *name; /* "record_shapes" */
	const char *def; /* default as text */
	const char *values; /* choices, separated by a vertical bar; "" otherwise */
	const char *unit, *help;
	enum cfg_type type;
	size_t at; /* offset in struct config */
	uint32_t low, high;
};
extern const struct config_option config_options[]; /* ends with name NULL */

/* Refuses texts that the table cannot judge (a plan, a marker); NULL = not set. */
extern const char *(*config_check)(const char *name, const char *value);

void config_defaults(struct config *c);
/* Sets one option from text; `metadata.<key>` too. */
const char *config_set(struct config *c, const char *name, const char *value);
/* One line of a profile.conf: comments and blank lines are fine. Cuts `line`. */
const char *config_line(struct config *c, char *line);
/* From PROF_* of `env` (as environ); calls bad(name, why) for each that is wrong. */
void config_env(struct config *c, char *const *env,
		void (*bad)(const char *name, const char *why, void *arg), void *arg);
/* The option name nearest to a misspelt one, or NULL. */
const char *config_nearest(const char *name);
/* One option as text, as config_set reads it. Returns the length, like fmt. */
size_t config_value(const struct config *c, const struct config_option *o, char *buf,
		    size_t size);
/* Effective options as "key = value\n" lines (what config_line reads back). */
size_t config_print(const struct config *c, char *buf, size_t size);

#endif
