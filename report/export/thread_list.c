/* SPDX-License-Identifier: Apache-2.0 */
/* Looks threads up by their names and numbers; a message lists those that there are. */
#include "report/export/thread_list.h"

#include <stdio.h>
#include <string.h>

/* "main" of "thread 7 (main)". */
static bool is_inside_brackets(const char *name, const char *word)
{
	const char *open = strrchr(name, '(');
	size_t len = strlen(word);

	return open && !strncmp(open + 1, word, len) && !strcmp(open + 1 + len, ")");
}

/* Is it the name of the thread, what its brackets have, or its number? */
static bool is_called(const struct model *m, const struct thread *t, const char *word)
{
	const char *name = t->name == TEXT_NONE ? "" : texts_get(&m->texts, t->name);
	char number[32];

	snprintf(number, sizeof(number), "%lld", (long long)t->tid);
	return !strcmp(word, name) || (t->tid >= 0 && !strcmp(word, number)) ||
	       is_inside_brackets(name, word);
}

/* Lists a few of the threads that there are. */
static bool no_thread(const struct model *m, const char *path, const char *word,
		      char *why, size_t size)
{
	size_t n = (size_t)snprintf(why, size, "%s: has no thread %.100s: it has", path,
				    word);

	for (size_t i = 0; i < m->threads_n && i < 8 && n < size; i++) {
		const struct thread *t = &m->threads[i];

		n += (size_t)snprintf(
			why + n, size - n, "%s %lld%s%.40s%s", i ? "," : "",
			(long long)t->tid, t->name == TEXT_NONE ? "" : " (",
			t->name == TEXT_NONE ? "" : texts_get(&m->texts, t->name),
			t->name == TEXT_NONE ? "" : ")");
	}
	if (m->threads_n > 8 && n < size)
		snprintf(why + n, size - n, ", ...");
	return false;
}

/* Each word must name some thread: one that was mistyped would cut all away. */
bool thread_list_find(const struct model *m, const char *path,
		      const struct cut_options *o, bool *listed, char *why, size_t size)
{
	for (size_t k = 0; k < o->threads_n; k++) {
		bool any = false;

		for (size_t i = 0; i < m->threads_n; i++) {
			bool mine = is_called(m, &m->threads[i], o->threads[k]);

			listed[i] |= mine;
			any |= mine;
		}
		if (!any)
			return no_thread(m, path, o->threads[k], why, size);
	}
	return true;
}
