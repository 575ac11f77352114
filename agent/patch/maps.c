/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc/self/maps says of an address: whether it is mapped, and how it is
 * protected. */
#include "agent/patch/steps.h"
#include "base/unseen.h"

struct walk {
	maps_fn fn;
	void *arg;
};

static int walk_maps_file(void *arg)
{
	const struct walk *w = arg;
	char line[64]; /* that a line is cut does not matter */

	return maps_lines(line, sizeof(line), w->fn, w->arg);
}

bool patch_maps(maps_fn fn, void *arg)
{
	struct walk w = { fn, arg };

	return unseen_run(walk_maps_file, &w);
}

struct prot_of {
	uintptr_t at;
	int prot;
};

static bool is_there(const struct maps_line *l, void *arg)
{
	struct prot_of *p = arg;

	if (p->at < l->begin || p->at >= l->end)
		return false;
	p->prot = l->prot;
	return true;
}

int patch_prot(uintptr_t at)
{
	struct prot_of p = { at, -1 };

	patch_maps(is_there, &p);
	return p.prot;
}
