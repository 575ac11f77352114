/* SPDX-License-Identifier: Apache-2.0 */
/* An agent's job must not reach into programs that it is no part of: where one is
 * started without the agent, these rows are left out of its environment, and a
 * launcher inside of a job takes the outer one's away. No call allocates: a child of
 * vfork uses these, in its parent's memory. */
#include "config/own_env.h"
#include "base/text.h"
#include "config/config.h"
#include "config/several.h"
#include "config/stages.h"

#include <string.h>

const char *own_env_value(const char *row, const char *name)
{
	size_t len;

	if (*row != *name) /* most rows: no call for them */
		return NULL;
	len = strlen(name);
	return !strncmp(row, name, len) && row[len] == '=' ? row + len + 1 : NULL;
}

/* The agent is known by its name's last part: an installation may lie anywhere, and
 * another version of the agent is ours, too. */
static bool names_agent(const char *path, size_t len)
{
	size_t own = strlen(OWN_ENV_LIBRARY);

	return len >= own && !memcmp(path + len - own, OWN_ENV_LIBRARY, own) &&
	       (len == own || path[len - own - 1] == '/');
}

/* "BUFFER_MB=..." of the option buffer_mb, in each spelling that config_env reads. */
static bool is_option(const char *row, const char *option)
{
	for (; *option; option++, row++)
		if (text_lower(*row) != *option && !(*row == '-' && *option == '_'))
			return false;
	return *row == '=';
}

bool own_env_is(const char *row)
{
	const char *path = own_env_value(row, "CUDA_INJECTION64_PATH");
	char name[128];

	if (path)
		return names_agent(path, strlen(path));
	if (strncmp(row, "PROF_", 5))
		return false;
	if (stages_of_row(row, strcspn(row, "="), name, sizeof(name)))
		return true;
	row += 5;
	if (!strncmp(row, "METADATA_", 9) || !strncmp(row, "JOB=", 4) ||
	    is_option(row, SEVERAL_CUDA_STACKS) || is_option(row, SEVERAL_MALLOC_STACKS))
		return true;
	for (const struct config_alias *a = config_aliases; *a->name; a++)
		if (is_option(row, a->name))
			return true;
	for (const struct config_option *o = config_options; *o->name; o++)
		if (is_option(row, o->name))
			return true;
	return false;
}

/* The word at `list` or behind it; the loader parts them so. */
static const char *next_word(const char *list, size_t *len)
{
	list += strspn(list, ": ");
	*len = strcspn(list, ": ");
	return *len ? list : NULL;
}

const char *own_env_word(const char *list, size_t *len)
{
	for (; (list = next_word(list, len)); list += *len)
		if (names_agent(list, *len))
			return list;
	return NULL;
}

/* Where glibc is old the launcher names these behind the agent. */
static bool is_old_library(const char *path, size_t len)
{
	return (len == 15 && !memcmp(path, "libpthread.so.0", len)) ||
	       (len == 10 && !memcmp(path, "libdl.so.2", len));
}

size_t own_env_others(const char *list, char *buf, size_t size)
{
	bool ours = false;
	size_t n = 0, len;

	for (; (list = next_word(list, &len)); list += len) {
		ours = names_agent(list, len) || (ours && is_old_library(list, len));
		if (ours || n + (n > 0) + len + 1 > size)
			continue;
		if (n)
			buf[n++] = ':';
		memcpy(buf + n, list, len);
		n += len;
	}
	if (size)
		buf[n] = '\0';
	return n;
}
