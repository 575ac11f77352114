/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the dynamic linker is further out on this thread's stack, in the middle of a
 * dlopen. */
#include "agent/hooks/loader.h"
#include "agent/hooks/enter.h"
#include "base/sys.h"

#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

struct range {
	uintptr_t begin, end;
};

/* The executable part of what the kernel mapped as our loader, from its own headers,
 * which lie at its begin. */
static struct range loader_text(void)
{
	uintptr_t base = getauxval(AT_BASE);
	const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)base;
	const ElfW(Phdr) *p = base ? (const ElfW(Phdr) *)(base + header->e_phoff) : NULL;
	struct range text = { 0, 0 };

	for (int i = 0; base && i < header->e_phnum; i++) {
		if (p[i].p_type != PT_LOAD || !(p[i].p_flags & PF_X))
			continue;
		text.begin = base + p[i].p_vaddr;
		text.end = text.begin + p[i].p_memsz;
	}
	return text;
}

/* A fork child's only thread may have been another one of its parent's, with that stack.
 */
static pthread_t first_thread;

static void __attribute__((constructor)) note_first(void)
{
	first_thread = pthread_self();
}

/* The kernel keeps at least 128 MiB below the first stack's end free of other maps. */
#define FIRST_MOST (64u << 20)

/* A thread's own stack, with its control block on top. */
static struct range thread_stack(void)
{
	int (*attributes)(pthread_t, pthread_attr_t *) =
		(int (*)(pthread_t, pthread_attr_t *))hook_next("pthread_getattr_np");
	int (*stack)(const pthread_attr_t *, void **, size_t *) =
		(int (*)(const pthread_attr_t *, void **, size_t *))hook_next(
			"pthread_attr_getstack");
	struct range r = { 0, 0 };
	pthread_attr_t a;
	void *begin;
	size_t size;

	if (!attributes || !stack || attributes(pthread_self(), &a))
		return r;
	if (!stack(&a, &begin, &size))
		r = (struct range){ (uintptr_t)begin, (uintptr_t)begin + size };
	pthread_attr_destroy(&a);
	return r;
}

/* Where the stack that `here` lies on ends; 0: nobody knows, for it is no thread's, but a
 * coroutine's or a signal handler's. */
static uintptr_t stack_end(uintptr_t here)
{
	extern void *__libc_stack_end;
	uintptr_t first = (uintptr_t)__libc_stack_end;
	struct range r = { first - FIRST_MOST, first };

	if (pthread_self() != first_thread)
		r = thread_stack();
	return here >= r.begin && here < r.end ? r.end : 0;
}

static bool is_in_loader(uintptr_t word, const struct range *text)
{
	/* A local copy: whether the program has ever written there is its own affair. */
	sys_valgrind_written(&word, sizeof(word));
	return word >= text->begin && word < text->end;
}

/* A return address into the loader anywhere above us: dlopen calls constructors from
 * there. Words left over from earlier calls may say so wrongly, which only makes us
 * look again later. */
bool loader_busy(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7;
	uintptr_t end = stack_end(here);
	struct range text = loader_text();

	if (!end || !text.end)
		return true;
	for (; here < end; here += sizeof(uintptr_t))
		if (is_in_loader(*(const uintptr_t *)here, &text))
			return true;
	return false;
}
