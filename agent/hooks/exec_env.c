/* SPDX-License-Identifier: Apache-2.0 */
/* An environment without us: read row by row, made anew without ours. */
#include "agent/hooks/exec.h"
#include "config/own_env.h"

#include <string.h>

/* By the first letter, before all of a row is checked: can it be LD_PRELOAD, PROF_*,
 * CUDA_INJECTION64_PATH, LD_TRACE_LOADED_OBJECTS or VALGRIND_LAUNCHER? */
static bool may_be_ours(const char *row)
{
	return *row == 'L' || *row == 'P' || *row == 'C' || *row == 'V';
}

static void read_row(struct exec_env *e, const char *row)
{
	const char *value = own_env_value(row, "LD_PRELOAD"), *word;
	size_t len;

	if (value && (word = own_env_word(value, &len))) {
		e->preload = value;
		e->word = word;
		e->word_length = len;
		e->ours = true;
		e->size += strlen(row) + 1;
	} else if (own_env_value(row, "CUDA_INJECTION64_PATH")) {
		e->ours |= own_env_is(row);
	} else if ((value = own_env_value(row, "PROF_JOB"))) {
		e->job = value;
	} else if (own_env_value(row, "LD_TRACE_LOADED_OBJECTS")) {
		e->lists = true;
	} else if (own_env_value(row, "VALGRIND_LAUNCHER")) {
		e->loads = true;
	}
}

static bool read_rows(struct exec_env *e, char *const *envp)
{
	struct exec_seen seen = { { 0 } };

	for (; exec_sees(&seen, envp, sizeof(*envp)); envp++) {
		if (!*envp)
			return true;
		if (!exec_sees(&seen, *envp, 1))
			return false;
		e->size += sizeof(*envp);
		if (!may_be_ours(*envp))
			continue;
		if (!exec_sees_text(&seen, *envp))
			return false;
		read_row(e, *envp);
	}
	return false;
}

void exec_env_read(struct exec_env *e, char *const *envp)
{
	bool whole;

	*e = (struct exec_env){ .size = sizeof(*envp) };
	whole = read_rows(e, envp);
	/* What is started is valgrind: a static program that loads others, as the loader
	 * does. */
	if (!whole || e->loads)
		e->ours = false;
	e->cleared = whole && !e->ours && !e->loads && !e->lists;
}

/* Rows that stay are the caller's own; a preload list with other words gets a new row. */
char **exec_env_make(char *room, size_t size, char *const *envp)
{
	static const char name[] = "LD_PRELOAD=";
	char **out = (char **)room, *text = room + size, *row;
	size_t n, len;

	for (; *envp; envp++) {
		/* Another thread may have added to the environment since it was
		 * measured. */
		if ((char *)(out + 2) > text)
			return NULL;
		row = *envp;
		if (may_be_ours(row) && own_env_is(row))
			continue;
		if (strncmp(row, name, sizeof(name) - 1) ||
		    !own_env_word(row + sizeof(name) - 1, &len)) {
			*out++ = row;
			continue;
		}
		len = strlen(row) + 1;
		if (len > (size_t)(text - (char *)(out + 2)))
			return NULL;
		text -= len;
		memcpy(text, name, sizeof(name) - 1);
		n = own_env_others(row + sizeof(name) - 1, text + sizeof(name) - 1,
				   len - (sizeof(name) - 1));
		if (n)
			*out++ = text;
	}
	*out = NULL;
	return (char **)room;
}
