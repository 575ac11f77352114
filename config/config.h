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
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_TEXT     1024
#define CONFIG_METADATA 4096

/* enum cfg_malloc { MALLOC_OFF, ... }: what the members of choices hold. */
#define NUMBER(number, text) number,
#define CFG(type, name, def, low, high, choices, unit, help) \
	enum cfg_##name{ choices(NUMBER, NUMBER) cfg_##name##_n };
#include "config/config.def"
#undef CFG
#undef NUMBER

enum cfg_type { CFG_u32, CFG_flag, CFG_choice, CFG_set, CFG_text };
#define CONFIG_HAS(set, choice) ((set) >> (choice)&1u) /* has a set that choice? */

/* The members are the names of config.def, plus the lines of keyed ones. Numbers first: a
 * page of texts that nobody set is touched by nobody. */
struct config {
#define EITHER_u32(number, text)    number
#define EITHER_flag(number, text)   number
#define EITHER_choice(number, text) number
#define EITHER_set(number, text)    number
#define EITHER_text(number, text)   text
#define CFG(type, name, def, low, high, choices, unit, help) \
	EITHER_##type(uint32_t name;, )
#include "config/config.def"
#undef CFG
#define CFG(type, name, def, low, high, choices, unit, help) \
	EITHER_##type(, char name[CONFIG_TEXT];)
#include "config/config.def"
#undef CFG
#undef EITHER_u32
#undef EITHER_flag
#undef EITHER_choice
#undef EITHER_set
#undef EITHER_text
	char metadata[CONFIG_METADATA]; /* "key = value\n" for each metadata.<key> */
	char stages[CONFIG_METADATA]; /* "name.key = value\n" for each stage.<name>.<key>
				       */
};

/* Texts lie inside: pointers would be written by the dynamic linker at each start. */
struct config_option {
	char name[24]; /* "record_shapes" */
	char def[16]; /* default as text */
	char values[32]; /* choices, separated by a vertical bar; "" otherwise */
	char unit[12];
	uint16_t help_at; /* config_help */
	enum cfg_type type;
	size_t at; /* offset in struct config */
	uint32_t low, high;
};
extern const struct config_option config_options[]; /* ends with name "" */
const char *config_help(const struct config_option *o);
/* torch.profiler's names of options: each means the same wherever a name is read. */
extern const struct config_alias {
	char name[16], option[16];
} config_aliases[]; /* ends with name "" */
const char *config_alias(const char *name); /* the option's name; else `name` itself */
/* A dash in `name` is an underscore; NULL: there is no such option. */
const struct config_option *config_find(const char *name);
bool config_is_keyed(const char *name); /* metadata.<key>, stage.<name>.<key>, stage */
/* Takes on and off in each spelling, and may stand alone. */
bool config_is_switch(const struct config_option *o);
bool config_wants_inputs(const struct config *c); /* of operators? */

/* The word before a marker's text that tells its kind; auto and none have none. */
#define MARKER_BY_TORCH  "torch:"
#define MARKER_BY_SYMBOL "symbol:"
#define MARKER_BY_CUDA   "cuda:"
#define MARKER_BY_KERNEL "kernel:"
#define MARKER_BY_TIME   "time:"
#define MARKER_BY_PYTHON "python:"
bool config_marker_is(const struct config *c, const char *by); /* is it of that kind? */
bool config_wants_modules(const struct config *c); /* are calls of modules recorded? */

/* Refuses texts that the table cannot judge (a plan, a marker); NULL = not set. */
extern const char *(*config_check)(const char *name, const char *value);

void config_defaults(struct config *c);
void config_defaults_zeroed(struct config *c); /* all is zero: less is touched */
/* Sets one option from text; a keyed one, too. */
const char *config_set(struct config *c, const char *name, const char *value);
/* One line of a profile.conf, its comment cut off: blank lines and those that begin with
 * '#' are fine. Cuts `line`. */
const char *config_line(struct config *c, char *line);
/* The same of a section, whose name "stage.<name>." comes before the line's; NULL: none.
 * A line that has such a name itself is in none. */
const char *config_line_in(struct config *c, const char *section, char *line);
/* Defaults, then such lines; a line that is wrong leaves its option as it is. Cuts
 * `text`. */
void config_lines(struct config *c, char *text);
/* Reads PROF_* of `env` (as environ); calls bad(name, why) for each row that is wrong. */
void config_env(struct config *c, char *const *env,
		void (*bad)(const char *name, const char *why, void *arg), void *arg);
/* A value in quotes, if it would lose something without. Returns the length, like fmt. */
size_t config_quote(const char *value, size_t len, char *buf, size_t size);
/* One option as text, as config_set reads it. Returns the length, like fmt. */
size_t config_value(const struct config *c, const struct config_option *o, char *buf,
		    size_t size);
/* Effective options as "key = value\n" lines (what config_line reads back). */
size_t config_print(const struct config *c, char *buf, size_t size);

#endif
