/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin in C++, as host_plugins opens it: linked with the C++ library, with a copy of
 * it, or (OWN) with operators of its own, which take no other's blocks. */
#include <new>
#include <stddef.h>
#include <stdlib.h>

extern "C" {
int strangers; /* blocks that came back and were never given out here */
void *make_one(void);
void *make_many(int n);
void end_one(void *p);
void end_many(void *p);
int refuses(void); /* more than there is? */
}

#ifdef OWN
static char arena[1 << 20];
static size_t used;

void *operator new(size_t n)
{
	used = (used + 63) & ~(size_t)63;
	used += n;
	if (used > sizeof(arena))
		abort();
	return arena + used - n;
}

void *operator new[](size_t n)
{
	return operator new(n);
}

void operator delete(void *p) noexcept
{
	strangers += p && ((char *)p < arena || (char *)p >= arena + sizeof(arena));
}

void operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}

void operator delete[](void *p) noexcept
{
	operator delete(p);
}

void operator delete[](void *p, size_t) noexcept
{
	operator delete(p);
}
#endif

void *make_one(void)
{
	int *p = new int(1);

	__asm__ volatile("" : "+r"(p)::"memory");
	return p;
}

/* A jump, as those of end_one and end_many. */
void *make_many(int n)
{
	return operator new[](n);
}

int refuses(void)
{
#ifdef OWN
	return 1;
#else
	volatile size_t much = (size_t)1 << 60;

	try {
		end_many(operator new[](much));
	} catch (const std::bad_alloc &) {
		return !operator new(much, std::nothrow);
	}
	return 0;
#endif
}

void end_one(void *p)
{
	delete (int *)p;
}

void end_many(void *p)
{
	/* clang-format off */
	delete[] (char *)p;
	/* clang-format on */
}
