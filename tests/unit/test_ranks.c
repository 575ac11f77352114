/* SPDX-License-Identifier: Apache-2.0 */
/* Whoever starts many processes says which is which in words of his own. */
#include "agent/core/ranks.h"
#include "tests/unit/unit.h"

#include <string.h>

static struct {
	char *env[8]; /* ends with NULL */
	const char *rank, *local, *size;
} rows[] = {
	{ { "HOME=/root" }, NULL, NULL, NULL },
	{ { "RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=8" }, "3", "1", "8" },
	{ { "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=0",
	    "OMPI_COMM_WORLD_RANK=2" },
	  "2",
	  "0",
	  "4" },
	{ { "PMI_RANK=5", "MPI_LOCALRANKID=1", "PMI_SIZE=6" }, "5", "1", "6" },
	{ { "SLURM_PROCID=1", "SLURM_LOCALID=0", "SLURM_NTASKS=2", "SLURM_STEP_ID=0" },
	  "1",
	  "0",
	  "2" },
	/* a batch script, or what a shell of an allocation starts */
	{ { "SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=2" }, NULL, NULL, NULL },
	/* torchrun under srun: one process for each node, several for each of those */
	{ { "SLURM_PROCID=1", "SLURM_LOCALID=0", "SLURM_NTASKS=2", "SLURM_STEP_ID=0",
	    "RANK=13", "LOCAL_RANK=5", "WORLD_SIZE=16" },
	  "13",
	  "5",
	  "16" },
	/* srun with PMI: of one row, not of two */
	{ { "SLURM_PROCID=1", "SLURM_LOCALID=0", "SLURM_NTASKS=2", "SLURM_STEP_ID=0",
	    "PMI_RANK=1", "PMI_SIZE=2" },
	  "1",
	  NULL,
	  "2" },
	{ { "OMPI_COMM_WORLD_RANK=1", "PMI_RANK=2" }, "1", NULL, NULL },
	{ { "RANK=", "PMI_RANK=2", "LOCAL_RANK=1" }, "2", NULL, NULL },
	{ { "RANK=captain", "SLURM_PROCID=4", "SLURM_STEP_ID=1" }, "4", NULL, NULL },
	{ { "RANK=-1" }, NULL, NULL, NULL },
	{ { "RANK=999999999", "LOCAL_RANK=a\"b", "WORLD_SIZE=1000000000" },
	  "999999999",
	  NULL,
	  NULL },
	{ { "RANK=1234567890" }, NULL, NULL, NULL },
};

static bool same(const char *got, const char *want)
{
	return got && want ? !strcmp(got, want) : got == want;
}

START_TEST(one_row_speaks_for_all_three)
{
	struct ranks r;

	ck_assert_int_eq(ranks_find(&r, rows[_i].env), rows[_i].rank != NULL);
	ck_assert_msg(same(r.rank, rows[_i].rank), "rank %s", r.rank);
	ck_assert_msg(same(r.local, rows[_i].local), "local %s", r.local);
	ck_assert_msg(same(r.size, rows[_i].size), "size %s", r.size);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("ranks");

	tcase_add_loop_test(tc, one_row_speaks_for_all_three, 0,
			    sizeof(rows) / sizeof(*rows));
	return unit_run(tc, "ranks");
}
