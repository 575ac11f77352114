/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample - four call sites with blocks of very different sizes, of which a part is freed.
 * Says what it did: "site allocs bytes live blocks", one line each.
 */
#include <stdio.h>
#include <stdlib.h>

#define SITE(name)                                         \
	__attribute__((noinline)) void *name(size_t size); \
	__attribute__((noinline)) void *name(size_t size)  \
	{                                                  \
		void *volatile block = malloc(size);       \
                                                           \
		return block;                              \
	}
SITE(site_small)
SITE(site_medium)
SITE(site_large)
SITE(site_huge)

static const struct {
	const char *name;
	void *(*make)(size_t size);
	size_t number, size;
} sites[] = {
	{ "site_small", site_small, 40000, 64 },
	{ "site_medium", site_medium, 3000, 3000 },
	{ "site_large", site_large, 60, 100000 },
	{ "site_huge", site_huge, 4, 1 << 20 },
};

int main(void)
{
	static char out[4096];

	setvbuf(stdout, out, _IOFBF, sizeof(out));
	for (size_t s = 0; s < sizeof(sites) / sizeof(*sites); s++) {
		size_t number = sites[s].number, bytes = 0, live = 0, blocks = 0;

		for (size_t i = 0; i < number; i++) {
			size_t size = sites[s].size + i % 16;
			void *block = sites[s].make(size);

			bytes += size;
			if (i % 4 == 0) {
				live += size;
				blocks++;
			} else {
				free(block);
			}
		}
		printf("%s %zu %zu %zu %zu\n", sites[s].name, number, bytes, live,
		       blocks);
	}
	return 0;
}
