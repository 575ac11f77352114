/* SPDX-License-Identifier: Apache-2.0 */
/* Frames by module and offset, and the texts that a helper process gave for them. A
 * process's texts are kept for its next window. */
#include "writer/symbols/symbols.h"
#include "base/fmt.h"
#include "writer/pile.h"
#include "writer/sort.h"

#include <errno.h>
#include <string.h>

#define PATIENCE_NS 30000000000ll /* for one window's frames */
#define TEXTS_MOST  (256u << 20) /* bytes of texts */
#define KEPT_MOST   (64u << 20) /* ... that are kept for the next window */
#define PATH_SHOWN  200 /* bytes of a module's name in a text */

int (*symbols_ask)(const char *question, size_t len, int64_t ns,
		   int (*take)(void *arg, const char *text, size_t len), void *arg);

#define NOTED_BYTES(s) ((s)->view->size / sizeof(struct stack) / 8 + 1)

struct entry {
	struct stack_frame frame;
	uint64_t at; /* where its texts begin */
	uint32_t n; /* its texts; 0 = not resolved yet */
	bool known;
};

struct symbols {
	const struct spool_view *view;
	uint32_t pid; /* the process that the module ids belong to ... */
	uint64_t start_time;
	struct pile entries; /* entry + 1, by hash; `slots` of them, a power of two */
	uint32_t *slot; /* of entries, + 1; a power of two */
	size_t slots;
	uint8_t *noted; /* a bit for each stack of the spool all of whose frames are */
	bool wanted; /* anything, in this window */
	struct pile texts; /* char */
	struct pile order; /* struct asked: by module, then offset */
};

/* The texts of the last process's frames; NULL while a caller has them. */
static struct symbols *kept;
static bool tired; /* the helper did not answer in time: nobody asks it again */

/* ---- frames ---- */

static struct entry *entry_at(const struct symbols *s, size_t i)
{
	return (struct entry *)s->entries.mem + i;
}

/* The slot of a frame, or the empty slot where that frame belongs. */
static size_t place_of(const struct symbols *s, struct stack_frame f)
{
	uint64_t h = (f.offset ^ (uint64_t)f.module << 40) * 0x9e3779b97f4a7c15ull;
	size_t at = (size_t)(h >> 20) & (s->slots - 1);

	while (s->slot[at]) {
		const struct entry *e = entry_at(s, s->slot[at] - 1);

		if (e->frame.module == f.module && e->frame.offset == f.offset)
			break;
		at = (at + 1) & (s->slots - 1);
	}
	return at;
}

static int grow_slots(struct symbols *s)
{
	size_t slots = s->slots ? 2 * s->slots : 4096;
	uint32_t *more = pile_map(slots * sizeof(*more)), *old = s->slot;
	size_t had = s->slots;

	if (!more)
		return -ENOMEM;
	s->slot = more;
	s->slots = slots;
	for (size_t i = 0; i < s->entries.n; i++)
		s->slot[place_of(s, entry_at(s, i)->frame)] = (uint32_t)i + 1;
	pile_unmap(old, had * sizeof(*old));
	return 0;
}

static void free_symbols(struct symbols *s)
{
	pile_unmap(s->slot, s->slots * sizeof(*s->slot));
	pile_free(&s->entries);
	pile_free(&s->texts);
	pile_free(&s->order);
	pile_unmap(s, sizeof(*s));
}

struct symbols *symbols_new(const struct spool_view *v)
{
	struct symbols *s = kept;

	kept = NULL;
	if (s && (s->pid != v->head->pid || s->start_time != v->head->start_time)) {
		free_symbols(s);
		s = NULL;
	}
	if (!s) {
		s = pile_map(sizeof(*s));
		if (!s)
			return NULL;
		s->pid = v->head->pid;
		s->start_time = v->head->start_time;
		if (grow_slots(s)) {
			free_symbols(s);
			return NULL;
		}
	}
	s->view = v;
	s->wanted = false;
	return s;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	pile_unmap(s->noted, NOTED_BYTES(s));
	s->noted = NULL;
	s->view = NULL;
	s->order.n = 0;
	if (s->texts.n > KEPT_MOST || kept)
		free_symbols(s);
	else
		kept = s;
}

