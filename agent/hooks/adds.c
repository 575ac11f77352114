/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the dynamic linker has mapped. It says so under the lock of its list, which
 * bare dlsym does not take: a program may hold that in dl_iterate_phdr while another
 * thread is in dlsym, or may have held it when it forked. glibc counts in a word of
 * _rtld_global
 * (_dl_load_adds), whose place there depends on the version. So all words that have the
 * right value are watched: as long as they stay the same nothing was mapped. One that
 * changes by itself, or has another value when the linker is asked again, is dropped.
 */
#include "agent/hooks/adds.h"
#include "base/elf.h"

#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#define WATCHED \
	8 /* glibc 2.36 has two or three that are alike; with more none is watched */

typedef const _Atomic uint64_t *word;

static _Atomic(word) watched[WATCHED];
static _Atomic uint64_t last; /* what they were when the linker was asked */
static _Atomic bool known; /* they were looked for */

/* Fills `watched`; with the list locked, so that nothing is counted meanwhile. */
static void find_words(uint64_t adds)
{
	size_t size = 0, n = 0;
	word all = (word)elf_linkers_data(getauxval(AT_BASE), "_rtld_global", &size);

	for (size_t i = 0; all && i < size / sizeof(*all); i++)
		if (all[i] == adds && n++ < WATCHED)
			atomic_store(&watched[n - 1], &all[i]);
	for (size_t i = 0; n > WATCHED && i < WATCHED; i++)
		atomic_store(&watched[i], NULL);
}

static void drop_others(uint64_t adds)
{
	for (unsigned i = 0; i < WATCHED; i++) {
		word w = atomic_load(&watched[i]);

		if (w && *w != adds)
			atomic_store(&watched[i], NULL);
	}
}

/* dlpi_adds is the same for each object: the first one is enough. */
static int first_object(struct dl_phdr_info *info, size_t size, void *adds)
{
	if (size < offsetof(struct dl_phdr_info, dlpi_subs))
		return 1;
	*(unsigned long long *)adds = info->dlpi_adds;
	if (atomic_exchange(&known, true))
		drop_others(info->dlpi_adds);
	else
		find_words(info->dlpi_adds);
	atomic_store(&last, info->dlpi_adds);
	return 1;
}

static bool is_unchanged(uint64_t adds)
{
	bool some = false;

	for (unsigned i = 0; i < WATCHED; i++) {
		word w = atomic_load_explicit(&watched[i], memory_order_relaxed);

		if (w && atomic_load_explicit(w, memory_order_relaxed) != adds)
			return false;
		some |= w != NULL;
	}
	return some;
}

unsigned long long adds_count(void)
{
	unsigned long long adds = atomic_load(&last);

	if (!is_unchanged(adds))
		dl_iterate_phdr(first_object, &adds);
	return adds;
}
