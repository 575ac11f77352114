/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives. Rank and size are noted when a communicator is made; of a communicator
 * that was made unseen NCCL is asked, once: those two calls only read.
 */
#include "agent/core/emit.h"
#include "agent/core/record_cuda.h"
#include "agent/cuda/libraries.h"
#include "base/seldom.h"

#include <stdatomic.h>

#define COMMS  256u
#define PROBES 16u

struct comm {
	_Atomic uint64_t comm; /* 0 = free */
	_Atomic uint64_t what; /* rank, size: each plus one; 0 = not known */
};

static SELDOM struct comm comms[COMMS];

/* The communicator's place in the table; `make`: a free one if it has none. NULL: none is
 * near enough. A place stays its communicator's for good, because probing stops at a free
 * one. */
static struct comm *find_comm(uint64_t comm, bool make)
{
	uint64_t hash = comm * 0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; comm && i < PROBES; i++) {
		struct comm *c = &comms[((hash >> 40) + i) % COMMS];
		uint64_t own = atomic_load(&c->comm);

		if (!own && make && atomic_compare_exchange_strong(&c->comm, &own, comm))
			return c;
		if (own == comm)
			return c;
		if (!own)
			return NULL;
	}
	return NULL;
}

static void note_comm(uint64_t comm, int size, int rank)
{
	struct comm *c = find_comm(comm, true);

	if (c)
		atomic_store(&c->what,
			     (uint64_t)(uint32_t)(rank + 1) << 32 | (uint32_t)(size + 1));
}

/* The profiling interface's name first: no other tool stands in front of that. */
static void *nccl_own(const void *beside, const char *name, const char *otherwise)
{
	void *fn = cuda_find_beside(beside, name);

	return fn ? fn : cuda_find_beside(beside, otherwise);
}

static void ask_nccl(uint64_t comm, const void *beside)
{
	int (*count)(uint64_t, int *) =
		nccl_own(beside, "pncclCommCount", "ncclCommCount");
	int (*user)(uint64_t, int *) =
		nccl_own(beside, "pncclCommUserRank", "ncclCommUserRank");
	int size = -1, rank = -1;

	if (count && count(comm, &size))
		size = -1;
	if (user && user(comm, &rank))
		rank = -1;
	note_comm(comm, size, rank);
}

static uint64_t rank_and_size(const struct cuda_frame *f, uint64_t comm)
{
	struct comm *c = find_comm(comm, false);
	uint64_t what = c ? atomic_load(&c->what) : 0;

	if (what || !comm)
		return what;
	ask_nccl(comm, cuda_resolve(f->slot, f->caller));
	c = find_comm(comm, false);
	return c ? atomic_load(&c->what) : 0;
}

/* A communicator was made, or is gone: its address may come again. */
void nccl_seen(const struct cuda_frame *f)
{
	const uint64_t *out = (const uint64_t *)f->reg[0];
	struct comm *c;

	if (f->fn->kind == KIND_COMM) {
		if (out && *out)
			note_comm(*out, (int)cuda_arg(f, f->fn->arg[0]),
				  (int)cuda_arg(f, f->fn->arg[1]));
		return;
	}
	c = find_comm(f->reg[0], false);
	if (c)
		atomic_store(&c->what, 0);
}

static int32_t number_of(const struct cuda_frame *f, int which)
{
	return which < 0 ? -1 : (int32_t)cuda_arg(f, which);
}

void nccl_begin(struct cuda_frame *f)
{
	const int8_t *arg = f->fn->arg;
	uint64_t comm = arg[3] < 0 ? 0 : cuda_arg(f, arg[3]);
	uint64_t what = rank_and_size(f, comm);
	uint32_t name = cuda_name_of(f->fn);
	struct thread *t = emit_enter(REC_COLLECTIVE);
	struct rec_collective *r;

	if (!t)
		return;
	r = emit_reserve(t, REC_COLLECTIVE, sizeof(*r));
	if (r) {
		*r = (struct rec_collective){
			.r.name = name,
			.count = arg[0] < 0 ? 0 : cuda_arg(f, arg[0]),
			.comm = comm,
			.type = number_of(f, arg[1]),
			.rank = (int32_t)(uint32_t)(what >> 32) - 1,
			.size = (int32_t)(uint32_t)what - 1,
			.peer = number_of(f, arg[2]),
		};
		f->record = &r->r;
		f->cycle = t->cycle;
		r->r.begin = clock_ticks();
		emit_commit(t, &r->r, REC_COLLECTIVE, 0, sizeof(*r));
	}
	emit_leave(t);
}
