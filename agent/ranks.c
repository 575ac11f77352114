/* SPDX-License-Identifier: Apache-2.0 */
/* Rank and world size for the trace, from variables that torchrun, MPI or Slurm set. */
#include "agent/core/ranks.h"
#include "agent/agent.h"
#include "agent/core/spool.h"
#include "base/fmt.h"

extern char **environ;

static void fact_text(const char *key, const char *value)
{
	char json[32];

	if (!value)
		return;
	fmt(json, sizeof(json), "\"%s\"", value);
	spool_fact(key, json);
}

/* torchrun sets the variables before the program starts, a program that spawns its own
 * ranks later: so they are looked at again when the first window ends. */
void agent_ranks(void)
{
	struct ranks r;

	ranks_find(&r, environ);
	fact_text("rank", r.rank);
	fact_text("local_rank", r.local);
	fact_text("world_size", r.size);
}
