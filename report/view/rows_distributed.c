/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the run's ranks: of a file that was named, that one alone. */
#include "report/view/rows.h"
#include "report/view/rows_ranks.h"

/* Each wants a table that can be freed, whatever fails. */
bool rows_distributed(struct table *t, struct subject *s)
{
	const struct ranks *all = subject_ranks(s);

	table_begin(t, NULL, 0);
	return all && rows_ranks_steps(t, all);
}

bool rows_collectives(struct table *t, struct subject *s)
{
	const struct ranks *all = subject_ranks(s);

	table_begin(t, NULL, 0);
	return all && rows_ranks_collectives(t, all);
}
