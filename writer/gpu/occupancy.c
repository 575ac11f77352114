/* SPDX-License-Identifier: Apache-2.0 */
/* cudaOccMaxActiveBlocksPerMultiprocessor of cuda_occupancy.h (CUDA 13.0), written
 * anew: the same numbers for each kernel and device that it knows. */
#include "writer/gpu/occupancy.h"

#include <stddef.h>

#define KIB            1024
#define REGISTER_GRAIN 256
#define PARTITIONS     4
#define MAJOR_OLDEST   3
#define MAJOR_NEWEST   12
#define SANE           (1u << 30) /* no device or kernel has larger numbers */

static int64_t round_up(int64_t n, int64_t grain)
{
	return (n + grain - 1) / grain * grain;
}

/* Are the numbers sane? Those of a damaged record must not divide by 0 or overflow. */
static bool is_known(const struct rec_device *d)
{
	const uint32_t must[] = { d->threads_per_block,
				  d->threads_per_sm,
				  d->registers_per_block,
				  d->registers_per_sm,
				  d->shared_per_block,
				  d->shared_per_sm,
				  d->warp,
				  d->sms };

	for (unsigned i = 0; i < sizeof(must) / sizeof(*must); i++)
		if (!must[i] || must[i] > SANE)
			return false;
	return d->major >= MAJOR_OLDEST && d->major <= MAJOR_NEWEST && d->major != 4 &&
	       d->shared_optin <= SANE && d->shared_reserved <= SANE;
}

/* ---- what a multiprocessor of an architecture can do ---- */

/* Resident blocks of a multiprocessor, by compute capability. */
static int most_blocks(const struct rec_device *d)
{
	switch (d->major) {
	case 3:
		return 16;
	case 7:
		return d->minor == 5 ? 16 : 32;
	case 8:
		return d->minor == 0 ? 32 : d->minor == 9 ? 24 : 16;
	case 10:
		return d->minor == 1 ? 24 : 32;
	case 11:
		return d->minor == 0 ? 24 : 32;
	case 12:
		return 24;
	default:
		return 32;
	}
}

/* The sizes to which shared memory can be set, in KiB; NULL: it cannot be set. */
static const uint8_t *carve_outs(const struct rec_device *d)
{
	static const uint8_t volta[] = { 0, 8, 16, 32, 64, 96, 255 };
	static const uint8_t turing[] = { 32, 64, 255 };
	static const uint8_t small[] = { 0, 8, 16, 32, 64, 100, 255 };
	static const uint8_t ampere[] = { 0, 8, 16, 32, 64, 100, 132, 164, 255 };
	static const uint8_t hopper[] = {
		0, 8, 16, 32, 64, 100, 132, 164, 196, 228, 255
	};

	if (d->major == 7)
		return d->minor == 5 ? turing : volta;
	if (d->major == 8)
		return d->minor == 0 || d->minor == 7 ? ampere : small;
	return d->major == 12 ? small : d->major >= 9 ? hopper : NULL;
}

/* The smallest setting of shared memory that holds `bytes`. False: the device does not
 * have that much, or its minor version is too new to be known. */
static bool set_to(const struct rec_device *d, int64_t bytes, int64_t *size)
{
	const uint8_t *kib = carve_outs(d);

	*size = bytes;
	if (!kib)
		return true;
	if ((d->major == 10 || d->major == 11) && d->minor > 1 && d->minor != 3)
		return false;
	if (d->major == 12 && d->minor > 1)
		return false;
	for (; *kib != 255; kib++) {
		*size = (int64_t)*kib * KIB;
		if (bytes <= *size)
			return true;
	}
	return false;
}

/* ---- the limits ---- */

/* Blocks whose warps a multiprocessor has room for; 0: a block has too many threads. */
static int by_warps(const struct rec_device *d, int64_t warps, uint32_t threads)
{
	if (threads > d->threads_per_block)
		return 0;
	return (int)(d->threads_per_sm / d->warp / warps);
}

/* The warp is the unit that registers are given to, in grains, from the partitions of a
 * multiprocessor; 0: a block does not fit. */
static int by_registers(const struct rec_device *d, const struct occupancy_kernel *k,
			int64_t warps, int partitions, struct occupancy *o)
{
	int64_t each = round_up((int64_t)k->registers * d->warp, REGISTER_GRAIN);
	int64_t all = each * warps, assumed = each * round_up(warps, partitions);

	o->registers = (int)(all < OCCUPANCY_UNLIMITED ? all : OCCUPANCY_UNLIMITED);
	if (d->registers_per_block < assumed || d->registers_per_block < all ||
	    k->registers > (d->major >= 7 ? 256u : 255u))
		return 0;
	if (!each)
		return OCCUPANCY_UNLIMITED;
	return (int)(d->registers_per_sm / partitions / each * partitions / warps);
}

/* False: the device is not known. Each block also takes what the system reserves for
 * itself. */
static bool by_shared(const struct rec_device *d, const struct occupancy_kernel *k,
		      struct occupancy *o)
{
	int64_t fixed = (int64_t)k->static_shared + d->shared_reserved;
	int64_t all = fixed + k->dynamic_shared;
	int64_t used = round_up(all, d->major >= 8 ? 128 : 256);
	int64_t most = d->shared_per_block, room;

	if (used > OCCUPANCY_UNLIMITED || !set_to(d, d->shared_per_sm, &room))
		return false;
	o->shared = (int)used;
	if (k->opt_in && d->major >= 7 && all > most)
		most = d->shared_optin ? d->shared_optin : d->shared_per_sm;
	if (d->major >= 8)
		most += d->shared_reserved;
	if (used > most) {
		o->by_shared = 0;
		return true;
	}
	if (room < used && !set_to(d, used, &room))
		return false;
	o->by_shared = used ? (int)(room / used) : OCCUPANCY_UNLIMITED;
	return true;
}

/* Lowers o->active to a limit, and names all limits that are equally low. */
static void take_least(struct occupancy *o, int blocks, enum occupancy_limit limit)
{
	if (blocks > o->active)
		return;
	if (blocks < o->active)
		o->limits = 0;
	o->active = blocks;
	o->limits |= limit;
}

bool occupancy_get(const struct rec_device *d, const struct occupancy_kernel *k,
		   struct occupancy *o)
{
	/* Compute capability 6.0 has two partitions, but a kernel counts only if it would
	 * run on the later versions of Pascal, too. */
	bool oldest_pascal = d->major == 6 && d->minor == 0;
	int64_t warps;

	*o = (struct occupancy){ .active = OCCUPANCY_UNLIMITED };
	if (!is_known(d) || !k->threads || k->threads > SANE || k->registers > SANE)
		return false;
	warps = round_up(k->threads, d->warp) / d->warp;
	if (!by_shared(d, k, o))
		return false;
	o->by_warps = by_warps(d, warps, k->threads);
	o->by_registers = by_registers(d, k, warps, PARTITIONS, o);
	if (oldest_pascal && o->by_registers)
		o->by_registers = by_registers(d, k, warps, PARTITIONS / 2, o);
	o->by_blocks = most_blocks(d);
	o->by_barriers = OCCUPANCY_UNLIMITED;
	take_least(o, o->by_warps, OCCUPANCY_WARPS);
	take_least(o, o->by_registers, OCCUPANCY_REGISTERS);
	take_least(o, o->by_shared, OCCUPANCY_SHARED);
	take_least(o, o->by_blocks, OCCUPANCY_BLOCKS);
	return true;
}
