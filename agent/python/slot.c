/* SPDX-License-Identifier: Apache-2.0 */
/* Who watches the same function stands in a chain: the function has the pointer to the
 * last that came, and each one's `next` to the one before. */
#include "agent/python/slot.h"
#include "agent/hooks/hook.h"
#include "agent/python/interpreter.h"
#include "agent/python/kin.h"
#include "base/elf.h"
#include "base/spin.h"

#include <dlfcn.h>

static struct {
	const char *type; /* PyFunction_Type */
	void (*retain)(void *object);
	void (*set)(void *function, slot_call *call); /* 3.12 and later */
} api;
static struct elf_span text; /* the interpreter's code */
static struct slot *all;
static atomic_flag busy = ATOMIC_FLAG_INIT;

/* ---- what is needed ---- */

static int span_text(struct dl_phdr_info *info, size_t size, void *at)
{
	struct elf_span span = elf_span(info);
	uintptr_t begin;

	(void)size;
	if ((uintptr_t)at < span.begin || (uintptr_t)at >= span.end)
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		/* An optimiser (BOLT) makes a second one, which may lie before the first.
		 */
		begin = info->dlpi_addr + p->p_vaddr;
		text.begin = text.end && text.begin < begin ? text.begin : begin;
		begin += p->p_memsz;
		text.end = text.end > begin ? text.end : begin;
	}
	return 1;
}

void slot_start(void)
{
	static const struct interpreter_symbol symbols[] = {
		{ "PyFunction_Type", &api.type, false },
		{ "Py_IncRef", &api.retain, false },
		{ "PyFunction_SetVectorcall", &api.set, true },
	};

	if (!interpreter_find(symbols, sizeof(symbols) / sizeof(*symbols)))
		api.type = NULL;
	else
		dl_iterate_phdr(span_text, (void *)interpreter.finalizing);
}

/* ---- the chain ---- */

static struct slot *owner_of(const struct slot *s, slot_call *call)
{
	struct slot *o = all;

	while (o && (o->at != s->at || o->ours != call))
		o = o->other;
	return o;
}

/* Where the pointer to `call` is in this function's chain, and in *end what the chain
 * leads to, if it is nowhere. One is put into a chain only where it is in none, so none
 * leads back to itself. */
static slot_call *_Atomic *link_to(const struct slot *s, slot_call *call, slot_call **end)
{
	slot_call *_Atomic *link = s->at;
	struct slot *o;

	while ((*end = atomic_load(link)) != call) {
		if (!(o = owner_of(s, *end)))
			return NULL;
		link = &o->next;
	}
	return link;
}

static bool is_code(slot_call *call)
{
	return (uintptr_t)call >= text.begin && (uintptr_t)call < text.end;
}

/* ---- found ---- */

static void add_found(struct slot *s)
{
	for (const struct slot *o = all; o; o = o->other)
		if (o == s)
			return;
	s->other = all;
	all = s;
}

const char *slot_find(struct slot *s, void *function, slot_call *ours)
{
	unsigned offset = interpreter.layout ? interpreter.layout->vectorcall : 0;
	const char *why = NULL;
	slot_call *end;

	if (s->function == function)
		return NULL;
	if (!api.type || !offset ||
	    layout_at(api.type, LAYOUT_CALL) != (const void *)(uintptr_t)offset)
		return "functions are laid out in another way than expected";
	if (layout_at(function, LAYOUT_TYPE) != api.type &&
	    !kin_is_type(layout_at(function, LAYOUT_TYPE)))
		return "it is no function of Python's";
	spin_lock(&busy);
	s->at = (slot_call * _Atomic *)(void *)((char *)function + offset);
	s->ours = ours;
	if (!link_to(s, NULL, &end) && is_code(end)) {
		atomic_store(&s->next, end);
		s->function = function;
		add_found(s);
		api.retain(function);
	} else {
		s->at = NULL;
		s->function = NULL; /* it is looked for again, and not at its place */
		why = "another tool stands in front of it";
	}
	spin_unlock(&busy);
	return why;
}

/* ---- set ---- */

/* Whoever else writes meanwhile has the interpreter's lock, and is lost to neither: what
 * is there then is looked at again. */
static bool put_first(struct slot *s)
{
	slot_call *end, *first;

	do {
		first = atomic_load(s->at);
		if (link_to(s, s->ours, &end))
			return true;
		if (!is_code(end))
			return false;
		atomic_store(&s->next, first);
	} while (!atomic_compare_exchange_strong(s->at, &first, s->ours));
	return true;
}

static void take_out(struct slot *s)
{
	slot_call *end, *call = s->ours, *_Atomic *link = link_to(s, call, &end);

	if (link)
		atomic_compare_exchange_strong(link, &call, slot_next(s));
}

bool slot_set(struct slot *s)
{
	bool there;

	spin_lock(&busy);
	there = s->at && put_first(s);
	spin_unlock(&busy);
	return there;
}

void slot_unset(struct slot *s)
{
	spin_lock(&busy);
	if (s->at)
		take_out(s);
	spin_unlock(&busy);
}

/* Since 3.12 a function has a version, which call sites compare; the interpreter's own
 * store of a pointer makes it void. No watcher may come or go between load and store. */
static void store_again(struct slot *s)
{
	if (api.set)
		api.set(s->function, atomic_load(s->at));
}

bool slot_set_locked(struct slot *s)
{
	bool there;

	spin_lock(&busy);
	there = s->at && put_first(s);
	if (there)
		store_again(s);
	spin_unlock(&busy);
	return there;
}

/* Another thread may have had it when it forked. */
void slot_fork_child(void)
{
	spin_unlock(&busy);
}
