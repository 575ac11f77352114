/* SPDX-License-Identifier: Apache-2.0 */
/* The agent reads neither files nor a command line: what the launcher decided reaches it
 * by PROF_* rows, the same in each process of the job; an option without one has its
 * default. Rows of an outer job, and of the user, are left out first. */
#include "launcher/environment.h"
#include "base/array.h"
#include "config/keyed.h"
#include "config/own_env.h"
#include "config/stages.h"

#include <ctype.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	char **at;
	size_t count, room;
	bool short_of_memory;
};

static void append_entry(struct list *l, char *entry)
{
	bool room = GROW(l->at, l->room, l->count + 1);

	l->short_of_memory |= !room || !entry;
	if (!room)
		return;
	l->at[l->count++] = entry;
	l->at[l->count] = NULL;
}

static void add_variable(struct list *l, const char *name, const char *value)
{
	char *entry;

	append_entry(l, asprintf(&entry, "%s=%s", name, value) < 0 ? NULL : entry);
}

static void option_name(char *buf, size_t size, const char *option)
{
	snprintf(buf, size, "PROF_%s", option);
	for (char *p = buf; *p; p++)
		*p = (char)toupper((unsigned char)*p);
}

/* Until glibc 2.34 these libraries were no part of libc.so.6; the agent itself does not
 * need them, so that no program pays for them where they are still separate. */
static const char *old_libraries(void)
{
	bool whole = strverscmp(gnu_get_libc_version(), "2.34") >= 0;

	return whole ? "" : ":" OWN_ENV_OLD_LIBRARIES;
}

/* Puts the agent first; the old list follows, without the agent of an outer job. */
static void add_preload(struct list *l, const char *old, const char *agent)
{
	const char *libraries = old_libraries();
	size_t size = strlen(agent) + strlen(libraries) + (old ? strlen(old) : 0) + 2, n;
	char *text = malloc(size);

	if (!text) {
		l->short_of_memory = true;
		return;
	}
	n = (size_t)snprintf(text, size, "%s%s:", agent, libraries);
	if (!old || !own_env_others(old, text + n, size - n))
		text[n - 1] = '\0';
	add_variable(l, "LD_PRELOAD", text);
	free(text);
}

/* Shells leave rows out of the environment that have dots in their names: stages have
 * `dot` there. */
static void add_lines(struct list *l, const char *lines, const char *prefix, char dot)
{
	char name[160], value[CONFIG_METADATA], *p;
	struct keyed_row row;

	while (keyed_next(&lines, &row)) {
		snprintf(name, sizeof(name), "%s%.*s", prefix, (int)row.key_len, row.key);
		for (p = name; *p; p++)
			*p = *p == '.' ? dot : *p;
		config_quote(row.value, row.value_len, value, sizeof(value));
		add_variable(l, name, value);
	}
}

/* Each row costs each process of the job a copy and a look, the C library's among them.
 */
static void add_options(struct list *l, const struct config *c)
{
	char name[160], value[CONFIG_TEXT + 2], usual[CONFIG_TEXT + 2];
	static struct config defaults;

	config_defaults(&defaults);
	for (const struct config_option *o = config_options; *o->name; o++) {
		if (!strcmp(o->name, "config"))
			continue;
		option_name(name, sizeof(name), o->name);
		config_value(c, o, value, sizeof(value));
		config_value(&defaults, o, usual, sizeof(usual));
		if (*value && strcmp(value, usual))
			add_variable(l, name, value);
	}
	add_lines(l, c->metadata, "PROF_METADATA_", '.');
	add_lines(l, c->stages, STAGES_ENV, '_');
}

char **environment_make(char *const *env, const struct config *c, const char *agent,
			const char *job)
{
	struct list l = { 0 };
	const char *preload = getenv("LD_PRELOAD");

	for (; *env; env++)
		if (!own_env_is(*env) && !own_env_value(*env, "LD_PRELOAD"))
			append_entry(&l, *env);
	add_preload(&l, preload, agent);
	add_options(&l, c);
	add_variable(&l, "PROF_JOB", job);
	return l.short_of_memory ? NULL : l.at;
}
