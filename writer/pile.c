/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in maps of their own: in the agent no allocator of the program's is called. */
#include "writer/pile.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define FIRST 65536

void *pile_map(size_t bytes)
{
	return sys_map(bytes);
}

void pile_unmap(void *mem, size_t bytes)
{
	int saved = errno;

	if (mem)
		munmap(mem, bytes);
	errno = saved;
}

/* Doubles the map. The kernel moves the pages: growing copies nothing. */
static int double_room(struct pile *p)
{
	int saved = errno;
	size_t bytes = p->bytes ? p->bytes * 2 : FIRST;
	void *mem =
		p->mem ? mremap(p->mem, p->bytes, bytes, MREMAP_MAYMOVE) : sys_map(bytes);

	errno = saved;
	if (!mem || mem == MAP_FAILED)
		return -ENOMEM;
	p->mem = mem;
	p->bytes = bytes;
	return 0;
}

void *pile_extend(struct pile *p, size_t n, size_t each)
{
	while ((p->n + n) * each > p->bytes)
		if (double_room(p))
			return NULL;
	p->n += n;
	return (char *)p->mem + each * (p->n - n);
}

void *pile_push(struct pile *p, size_t each)
{
	return pile_extend(p, 1, each);
}

int pile_add(struct pile *p, const void *one, size_t each)
{
	void *to = pile_push(p, each);

	if (!to)
		return -ENOMEM;
	memcpy(to, one, each);
	return 0;
}

void pile_free(struct pile *p)
{
	pile_unmap(p->mem, p->bytes);
	*p = (struct pile){ 0 };
}
