/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference - an allocator that counts, to be preloaded: what a heap profiler must see.
 *
 * Every entry point of malloc's family and of operator new and delete counts one call and
 * the bytes that were asked for, exactly; the memory is the C library's.  A table of live
 * blocks knows what each free gives back.  At exit one line goes to $REF_OUT.<pid>:
 *
 *	allocs N bytes N frees N freed N strange N
 *
 * strange: frees of blocks it never saw.  Every event goes to $REF_LOG.<pid>, if set, as
 * three words in the machine's order: ns since the epoch, bytes (a free: -1 - bytes),
 *address.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 1 << 23, LOGGED = 1 << 25, GONE = 1 };
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t align, size_t size);
void *__libc_valloc(size_t size);
void *__libc_pvalloc(size_t size);
void __libc_free(void *block);

static struct {
	uintptr_t address;
	size_t bytes;
} slots[SLOTS];
static struct {
	int64_t ns, bytes;
	uint64_t address;
} * events;
static struct {
	unsigned long allocs, bytes, frees, freed, strange;
} sum;
static size_t logged;
static atomic_flag busy = ATOMIC_FLAG_INIT;
static pid_t owner;

static void lock(void)
{
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* The block's slot, or where it may be put; NULL without either. */
static size_t find(uintptr_t address, bool put)
{
	size_t at = (address >> 4) * 0x9e3779b97f4a7c15u >> 41, room = SLOTS;

	for (size_t i = 0; i < SLOTS; i++, at = (at + 1) % SLOTS) {
		if (slots[at].address == address)
			return at;
		if (slots[at].address <= GONE && room == SLOTS)
			room = at;
		if (!slots[at].address)
			break;
	}
	return put ? room : SLOTS;
}

static void note(int64_t bytes, void *block)
{
	struct timespec now;

	if (!events || logged == LOGGED)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	events[logged].ns = now.tv_sec * 1000000000L + now.tv_nsec;
	events[logged].bytes = bytes;
	events[logged++].address = (uintptr_t)block;
}

static void *made(void *block, size_t bytes)
{
	if (!block)
		return NULL;
	lock();
	size_t at = find((uintptr_t)block, true);

	if (at < SLOTS) {
		slots[at].address = (uintptr_t)block;
		slots[at].bytes = bytes;
	}
	sum.allocs++;
	sum.bytes += bytes;
	note((int64_t)bytes, block);
	unlock();
	return block;
}

/* Bytes of the block, which is no longer live. */
static size_t gone(void *block)
{
	size_t bytes = 0;

	lock();
	size_t at = find((uintptr_t)block, false);

	if (at < SLOTS) {
		bytes = slots[at].bytes;
		slots[at].address = GONE;
	} else {
		sum.strange++;
	}
	sum.frees++;
	sum.freed += bytes;
	note(-1 - (int64_t)bytes, block);
	unlock();
	return bytes;
}

void *malloc(size_t size)
{
	return made(__libc_malloc(size), size);
}

void *calloc(size_t number, size_t size)
{
	return made(__libc_calloc(number, size), number * size);
}

void free(void *block)
{
	if (block)
		gone(block);
	__libc_free(block);
}

/* As glibc: of size 0 it frees.  Another thread must not get the old address, nor we its
 * size, between the real call and our counting: so the old block leaves the table first,
 * and comes back if the call fails. */
void *realloc(void *block, size_t size)
{
	if (!block)
		return malloc(size);
	if (!size) {
		free(block);
		return NULL;
	}
	if (size > PTRDIFF_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	gone(block);
	void *moved = __libc_realloc(block, size);

	if (!moved)
		abort(); /* the tests' programs ask for nothing that could fail here */
	return made(moved, size);
}

void *reallocarray(void *block, size_t number, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(number, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(block, bytes);
}

void *memalign(size_t align, size_t size)
{
	return made(__libc_memalign(align, size), size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return made(__libc_memalign(align, size), size);
}

int posix_memalign(void **block, size_t align, size_t size)
{
	int saved = errno;

	if (!align || align % sizeof(void *) || align & (align - 1))
		return EINVAL;
	void *got = made(__libc_memalign(align, size), size);

	errno = saved;
	if (!got)
		return ENOMEM;
	*block = got;
	return 0;
}

void *valloc(size_t size)
{
	return made(__libc_valloc(size), size);
}

void *pvalloc(size_t size)
{
	return made(__libc_pvalloc(size), size);
}

/* operator new and delete under the names that the compiler gives them.  The nothrow
 * forms are libstdc++'s: they call these, and catch what is thrown. */
void _ZSt17__throw_bad_allocv(void) __attribute__((weak, noreturn));

static void *new_block(size_t size, size_t align, bool throws)
{
	size_t least = size ? size : 1;
	void *block = align ? __libc_memalign(align, least) : __libc_malloc(least);

	if (!block && throws)
		_ZSt17__throw_bad_allocv();
	return made(block, size);
}

#define NEW(name, params, align, throws)               \
	void *name params;                             \
	void *name params                              \
	{                                              \
		return new_block(size, align, throws); \
	}
#define DELETE(name, params) \
	void name params;    \
	void name params     \
	{                    \
		free(block); \
	}
#define SIZE  size_t size __attribute__((unused))
#define ALIGN size_t align __attribute__((unused))
NEW(_Znwm, (size_t size), 0, true)
NEW(_Znam, (size_t size), 0, true)
NEW(_ZnwmSt11align_val_t, (size_t size, ALIGN), align, true)
NEW(_ZnamSt11align_val_t, (size_t size, ALIGN), align, true)
DELETE(_ZdlPv, (void *block))
DELETE(_ZdaPv, (void *block))
DELETE(_ZdlPvm, (void *block, SIZE))
DELETE(_ZdaPvm, (void *block, SIZE))
DELETE(_ZdlPvSt11align_val_t, (void *block, ALIGN))
DELETE(_ZdaPvSt11align_val_t, (void *block, ALIGN))
DELETE(_ZdlPvmSt11align_val_t, (void *block, SIZE, ALIGN))
DELETE(_ZdaPvmSt11align_val_t, (void *block, SIZE, ALIGN))

/* $NAME.<pid>, made anew; -1 if it is not set. */
static int open_own(const char *name, int flags)
{
	const char *prefix = getenv(name);
	char path[4096];

	if (!prefix)
		return -1;
	snprintf(path, sizeof(path), "%s.%d", prefix, (int)owner);
	return open(path, flags | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void start(void)
{
	owner = getpid();
	int fd = open_own("REF_LOG", O_RDWR);

	if (fd < 0)
		return;
	if (!ftruncate(fd, (off_t)(LOGGED * sizeof(*events)))) {
		void *map = mmap(NULL, LOGGED * sizeof(*events), PROT_READ | PROT_WRITE,
				 MAP_SHARED, fd, 0);

		if (map != MAP_FAILED)
			events = map;
	}
	close(fd);
}

/* Last of all: destructors of whatever depends on us, and exit handlers, are over. */
__attribute__((destructor)) static void finish(void)
{
	char line[256];

	if (getpid() != owner)
		return;
	int fd = open_own("REF_OUT", O_WRONLY);
	int length = snprintf(line, sizeof(line),
			      "allocs %lu bytes %lu frees %lu freed %lu strange %lu\n",
			      sum.allocs, sum.bytes, sum.frees, sum.freed, sum.strange);

	if (fd >= 0 && write(fd, line, (size_t)length) != length)
		perror("reference");
	if (fd >= 0)
		close(fd);
}