int symbols_want(struct symbols *s, struct stack_frame frame)
{
	const struct entry e = { .frame = frame };
	size_t at = place_of(s, frame);

	s->wanted = true;
	if (s->slot[at])
		return 0;
	if (2 * s->entries.n >= s->slots) {
		if (grow_slots(s))
			return -ENOMEM;
		at = place_of(s, frame);
	}
	if (pile_add(&s->entries, &e, sizeof(e)))
		return -ENOMEM;
	s->slot[at] = (uint32_t)s->entries.n;
	return 0;
}

/* Stacks share their callers: where one was noted, so were all outside of it. */
int symbols_want_stack(struct symbols *s, uint32_t stack)
{
	struct stack_frame frame[STACKS_MOST];
	unsigned flags, n = stacks_get(s->view, stack, frame, STACKS_MOST, &flags);

	if (!s->noted && !(s->noted = pile_map(NOTED_BYTES(s))))
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		const volatile struct stack *at = stacks_at(s->view, stack);
		size_t bit = stack / (sizeof(*at) / 8);

		if (!at || s->noted[bit / 8] & 1u << bit % 8)
			return 0;
		s->noted[bit / 8] |= (uint8_t)(1u << bit % 8);
		stack = at->caller; /* may change */
		if (symbols_want(s, frame[i]))
			return -ENOMEM;
	}
	return 0;
}

/* ---- texts ---- */

