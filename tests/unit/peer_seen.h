/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_seen - walks by our unwinder and libunwind in a Check suite, and what they were.
 *
 * Threads  one at a time.  Memory  static.  Errors  a failed test.  Units  walks.
 */
#ifndef TESTS_PEER_SEEN_H
#define TESTS_PEER_SEEN_H

#include "tests/programs/unwind_peer.h"
#include "tests/unit/unit.h"

#define ONLY(kind) (1u << PEER_##kind)

/* A sanitizer's functions are bound where they are called, everywhere; one is vfork. */
#ifdef SANITIZED_ADDRESS
#define SANITIZED (ONLY(REGISTER) | ONLY(ENDED) | ONLY(GUESSED))
#else
#define SANITIZED 0u
#endif

static unsigned seen[PEER_KIND_COUNT], walks; /* since were() */
static struct peer_look last, odd; /* one of a kind that is not SAME */

static __attribute__((noinline)) void here(void)
{
	struct peer_look *l = peer_look(NULL);

	seen[l->kind]++;
	walks++;
	memcpy(&last, l, sizeof(last));
	if (l->kind > odd.kind)
		memcpy(&odd, l, sizeof(odd));
}

static inline void print_list(const char *whose, const struct peer_list *l)
{
	printf("%s:", whose);
	for (unsigned i = 0; i < l->depth; i++) {
		Dl_info d = { 0 };

		dladdr((void *)(l->pc[i] - 1), &d);
		printf(" %s+%#lx", d.dli_fname ? d.dli_fname : "",
		       l->pc[i] - (uintptr_t)d.dli_fbase);
	}
	putchar('\n');
}

/* All walks so far were of these kinds, and `least` of them at least. Begins anew. */
static inline void were(unsigned kinds, unsigned least)
{
	kinds |= SANITIZED;
	for (unsigned i = 0; i < PEER_KIND_COUNT; i++)
		if (seen[i] && !(kinds & 1u << i)) {
			print_list("ours", &odd.ours);
			print_list("libunwind", &odd.theirs);
			print_list("libgcc", &odd.witness);
			ck_abort_msg("%u walks were %s", seen[i], peer_kinds[i].name);
		}
	ck_assert_uint_ge(walks, least);
	memset(seen, 0, sizeof(seen));
	memset(&odd, 0, sizeof(odd));
	walks = 0;
}

static inline void setup(void)
{
	const char *missing = peer_start();

	if (missing)
		ck_abort_msg("no %s: tests/setup.sh libunwind-dev", missing);
}

#endif
