/* SPDX-License-Identifier: Apache-2.0 */
#include "finisher/shared.h"
#include "base/hash.h"
#include "base/sys.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PROBES 1024 /* places that a key may have: more take too long to look at */

struct shared *shared_make(void)
{
	void *p = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void shared_tell_cpu(struct shared *s, uint64_t before)
{
	int64_t ns = sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct rusage use;

	if (!getrusage(RUSAGE_CHILDREN, &use))
		ns += (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000ll +
		      (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000ll;
	atomic_store(&s->cpu_ns, before + (uint64_t)ns);
}

void shared_tidy(struct shared *s)
{
	char part[PATH_MAX + 8];

	if (!atomic_load(&s->now.on) || !s->now.path[0])
		return;
	snprintf(part, sizeof(part), "%s.part", s->now.path);
	unlink(part);
}

uint64_t shared_key(const char *name, uint64_t number)
{
	uint64_t h = (hash_bytes(name, strlen(name)) ^ number) * 0xff51afd7ed558ccdull;

	h ^= h >> 32;
	return h ? h : 1;
}

/* The place where the key is or belongs; SHARED_DONE: there is no room, or never was. */
static size_t place_of(const struct shared *s, uint64_t key)
{
	size_t at = key & (SHARED_DONE - 1);

	for (size_t i = 0; i < PROBES; i++, at = (at + 1) & (SHARED_DONE - 1)) {
		uint64_t had = atomic_load(&((struct shared *)s)->done[at]);

		if (!had || had == key)
			return at;
	}
	return SHARED_DONE;
}

bool shared_is_done(const struct shared *s, const char *name, uint64_t number)
{
	uint64_t key = shared_key(name, number);
	size_t at = place_of(s, key);

	return at < SHARED_DONE && atomic_load(&((struct shared *)s)->done[at]) == key;
}

static void put_done_key(struct shared *s, uint64_t key, uint32_t of)
{
	size_t at = place_of(s, key);

	if (at == SHARED_DONE || atomic_load(&s->done[at]) == key)
		return;
	s->done_of[at] = of;
	atomic_store(&s->done[at], key);
	s->done_n++;
}

void shared_set_done(struct shared *s, const char *name, uint64_t number)
{
	put_done_key(s, shared_key(name, number),
		     (uint32_t)hash_bytes(name, strlen(name)));
}

/* ---- forgetting ---- */

bool shared_is_crowded(const struct shared *s)
{
	return s->done_n - s->kept_n >= (SHARED_DONE - s->kept_n) / 2;
}

void shared_keep(struct shared_names *names, const char *name)
{
	uint32_t of = (uint32_t)hash_bytes(name, strlen(name)) % SHARED_NAMES;

	names->bits[of / 8] |= (uint8_t)(1u << of % 8);
}

static bool is_kept(const struct shared_names *names, uint32_t of)
{
	of %= SHARED_NAMES;
	return names->bits[of / 8] & 1u << of % 8;
}

/* Enters the keys that stay anew: a search ends at a free place, and would not find those
 * behind it. */
void shared_forget(struct shared *s, const struct shared_names *names)
{
	uint64_t *keys = malloc(SHARED_DONE * sizeof(*keys));
	uint32_t *of = malloc(SHARED_DONE * sizeof(*of)), n = 0;

	for (size_t at = 0; keys && of && at < SHARED_DONE; at++) {
		uint64_t key = atomic_load(&s->done[at]);

		if (key && is_kept(names, s->done_of[at])) {
			keys[n] = key;
			of[n++] = s->done_of[at];
		}
	}
	if (keys && of) {
		memset((void *)s->done, 0, sizeof(s->done));
		s->done_n = 0;
		for (uint32_t i = 0; i < n; i++)
			put_done_key(s, keys[i], of[i]);
	}
	s->kept_n = s->done_n;
	free(keys);
	free(of);
}
