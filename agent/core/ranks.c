/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks, as the environment tells them: one table for names of files, for what is in
 * them, and for the closing lines. */
#include "agent/core/ranks.h"
#include "config/config_file.h"

#include <stddef.h>
#include <string.h>

#define DIGITS_MOST 9

/* The first row whose rank is set gives all three numbers. Slurm's row comes last, for
 * torchrun under srun has both, and a batch script has it without any srun: `if_set`
 * tells. */
static const struct {
	const char *rank, *local, *size, *if_set;
} starters[] = {
	/* torchrun, accelerate, DeepSpeed, Lightning */
	{ "RANK", "LOCAL_RANK", "WORLD_SIZE", NULL },
	/* Open MPI */
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
	  NULL },
	/* MPICH, Intel MPI, MVAPICH */
	{ "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", NULL },
	{ "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", "SLURM_STEP_ID" },
};

static const char *find_number(char *const *env, const char *name)
{
	const char *value = config_getenv(env, name);
	size_t len = value ? strlen(value) : 0;

	return len && len <= DIGITS_MOST && strspn(value, "0123456789") == len ? value
									       : NULL;
}

bool ranks_find(struct ranks *r, char *const *env)
{
	for (size_t i = 0; i < sizeof(starters) / sizeof(*starters); i++) {
		const char *rank = find_number(env, starters[i].rank);
		const char *if_set = starters[i].if_set;

		if (!rank || (if_set && !config_getenv(env, if_set)))
			continue;
		*r = (struct ranks){ rank, find_number(env, starters[i].local),
				     find_number(env, starters[i].size) };
		return true;
	}
	*r = (struct ranks){ 0 };
	return false;
}
