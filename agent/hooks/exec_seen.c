/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the caller's pointers point at.  The C library hands them to the kernel unread,
 * and the kernel's word for a bad one is EFAULT: so each page is asked for once before it
 * is read here.
 */
#include "agent/hooks/exec.h"
#include "base/sys.h"

#include <string.h>

#define PAGE      4096u
#define TEXT_MOST (128u << 10) /* the kernel takes no longer text */

static bool know_page(struct exec_seen *s, uintptr_t page)
{
	for (unsigned i = 0; i < EXEC_PAGES; i++)
		if (s->page[i] == page)
			return true;
	return false;
}

/* Valgrind tells of each question that is odd, and of each bad pointer. */
static bool see_byte(struct exec_seen *s, uintptr_t at)
{
	uintptr_t page = at / PAGE;

	if (!page || at >> 47)
		return false;
	if (know_page(s, page) || sys_under_valgrind())
		return true;
	if (!sys_can_read((const void *)(page * PAGE)))
		return false;
	s->page[s->next++ % EXEC_PAGES] = page;
	return true;
}

bool exec_sees(struct exec_seen *s, const void *at, size_t size)
{
	return see_byte(s, (uintptr_t)at) && see_byte(s, (uintptr_t)at + size - 1);
}

bool exec_sees_text(struct exec_seen *s, const char *text)
{
	size_t n = 0, left, part;

	while (n < TEXT_MOST && see_byte(s, (uintptr_t)(text + n))) {
		left = PAGE - (uintptr_t)(text + n) % PAGE;
		part = strnlen(text + n, left);
		if (part < left)
			return true;
		n += part;
	}
	return false;
}
