/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a rule saw. Names come from the trace, and may be of any length. */
#include "report/advice/phrase.h"
#include "base/text.h"
#include "report/lines.h"

#include <stdio.h>
#include <string.h>

char *phrase_room(void)
{
	static char ring[8][PHRASE];
	static unsigned next;

	return ring[next++ % 8];
}

const char *phrase_time(int64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };
	char *to = phrase_room();

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		double n = (double)ns / units[i].ns;

		/* 999.6 us would read "1000 us". */
		if (n < 0.9995)
			continue;
		snprintf(to, PHRASE, "%.*f %s",
			 n < 9.995   ? 2
			 : n < 99.95 ? 1
				     : 0,
			 n, units[i].unit);
		return to;
	}
	snprintf(to, PHRASE, "%lld ns", (long long)ns);
	return to;
}

unsigned phrase_percent(double part, double of)
{
	double share = of > 0 ? part / of * 100 + 0.5 : 0;

	return share < 0 ? 0 : share > 100 ? 100 : (unsigned)share;
}

const char *phrase_name(const char *name, size_t most)
{
	char *to = phrase_room();
	size_t n = strlen(name);

	most = most < PHRASE ? most : PHRASE - 1;
	if (n <= most)
		return memcpy(to, name, n + 1);
	snprintf(to, PHRASE, "%.*s...", (int)most - 3, name);
	return to;
}

/* ---- places ---- */

/* The innermost line of a stack that is the program's own, or the innermost line, or
 * frame. */
static void own_frame(const char *stack, char frame[LINE_MOST + 1])
{
	const char *at = stack;
	size_t len;

	if (lines_next(&at, frame))
		return;
	at = line_innermost(stack, &len);
	if (!at)
		len = strcspn(at = stack, ";");
	snprintf(frame, LINE_MOST + 1, "%.*s", (int)len, at);
}

/* Is it a function of the program's own, and no module or C function? */
static bool is_own_function(const char *name)
{
	return line_is_own(name) && text_has(name, "): ");
}

/* Nodes of autograd's engine stand around every backward operator. */
static bool is_engine(const char *name)
{
	return text_after(name, "autograd::engine::evaluate_function");
}

struct place {
	uint32_t op, note, stack, python; /* slices; NO_ROW = none */
};

/* Does the slice's stack tell more than that of `than` (NO_ROW: none)? Of native frames
 * alone it tells no line. */
static bool tells_more(const struct model *m, uint32_t slice, uint32_t than)
{
	const struct slice *s = m->slices;
	const char *stack =
		s[slice].stack == TEXT_NONE ? "" : texts_get(&m->texts, s[slice].stack);
	size_t len;

	if (!*stack || than == NO_ROW)
		return *stack;
	return !line_innermost(texts_get(&m->texts, s[than].stack), &len) &&
	       line_innermost(stack, &len);
}

/* Of operators the outermost is kept, but not autograd's engine around one; of
 * stacks, notes and Python's functions the innermost is. */
static struct place place_of(const struct facts *f, uint32_t slice)
{
	const struct slice *s = f->m->slices;
	struct place p = { NO_ROW, NO_ROW, NO_ROW, NO_ROW };
	unsigned depth = 0;

	if (slice != NO_ROW && s[slice].kind == SLICE_DEVICE)
		slice = launches_op(&f->ops, &s[slice]);
	if (slice != NO_ROW && s[slice].kind == SLICE_CALL && s[slice].parent == NO_ROW &&
	    s[slice].stack == TEXT_NONE)
		slice = launches_op(&f->ops, &s[slice]);
	for (; slice != NO_ROW && depth < FACTS_DEPTH; slice = s[slice].parent, depth++) {
		if (tells_more(f->m, slice, p.stack))
			p.stack = slice;
		if (s[slice].kind == SLICE_OP &&
		    (p.op == NO_ROW || !is_engine(slice_name(f->m, slice))))
			p.op = slice;
		if (s[slice].kind == SLICE_NOTE && p.note == NO_ROW &&
		    !text_after(slice_name(f->m, slice), "ProfilerStep#"))
			p.note = slice;
		if (s[slice].kind == SLICE_PYTHON && p.python == NO_ROW &&
		    is_own_function(slice_name(f->m, slice)))
			p.python = slice;
	}
	return p;
}

const char *phrase_place(const struct facts *f, uint32_t slice)
{
	struct place p = place_of(f, slice);
	char *to = phrase_room();
	char line[LINE_MOST + 1] = "";
	const char *name = NULL;
	size_t len, from;

	if (p.op != NO_ROW || p.note != NO_ROW)
		name = phrase_name(slice_name(f->m, p.op != NO_ROW ? p.op : p.note), 80);
	if (p.stack != NO_ROW)
		own_frame(texts_get(&f->m->texts, f->m->slices[p.stack].stack), line);
	else if (p.python != NO_ROW)
		snprintf(line, sizeof(line), "%s", slice_name(f->m, p.python));
	/* A path's end tells more than its begin. */
	len = strlen(line);
	from = len > 150 ? len - 150 : 0;
	snprintf(to, PHRASE, "%s%s%s", name ?: "", name && *line ? ", " : "",
		 line + from);
	return to;
}

uint32_t phrase_key(const struct facts *f, uint32_t slice)
{
	struct place p = place_of(f, slice);
	const struct slice *s = f->m->slices;

	if (p.stack != NO_ROW)
		return s[p.stack].stack;
	if (p.python != NO_ROW)
		return s[p.python].name;
	if (p.op != NO_ROW)
		return s[p.op].name;
	return p.note != NO_ROW ? s[p.note].name : s[slice].name;
}
