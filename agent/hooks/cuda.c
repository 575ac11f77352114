/* SPDX-License-Identifier: Apache-2.0 */
/* What happens around a call while something is wanted. */
#include "agent/hooks/cuda.h"
#include "agent/core/emit.h"
#include "agent/core/names.h"
#include "agent/core/record_cuda.h"
#include "agent/hooks/cuda_parts.h"
#include "agent/hooks/stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define STACK_BYTES      64 /* more than any function here takes by the stack ... */
#define STACK_BYTES_COMM 160 /* ... but those with an ncclUniqueId */

const struct cuda_function cuda_functions[] = {
#define HOOK(group, symbol, kind, ...) \
	{ #symbol, GROUP_##group, KIND_##kind, { __VA_ARGS__ } },
#include "agent/hooks/cudart.def"
#include "agent/hooks/driver.def"
#include "agent/hooks/nccl.def"
#undef HOOK
};

enum { FUNCTIONS = sizeof(cuda_functions) / sizeof(*cuda_functions) };
const unsigned cuda_function_count = FUNCTIONS;

#ifdef HOOK_NO_EXPORT /* no cuda_entry.S in unit tests */
void *cuda_real[FUNCTIONS + CUDA_SLOTS_SPARE];
void *const cuda_first[FUNCTIONS + CUDA_SLOTS_SPARE];
void *const cuda_entry[FUNCTIONS + CUDA_SLOTS_SPARE];
uint8_t cuda_wanted[2];
int cuda_missing(void)
{
	return 999;
}
int cuda_missing_nccl(void)
{
	return 3;
}
#endif

/* The offsets that cuda_entry.S uses. */
_Static_assert(offsetof(struct cuda_frame, rax) == 48 &&
		       offsetof(struct cuda_frame, sse) == 64 &&
		       offsetof(struct cuda_frame, stack) == 192 &&
		       offsetof(struct cuda_frame, caller) == 200 &&
		       offsetof(struct cuda_frame, slot) == 208 &&
		       offsetof(struct cuda_frame, stack_bytes) == 212 &&
		       offsetof(struct cuda_frame, real) == 216 &&
		       offsetof(struct cuda_frame, result) == 224 &&
		       sizeof(struct cuda_frame) <= 320,
	       "cuda_entry.S");
_Static_assert((CUDA_WANT_MARKS | CUDA_WANT_READY) == 17, "cuda_entry.S");

static struct cuda_listener to;
static _Atomic bool told_ready;
static _Atomic uint32_t correlation;

/* We may be entered from inside ourselves: by a signal's handler, or by what the
 * dynamic linker calls. Such a call just goes through. */
static __thread volatile bool inside __attribute__((tls_model("initial-exec")));

static unsigned wanted(void)
{
	return __atomic_load_n(&cuda_wanted[0], __ATOMIC_RELAXED);
}

const char *cuda_kernel_of(const struct cuda_frame *f)
{
	return kernels_name((void *)cuda_arg(f, f->fn->arg[0]), f->fn->group);
}

/* ---- records ---- */

uint32_t cuda_name_of(const struct cuda_function *fn)
{
	static _Atomic uint64_t ids[FUNCTIONS]; /* epoch, id */
	_Atomic uint64_t *known = &ids[fn - cuda_functions];
	uint64_t id = atomic_load_explicit(known, memory_order_relaxed);

	if (id >> 32 != names_epoch) {
		id = names_add(fn->name, strlen(fn->name), NULL, 0);
		if (!id)
			return 0;
		id |= (uint64_t)names_epoch << 32;
		atomic_store_explicit(known, id, memory_order_relaxed);
	}
	return (uint32_t)id;
}

static void call_begin(struct cuda_frame *f)
{
	uint8_t flags = CALL_HOOK | (f->fn->group == GROUP_DRIVER ? CALL_DRIVER : 0);
	uint32_t name = cuda_name_of(f->fn);
	struct rec_call *c = NULL;
	struct thread *t;

	f->correlation = atomic_fetch_add(&correlation, 1) + 1;
	if (cuda_is_kernel(f->fn))
		estimate_before(f);
	if (f->pair)
		flags |= CALL_LAUNCHES;
	t = emit_enter(REC_CALL);
	if (!t)
		return;
	c = emit_reserve(t, REC_CALL, sizeof(*c));
	if (c) {
		*c = (struct rec_call){
			.r.name = name,
			.correlation = f->correlation,
			.tid = t->tid,
		};
		f->record = &c->r;
		f->cycle = t->cycle;
		c->r.begin = clock_ticks();
		if (f->pair)
			estimate_called(f, c->r.begin);
		emit_commit(t, &c->r, REC_CALL, flags, sizeof(*c));
	}
	emit_leave(t);
}

static void call_result(const struct cuda_frame *f, int32_t result)
{
	struct thread *t = emit_enter(REC_CALL);

	if (!t)
		return;
	if (atomic_load_explicit(&t->emitting, memory_order_relaxed) == f->cycle)
		((struct rec_call *)f->record)->result = result;
	emit_leave(t);
}

/* ---- calls that are always looked at ---- */

static void always_before(const struct cuda_frame *f)
{
	static const void *_Atomic image;

	switch (f->fn->kind) {
	case KIND_REGISTER:
		/* A library's first kernel: it may have brought its own runtime. */
		if (atomic_exchange(&image, (void *)f->reg[0]) != (void *)f->reg[0])
			cuda_find_again();
		kernels_add((void *)f->reg[1], (const char *)f->reg[3]);
		break;
	case KIND_CAPTURE:
	case KIND_RESET:
		estimate_off();
		break;
	default:
		break;
	}
}

static void always_after(const struct cuda_frame *f)
{
	void **out = (void **)f->reg[0];
	void *wrapped;

	if ((int)f->result[0] && f->fn->kind != KIND_COMM && f->fn->kind != KIND_COMM_END)
		return;
	switch (f->fn->kind) {
	case KIND_SAME:
		if (out && *out)
			kernels_same(*out, (void *)f->reg[1]);
		break;
	case KIND_NAMED:
		if (out && *out && f->reg[2])
			kernels_put(*out, (const char *)f->reg[2]);
		break;
	case KIND_ENTRY:
		out = (void **)f->reg[1];
		if (!out || !*out || !f->reg[0])
			break;
		wrapped = cuda_hooks_driver((const char *)f->reg[0], *out, f->caller);
		if (wrapped)
			*out = wrapped;
		break;
	case KIND_COMM:
	case KIND_COMM_END:
		nccl_seen(f);
		break;
	default:
		break;
	}
}

/* ---- one call ---- */

static void before(struct cuda_frame *f)
{
	const struct cuda_function *fn = f->fn;
	unsigned want = wanted();
	bool open = gate_cycle();

	always_before(f);
	if (fn->kind >= KIND_REGISTER && fn->kind <= KIND_ENTRY)
		return;
	if (fn->group == GROUP_NCCL) {
		if (open && cuda_wanted[1] && fn->kind == KIND_COLLECTIVE)
			nccl_begin(f);
		return;
	}
	if (want & CUDA_WANT_MARKS && to.begin)
		f->token =
			to.begin(fn->name, cuda_is_kernel(fn) ? cuda_kernel_of(f) : NULL);
	open = gate_cycle(); /* a marker may begin a window, or end it */
	if (open && want & CUDA_WANT_STACKS && cuda_launches(fn))
		stack_take(cuda_name_of(fn));
	if (open && want & CUDA_WANT_TIMES)
		call_begin(f);
}

/* A driver has answered. */
static bool tells_ready(const struct cuda_frame *f)
{
	if ((int)f->result[0])
		return false;
	return f->fn->kind == KIND_INIT ||
	       (f->fn->group != GROUP_NCCL && f->fn->kind <= KIND_LAST_LAUNCH);
}

static void after(struct cuda_frame *f)
{
	uint64_t now = f->record ? clock_ticks() : 0;

	if (f->pair)
		estimate_after(f);
	if (f->record) {
		if (f->fn->group != GROUP_NCCL && (int)f->result[0])
			call_result(f, (int32_t)f->result[0]);
		emit_end(f->record, f->cycle, now);
	}
	always_after(f);
	if (f->fn->kind == KIND_SYNC && wanted() & CUDA_WANT_TIMES)
		estimate_poll();
	if (f->token && to.end)
		to.end(f->token);
	if (wanted() & CUDA_WANT_READY && tells_ready(f) &&
	    !atomic_exchange(&told_ready, true)) {
		__atomic_and_fetch(&cuda_wanted[0], (uint8_t)~CUDA_WANT_READY,
				   __ATOMIC_RELAXED);
		if (to.ready)
			to.ready();
	}
}

void cuda_enter(struct cuda_frame *f)
{
	int saved = errno;

	f->fn = cuda_function_of(f->slot);
	f->stack_bytes = f->fn->kind == KIND_COMM ? STACK_BYTES_COMM : STACK_BYTES;
	f->record = NULL;
	f->pair = NULL;
	f->token = 0;
	f->aside = inside;
	if (!inside) {
		inside = true;
		/* What NVIDIA's libraries ask of the driver is part of a call to them. */
		f->aside =
			f->fn->group == GROUP_DRIVER && cuda_called_by_nvidia(f->caller);
		if (!f->aside)
			before(f);
		inside = false;
	}
	f->real = cuda_resolve(f->slot, f->caller);
	errno = saved;
}

void cuda_leave(struct cuda_frame *f)
{
	int saved = errno;

	if (!f->aside && !inside) {
		inside = true;
		after(f);
		inside = false;
	}
	errno = saved;
}

void cuda_hooks_start(const struct cuda_listener *listener)
{
	to = *listener;
}

void cuda_hooks_want(unsigned what)
{
	const unsigned collectives = CUDA_WANT_COLLECTIVES;

	if (atomic_load(&told_ready))
		what &= ~(unsigned)CUDA_WANT_READY;
	if (what & (CUDA_WANT_MARKS | CUDA_WANT_STACKS | CUDA_WANT_TIMES))
		atomic_store(&cuda_armed, true);
	__atomic_store_n(&cuda_wanted[0], (uint8_t)(what & ~collectives),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&cuda_wanted[1], (uint8_t)(what & collectives),
			 __ATOMIC_RELAXED);
}

void cuda_hooks_fork_child(void)
{
	cuda_hooks_want(0);
	atomic_store(&told_ready, false);
	inside = false;
	estimate_fork_child();
}
