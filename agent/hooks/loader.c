/* SPDX-License-Identifier: Apache-2.0 */
/* What the dynamic linker is at: how much it has mapped, and whether it is further out on
 * this thread's stack, in the middle of a dlopen. */
#include "agent/hooks/loader.h"

#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

struct range {
	uintptr_t begin, end;
};

/* dlpi_adds is the same in each call: the first one is enough. */
static int first_object(struct dl_phdr_info *info, size_t size, void *adds)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs))
		*(unsigned long long *)adds = info->dlpi_adds;
	return 1;
}

unsigned long long loader_adds(void)
{
	unsigned long long adds = 0;

	dl_iterate_phdr(first_object, &adds);
	return adds;
}

/* The executable part of the object that the kernel mapped as our loader. */
static int loader_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct range *text = arg;

	(void)size;
	if (info->dlpi_addr != getauxval(AT_BASE))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		text->begin = info->dlpi_addr + p->p_vaddr;
		text->end = text->begin + p->p_memsz;
	}
	return 1;
}

/* The main thread's stack ends where the program began; another thread's below its
 * own control block, which glibc puts on top of it. */
static uintptr_t stack_end(uintptr_t here)
{
	extern void *__libc_stack_end;
	uintptr_t self = (uintptr_t)pthread_self(), first = (uintptr_t)__libc_stack_end;

	if (self > here && self - here < (64u << 20))
		return self;
	return first > here ? first : 0;
}

/* A return address into the loader anywhere above us: dlopen calls constructors from
 * there. Words left over from earlier calls may say so wrongly, which only makes us
 * look again later. */
bool loader_busy(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)7;
	uintptr_t end = stack_end(here);
	struct range text = { 0, 0 };

	dl_iterate_phdr(loader_text, &text);
	if (!end || !text.end)
		return true;
	for (; here < end; here += sizeof(uintptr_t)) {
		uintptr_t word = *(const uintptr_t *)here;

		if (word >= text.begin && word < text.end)
			return true;
	}
	return false;
}
