/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for a user who has lost records: how large the buffer should have been. */
#include "base/buffer_need.h"

#define MOST 1048576 /* MiB */

/* The buffer must grow as the records would have, and by a quarter more, for records
 * differ in size; rounded up to a power of two. */
uint64_t buffer_need(uint64_t mb, uint64_t kept, uint64_t lost)
{
	double need, power = 1;

	if (!mb || !kept || !lost)
		return 0;
	need = 1.25 * (double)mb * ((double)kept + (double)lost) / (double)kept;
	while (power < need)
		power *= 2;
	return power <= MOST ? (uint64_t)power : 0;
}