static int put_text(struct pile *p, const char *text, size_t len)
{
	char *to = pile_extend(p, len, 1);

	if (!to)
		return -ENOMEM;
	memcpy(to, text, len);
	return 0;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Gives an entry its module and offset as text: all that is known without the module's
 * file. */
static void fall_back(struct symbols *s, struct entry *e)
{
	const struct stack_module *m = stacks_module_get(s->view, e->frame.module);
	char text[PATH_SHOWN + 64];
	size_t len;

	if (m)
		len = fmt(text, sizeof(text), "?? (%.*s+0x%lx)", PATH_SHOWN,
			  base_of(m->path), (unsigned long)e->frame.offset);
	else
		len = fmt(text, sizeof(text), "?? (0x%lx)",
			  (unsigned long)e->frame.offset);
	/* There is no file, or the module is the kernel's: nobody can know more. */
	e->known = !m || m->path[0] != '/';
	e->at = s->texts.n;
	e->n = !put_text(&s->texts, text, len + 1);
}

/* ---- the question ---- */

/* An entry with its frame, so that the sort needs no context. */
struct asked {
	struct stack_frame frame;
	uint32_t entry;
};

static bool frame_before(const void *left, const void *right)
{
	const struct asked *a = left, *b = right;

	return a->frame.module != b->frame.module ? a->frame.module < b->frame.module
						  : a->frame.offset < b->frame.offset;
}

static int put_module(struct pile *q, const struct stack_module *m)
{
	char id[2 * sizeof(m->build_id) + 3];
	size_t n = 0;

	id[n++] = 'm';
	for (unsigned i = 0; i < m->build_id_len && i < sizeof(m->build_id); i++)
		n += fmt(id + n, sizeof(id) - n, "%c%c",
			 "0123456789abcdef"[m->build_id[i] >> 4],
			 "0123456789abcdef"[m->build_id[i] & 15]);
	id[n++] = ':';
	return put_text(q, id, n) ? -ENOMEM : put_text(q, m->path, strlen(m->path) + 1);
}

/* Writes one line for each module, then its frames; answers come in the same order. */
static int put_question(struct symbols *s, struct pile *q)
{
	struct asked *asked = s->order.mem;
	const struct stack_module *m = NULL;
	int err = 0;

	for (size_t i = 0; !err && i < s->order.n; i++) {
		char text[32];

		if (!i || asked[i].frame.module != asked[i - 1].frame.module) {
			m = stacks_module_get(s->view, asked[i].frame.module);
			err = put_module(q, m);
		}
		if (!err)
			err = put_text(q, text,
				       fmt(text, sizeof(text), "f%lx",
					   (unsigned long)asked[i].frame.offset) +
					       1);
	}
	return err;
}

/* Collects the entries that are not resolved and whose module is a file, by module. */
static int collect_unknown(struct symbols *s)
{
	for (size_t i = 0; i < s->entries.n; i++) {
		struct entry *e = entry_at(s, i);
		const struct stack_module *m;
		struct asked a;

		if (e->n && e->known)
			continue;
		m = stacks_module_get(s->view, e->frame.module);
		if (!m || m->path[0] != '/')
			continue;
		a = (struct asked){ e->frame, (uint32_t)i };
		if (pile_add(&s->order, &a, sizeof(a)))
			return -ENOMEM;
	}
	return sort_merge(s->order.mem, s->order.n, sizeof(struct asked), frame_before);
}

/* ---- the answer ---- */

struct answer {
	struct symbols *s;
	size_t next; /* entry of `order` that the next answer is for */
	size_t at; /* where its texts begin */
	unsigned n;
	bool begun; /* a text has begun; else a NUL ends the answer */
};

static void end_answer(struct answer *a)
{
	struct asked *asked = a->s->order.mem;

	if (a->next < a->s->order.n && a->n) {
		struct entry *e = entry_at(a->s, asked[a->next].entry);

		e->at = a->at;
		e->n = a->n;
		e->known = true;
	}
	a->next++;
	a->n = 0;
	a->at = a->s->texts.n;
}

/* Takes answers, which come in pieces cut anywhere: a NUL ends each text, an empty text
 * ends an answer. */
static int take_answer(void *arg, const char *text, size_t len)
{
	struct answer *a = arg;

	for (size_t n; len; text += n, len -= n) {
		const char *end = memchr(text, '\0', len);

		if (!a->begun && end == text) {
			end_answer(a);
			n = 1;
			continue;
		}
		n = end ? (size_t)(end - text) + 1 : len;
		if (a->s->texts.n + n > TEXTS_MOST || put_text(&a->s->texts, text, n))
			return -ENOMEM;
		a->begun = !end;
		a->n += end != NULL;
	}
	return 0;
}

static void ask_for_unknown(struct symbols *s)
{
	struct answer a = { .s = s, .at = s->texts.n };
	struct pile q = { 0 };

	if (symbols_ask && !collect_unknown(s) && s->order.n && !put_question(s, &q))
		tired = symbols_ask(q.mem, q.n, PATIENCE_NS, take_answer, &a) == -ETIME;
	s->texts.n = a.at; /* drops the begin of an answer that did not end */
	s->order.n = 0;
	pile_free(&q);
}

bool symbols_resolve(struct symbols *s)
{
	bool all = true;

	if (!s->wanted)
		return true;
	if (!tired)
		ask_for_unknown(s);
	for (size_t i = 0; i < s->entries.n; i++) {
		struct entry *e = entry_at(s, i);

		if (!e->n)
			fall_back(s, e);
		all &= e->known;
	}
	return all;
}

bool symbols_known(const struct symbols *s, struct stack_frame frame)
{
	uint32_t i = s->slot[place_of(s, frame)];

	return i && entry_at(s, i - 1)->known;
}

const char *symbols_text(const struct symbols *s, struct stack_frame frame, unsigned *n)
{
	uint32_t i = s->slot[place_of(s, frame)];
	const struct entry *e = i ? entry_at(s, i - 1) : NULL;

	*n = e && e->n ? e->n : 1;
	return e && e->n ? (const char *)s->texts.mem + e->at : "??";
}
