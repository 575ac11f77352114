/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/environment.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	char **at;
	size_t count, room;
	bool short_of_memory;
};

static void append(struct list *l, char *entry)
{
	if (l->count + 2 > l->room) {
		size_t room = 2 * l->room + 64;
		char **more = realloc(l->at, room * sizeof(*more));

		l->short_of_memory |= !more;
		if (!more)
			return;
		l->at = more;
		l->room = room;
	}
	l->short_of_memory |= !entry;
	l->at[l->count++] = entry;
	l->at[l->count] = NULL;
}

static void add(struct list *l, const char *name, const char *value)
{
	char *entry;

	append(l, asprintf(&entry, "%s=%s", name, value) < 0 ? NULL : entry);
}

static void option_name(char *buf, size_t size, const char *option)
{
	snprintf(buf, size, "PROF_%s", option);
	for (char *p = buf; *p; p++)
		*p = (char)toupper((unsigned char)*p);
}

static bool is(const char *entry, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(entry, name, len) && entry[len] == '=';
}

/* Entries that we set ourselves, or an agent that is at work around us. */
static bool is_ours(const char *entry)
{
	const char *slash = strrchr(entry, '/');
	char name[64];

	for (const struct config_option *o = config_options; o->name; o++) {
		option_name(name, sizeof(name), o->name);
		if (is(entry, name))
			return true;
	}
	if (is(entry, "CUDA_INJECTION64_PATH") && slash)
		return !strcmp(slash, "/libproflaunch.so");
	return is(entry, "PROF_JOB") || is(entry, "LD_PRELOAD") ||
	       !strncmp(entry, "PROF_METADATA_", 14);
}

/* The agent first; what was there follows, without an older mention of the agent. */
static void add_preload(struct list *l, const char *old, const char *agent)
{
	size_t size = strlen(agent) + (old ? strlen(old) : 0) + 2, n;
	char *text = malloc(size);

	if (!text) {
		l->short_of_memory = true;
		return;
	}
	n = (size_t)snprintf(text, size, "%s", agent);
	while (old && *old) {
		size_t len = strcspn(old, ": ");

		if (len && (len != strlen(agent) || strncmp(old, agent, len)))
			n += (size_t)snprintf(text + n, size - n, ":%.*s", (int)len, old);
		old += len + (old[len] != '\0');
	}
	add(l, "LD_PRELOAD", text);
	free(text);
}

/* Every option, also those with their default: the agent reads no file below us. */
static void add_options(struct list *l, const struct config *c)
{
	char name[160], value[CONFIG_METADATA];

	for (const struct config_option *o = config_options; o->name; o++) {
		if (!strcmp(o->name, "config"))
			continue;
		option_name(name, sizeof(name), o->name);
		config_value(c, o, value, sizeof(value));
		if (*value)
			add(l, name, value);
	}
	for (const char *p = c->metadata; *p; p += strcspn(p, "\n") + 1) {
		const char *equals = strstr(p, " = ");
		int key = (int)(equals - p), len = (int)strcspn(equals + 3, "\n");

		snprintf(name, sizeof(name), "PROF_METADATA_%.*s", key, p);
		snprintf(value, sizeof(value), "%.*s", len, equals + 3);
		add(l, name, value);
	}
}

char **environment_make(char *const *env, const struct config *c, const char *agent,
			const char *job)
{
	struct list l = { 0 };
	const char *preload = getenv("LD_PRELOAD");

	for (; *env; env++)
		if (!is_ours(*env))
			append(&l, *env);
	add_preload(&l, preload, agent);
	add_options(&l, c);
	add(&l, "PROF_JOB", job);
	return l.short_of_memory ? NULL : l.at;
}
