// SPDX-License-Identifier: Apache-2.0
// A library of tests/programs/heap_plugins.c; with -DPOOL it has an operator new of its own, whose
// blocks nobody else can free.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#ifdef POOL
static unsigned char pool[1 << 16];
static std::size_t used;
static long blocks;

void *operator new(std::size_t size)
{
	void *p = pool + used;

	used += (size + 63) / 64 * 64;
	blocks++;
	return p;
}

void operator delete(void *p) noexcept
{
	if (static_cast<unsigned char *>(p) < pool || static_cast<unsigned char *>(p) >= pool + used)
		std::abort();
}

void operator delete(void *p, std::size_t) noexcept
{
	::operator delete(p);
}
#else
static long blocks;
#endif

extern "C" void *make(std::size_t size)
{
	return ::operator new(size);
}

extern "C" void drop(void *p)
{
	::operator delete(p);
}

extern "C" long own()
{
	return blocks;
}
