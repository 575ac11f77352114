/* SPDX-License-Identifier: Apache-2.0 */
/* The records of such calls are the first of their thread, the outermost before the
 * others, and ends last: `end` is when the thread was seen outside of it. */
#include "writer/python/returned.h"

#define MOST \
	4096 /* a spool may be hostile: others end when they were seen to have ended */

struct call {
	const struct rec_module *record;
	uint64_t end; /* of the last thing in it */
};

static struct call *nth_call(const struct returned *s, size_t i)
{
	return (struct call *)s->calls.mem + i;
}

void returned_thread(struct returned *s)
{
	s->first = s->calls.n;
}

int returned_note(struct returned *s, const struct cycle_read *c, const struct record *r)
{
	const struct call new = { (const struct rec_module *)r, r->begin };
	uint64_t end = read_end(c, r), most;

	if (r->kind == REC_MODULE && r->flags & MODULE_GONE)
		return s->calls.n - s->first < MODULE_LEVELS && s->calls.n < MOST
			       ? pile_add(&s->calls, &new, sizeof(new))
			       : 0;
	if (r->kind != REC_MODULE && r->kind != REC_OP && r->kind != REC_ANNOTATION &&
	    r->kind != REC_C_CALL)
		return 0;
	for (size_t i = s->first; i < s->calls.n; i++) {
		struct call *call = nth_call(s, i);

		most = read_end(c, &call->record->r);
		if (r->begin >= most)
			break;
		most = end < most ? end : most;
		call->end = call->end > most ? call->end : most;
	}
	return 0;
}

uint64_t returned_end(const struct returned *s, const struct cycle_read *c,
		      const struct rec_module *m)
{
	for (size_t i = 0; m->r.flags & MODULE_GONE && i < s->calls.n; i++)
		if (nth_call(s, i)->record == m)
			return nth_call(s, i)->end;
	return read_end(c, &m->r);
}

void returned_free(struct returned *s)
{
	pile_free(&s->calls);
}
