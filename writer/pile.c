/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/pile.h"
#include "agent/core/sys.h"

#include <errno.h>
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

/* The kernel moves the pages: growing copies nothing. */
static int grow(struct pile *p)
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

void *pile_push(struct pile *p, size_t each)
{
	if ((p->n + 1) * each > p->bytes && grow(p))
		return NULL;
	return (char *)p->mem + each * p->n++;
}

void pile_free(struct pile *p)
{
	pile_unmap(p->mem, p->bytes);
	*p = (struct pile){ 0 };
}
