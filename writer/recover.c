/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/trace.h"

#include <errno.h>
#include <string.h>

struct recovery {
	struct config config;
	struct writer_result result;
	struct read_index index;
	char text[SPOOL_CONFIG + 1];
};

/* What the process ran with; a line that makes no sense leaves the default. */
static void read_config(struct recovery *r, const struct spool_header *h)
{
	char *line = r->text, *next;

	memcpy(r->text, h->config, SPOOL_CONFIG);
	config_defaults(&r->config);
	for (; *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		config_line(&r->config, line);
	}
}

/* The descriptor behind a cycle's chunk, if there is work left in it. */
static const struct cycle_info *unwritten(const struct chunk *c)
{
	struct cycle_info *info = (struct cycle_info *)(c + 1);
	uint32_t state;

	if (atomic_load(&((struct chunk *)c)->kind) != CHUNK_CYCLE ||
	    atomic_load(&((struct chunk *)c)->used) < sizeof(*c) + sizeof(*info))
		return NULL;
	state = atomic_load(&info->state);
	return state == CYCLE_OPEN || state == CYCLE_SEALED ? info : NULL;
}

int writer_recover(const struct spool_view *v,
		   void (*done)(const struct writer_result *r, void *arg), void *arg)
{
	struct recovery *r = pile_map(sizeof(*r));
	const struct chunk *c;
	uint64_t at = 0;
	int err = -ENOMEM;

	if (!r)
		return err;
	read_config(r, v->head);
	err = read_index(&r->index, v);
	if (err)
		goto unmap;
	while ((c = spool_view_next(v, &at))) {
		const struct cycle_info *info = unwritten(c);
		int failed;

		if (!info)
			continue;
		failed = trace_write(v, &r->index, info, &r->config, &r->result);
		if (failed)
			err = failed;
		else
			done(&r->result, arg);
	}
	read_index_free(&r->index);
unmap:
	pile_unmap(r, sizeof(*r));
	return err;
}
