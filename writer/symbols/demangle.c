/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names demangled by libiberty, on a stack of its own. */
#include "writer/symbols/demangle.h"
#include "base/libiberty.h"
#include "writer/json.h"
#include "writer/pile.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define NAME_MOST 8192 /* torch leaves longer ones as they are */
#define TEXT_MOST (1u << 20) /* demangled */
#define TEXTS     (8u << 20) /* bytes of all names, escaped */
#define SLOTS     4096 /* a power of two */
#define STACK     (16u << 20) /* touched only as far as a name needs it */
#define GUARD     4096

struct slot {
	uint32_t name, len; /* name 0 = empty */
	uint64_t at; /* in texts */
};

struct demangle {
	ucontext_t here, there;
	char *stack; /* NULL: there was no memory for it, nothing is demangled */
	size_t used; /* of texts */
	size_t len; /* of text */
	bool done; /* the demangler came to its end */
	struct slot slot[SLOTS];
	char mangled[NAME_MOST + 1];
	char text[TEXT_MOST];
	char texts[TEXTS];
};

/*
 * The demangler takes stack by the depth of a name and time by the length of its output,
 * which a hostile name can make as large as it likes. So it runs on a stack of its own,
 * and is not resumed once its output is too long.
 */
static void collect_text(const char *text, size_t len, void *arg)
{
	struct demangle *d = arg;

	if (len > sizeof(d->text) - d->len)
		swapcontext(&d->there, &d->here);
	memcpy(d->text + d->len, text, len);
	d->len += len;
}

/* makecontext hands over ints only: the pointer comes in halves. */
static void run_demangler(unsigned high, unsigned low)
{
	struct demangle *d = (struct demangle *)((uintptr_t)high << 32 | low);

	d->done = cplus_demangle_v3_callback(d->mangled, DEMANGLE_WHOLE, collect_text, d);
}

static bool demangle_apart(struct demangle *d)
{
	d->len = 0;
	d->done = false;
	if (getcontext(&d->there))
		return false;
	d->there.uc_stack.ss_sp = d->stack + GUARD;
	d->there.uc_stack.ss_size = STACK - GUARD;
	d->there.uc_link = &d->here;
	makecontext(&d->there, (void (*)(void))run_demangler, 2,
		    (unsigned)((uintptr_t)d >> 32), (unsigned)(uintptr_t)d);
	return !swapcontext(&d->here, &d->there) && d->done && d->len;
}

struct demangle *demangle_new(void)
{
	struct demangle *d = pile_map(sizeof(*d));

	if (!d)
		return NULL;
	d->stack = pile_map(STACK);
	if (d->stack && mprotect(d->stack, GUARD, PROT_NONE)) {
		pile_unmap(d->stack, STACK);
		d->stack = NULL;
	}
	return d;
}

void demangle_free(struct demangle *d)
{
	if (!d)
		return;
	pile_unmap(d->stack, STACK);
	pile_unmap(d, sizeof(*d));
}

/* Makes room for a text's escaped form, at worst six times as long; forgets all kept
 * names where they leave too little. */
static char *make_room(struct demangle *d, size_t len)
{
	if (6 * len > TEXTS - d->used) {
		memset(d->slot, 0, sizeof(d->slot));
		d->used = 0;
	}
	return 6 * len > TEXTS ? NULL : d->texts + d->used;
}

static const char *keep_shown_name(struct demangle *d, const struct name *n,
				   struct slot *s, size_t *len)
{
	const char *blank = memchr(n->text, ' ', n->len), *text = n->text;
	size_t part = blank ? (size_t)(blank - n->text) : n->len, shown = part;
	char *to, *at;

	if (d->stack && part > 2 && part <= NAME_MOST && n->text[0] == '_' &&
	    n->text[1] == 'Z') {
		memcpy(d->mangled, n->text, part);
		d->mangled[part] = '\0';
		if (demangle_apart(d)) {
			text = d->text;
			shown = d->len;
		}
	}
	to = make_room(d, shown + n->len - part);
	if (!to)
		return NULL;
	at = json_put_escaped(to, text, shown);
	at = json_put_escaped(at, n->text + part, n->len - part);
	s->at = d->used;
	s->len = (uint32_t)(at - to);
	d->used += s->len;
	*len = s->len;
	return to;
}

const char *demangle_json(struct demangle *d, const struct spool_view *v, uint32_t id,
			  size_t *len)
{
	static const char unknown[] = "unknown";
	struct slot *s = &d->slot[(id ^ id >> 12) & (SLOTS - 1)];
	const struct name *n;
	const char *text = NULL;

	if (id && s->name == id) {
		*len = s->len;
		return d->texts + s->at;
	}
	n = names_get(v, id);
	s->name = 0;
	if (n && n->len)
		text = keep_shown_name(d, n, s, len);
	if (text) {
		s->name = id;
		return text;
	}
	*len = sizeof(unknown) - 1;
	return unknown;
}
