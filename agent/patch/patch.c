/* SPDX-License-Identifier: Apache-2.0 */
/* One function is marked: its entry gets a jump by one store; where that is not safe, the
 * slots that lead to it are changed, and the user is told which. */
#include "agent/patch/patch.h"
#include "agent/patch/steps.h"
#include "base/log.h"
#include "base/own_thread.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ul

/* ---- the one store ---- */

/* Where the word was changed since it was read, nothing is stored: the exchange compares
 * it with `old`. */
static void store_16_bytes(uint8_t *at, const uint8_t old[16], const uint8_t new[16])
{
	uint64_t was[2], is[2];

	memcpy(was, old, 16);
	memcpy(is, new, 16);
	__asm__ volatile("lock cmpxchg16b %0"
			 : "+m"(*(unsigned __int128 *)at), "+a"(was[0]), "+d"(was[1])
			 : "b"(is[0]), "c"(is[1])
			 : "memory", "cc");
}

/* The jump's five bytes within one aligned word: other processors see all or nothing. */
static void store_jump(uintptr_t at, const uint8_t jump[PATCH_JUMP])
{
	uint8_t old[16], new[16];
	uint8_t *word;

	if (at % 8 + PATCH_JUMP <= 8) {
		uint64_t value;

		word = (uint8_t *)(at & ~7ul);
		memcpy(new, word, 8);
		memcpy(new + at % 8, jump, PATCH_JUMP);
		memcpy(&value, new, 8);
		__atomic_store_n((uint64_t *)word, value, __ATOMIC_SEQ_CST);
		return;
	}
	word = (uint8_t *)(at & ~15ul);
	memcpy(old, word, 16);
	memcpy(new, old, 16);
	memcpy(new + at % 16, jump, PATCH_JUMP);
	store_16_bytes(word, old, new);
}

/* Processors that have already fetched the old bytes shall drop them. */
static void sync_cores(void)
{
	enum { SYNC_CORE = 1 << 5, REGISTER = 1 << 6 }; /* Linux 4.16 */
	int saved = errno;

	syscall(SYS_membarrier, REGISTER, 0, 0);
	syscall(SYS_membarrier, SYNC_CORE, 0, 0);
	errno = saved;
}

/* The jump lies within one aligned word, so within one page. While that page is writable
 * it stays executable: other threads run in it. */
static const char *write_jump(uintptr_t at, uintptr_t to)
{
	uintptr_t page = at & ~(PAGE - 1);
	int prot = patch_prot(at), saved = errno;
	int32_t rel = (int32_t)(to - (at + PATCH_JUMP));
	uint8_t jump[PATCH_JUMP] = { 0xe9 };

	memcpy(jump + 1, &rel, sizeof(rel));
	if (prot < 0 || mprotect((void *)page, PAGE, prot | PROT_WRITE)) {
		errno = saved;
		return "its page cannot be made writable";
	}
	store_jump(at, jump);
	mprotect((void *)page, PAGE, prot);
	errno = saved;
	sync_cores();
	return NULL;
}

/* ---- the entry ---- */

static const char *plan_entry(const struct patch_found *f, struct patch_plan *plan)
{
	const char *why;

	if (f->others)
		return "more than one function there has this name";
	if (f->ifunc)
		return "it is chosen among several when the program starts (IFUNC)";
	why = patch_code_plan(f, plan);
	if (why)
		return why;
	/* A thread that stopped between the first instructions would go on in the
	 * middle of the jump. Our own threads run nothing of the program's. */
	if (plan->first < PATCH_JUMP && own_thread_others() > 1)
		return "other threads may be just inside its first instructions";
	return NULL;
}

static const char *patch_entry(const struct patch_found *f)
{
	struct patch_plan plan;
	const char *why = plan_entry(f, &plan);
	uint8_t *page;
	size_t at, used;

	if (why)
		return why;
	page = patch_near(plan.at);
	if (!page)
		return "no memory can be had near it";
	at = patch_stub_begin(page);
	why = patch_code_move(&plan, page + at, &used);
	if (!why && !patch_seal(page))
		why = "no memory can be made executable";
	if (!why)
		why = write_jump(plan.at, (uintptr_t)page);
	if (why)
		munmap(page, PAGE);
	return why;
}

/* ---- its callers ---- */

static bool finish_stub(uintptr_t original, void *page)
{
	patch_stub_jump((uint8_t *)page + patch_stub_begin(page), original);
	return patch_seal(page);
}

static unsigned patch_callers(const char *name, const struct patch_found *f)
{
	uint8_t *page = patch_near(0);
	unsigned slots;

	if (!page)
		return 0;
	slots = patch_got(name, f, (uintptr_t)page, finish_stub, page);
	if (!slots)
		munmap(page, PAGE);
	return slots;
}

bool patch_symbol(const char *spec, void (*hit)(void))
{
	static bool settled;
	const char *bang = strchr(spec, '!'), *name = bang ? bang + 1 : spec, *why;
	struct patch_found f;
	unsigned slots;

	if (settled ||
	    !patch_find(bang ? spec : NULL, bang ? (size_t)(bang - spec) : 0, name, &f))
		return settled;
	settled = true;
	patch_stub_hit(hit);
	why = patch_entry(&f);
	if (!why)
		return true;
	slots = patch_callers(name, &f);
	if (slots)
		log_warn(
			"marker symbol:%s: the function in %s stays as it is (%s); calls that go "
			"through the dynamic linker are seen (in %u places), others are not",
			spec, f.object, why, slots);
	else
		log_warn("marker symbol:%s: the function in %s cannot be marked: %s",
			 spec, f.object, why);
	return true;
}
