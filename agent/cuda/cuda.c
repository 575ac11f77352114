/* SPDX-License-Identifier: Apache-2.0 */
/* What happens around a call of CUDA's or NCCL's while something is wanted of it. */
#include "agent/cuda/cuda.h"
#include "agent/core/cost.h"
#include "agent/core/emit.h"
#include "agent/core/names.h"
#include "agent/core/record_cuda.h"
#include "agent/cuda/libraries.h"
#include "agent/unwind/unwind.h"

#include <errno.h>
#include <stdatomic.h>

#define STACK_BYTES      64 /* more than any function here takes by the stack ... */
#define STACK_BYTES_COMM 160 /* ... but those with an ncclUniqueId */

uint8_t cuda_wanted[2];

/* The offsets that cuda/entry.S uses. */
_Static_assert(offsetof(struct cuda_frame, rax) == 48 &&
		       offsetof(struct cuda_frame, sse) == 64 &&
		       offsetof(struct cuda_frame, stack) == 192 &&
		       offsetof(struct cuda_frame, caller) == 200 &&
		       offsetof(struct cuda_frame, slot) == 208 &&
		       offsetof(struct cuda_frame, stack_bytes) == 212 &&
		       offsetof(struct cuda_frame, real) == 216 &&
		       offsetof(struct cuda_frame, result) == 224 &&
		       sizeof(struct cuda_frame) <= 320,
	       "cuda/entry.S");
_Static_assert((CUDA_WANT_MARKS | CUDA_WANT_READY) == 17, "cuda/entry.S");

#define WANT_WALKS (CUDA_WANT_STACKS | CUDA_WANT_LINES)

static struct cuda_listener to;
static _Atomic bool told_ready; /* to.ready was called: once in a process */
static _Atomic uint32_t correlation; /* our own count, while CUPTI gives none */

/* We may be entered from inside ourselves: by a signal's handler, or by what the
 * dynamic linker calls. Such a call just goes through. */
static __thread volatile bool inside __attribute__((tls_model("initial-exec")));

static unsigned wanted_now(void)
{
	return __atomic_load_n(&cuda_wanted[0], __ATOMIC_RELAXED);
}

/* ---- records ---- */

static void call_begin(struct cuda_frame *f)
{
	uint8_t flags = CALL_HOOK | (f->fn->group == GROUP_DRIVER ? CALL_DRIVER : 0);
	uint32_t name = cuda_name_of(f->fn);
	struct rec_call *c = NULL;
	struct thread *t;

	f->correlation = atomic_fetch_add(&correlation, 1) + 1;
	if (cuda_is_kernel(f->fn))
		event_times_before(f);
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
			event_times_called(f, c->r.begin);
		emit_commit(t, &c->r, REC_CALL, flags, sizeof(*c));
	}
	emit_leave(t);
}

/* The record was published at the call's begin. Its chunk may be another window's by now:
 * then there is nothing to store the result into. */
static void call_result(const struct cuda_frame *f, int32_t result)
{
	struct thread *t = emit_enter(REC_CALL);

	if (!t)
		return;
	if (atomic_load_explicit(&t->emitting, memory_order_relaxed) == f->cycle)
		((struct rec_call *)f->record)->result = result;
	emit_leave(t);
}

/* The stack, named for the function about to be called. The clock is read after the walk,
 * whose time is ours and not the program's. */
static void record_stack(uint32_t name, unsigned want)
{
	struct thread *t = emit_enter(REC_STACK);
	struct rec_stack *r = t ? emit_reserve(t, REC_STACK, sizeof(*r)) : NULL;

	if (r) {
		uint32_t stack =
			want & CUDA_WANT_STACKS ? unwind_stack(emit_info(), 0) : 0;

		if (want & CUDA_WANT_LINES)
			stack = to.line(t, stack);
		*r = (struct rec_stack){ .r.name = name, .stack = stack };
		r->r.begin = clock_ticks();
		emit_commit(t, &r->r, REC_STACK, 0, sizeof(*r));
	}
	if (t)
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
		kernel_names_add((void *)f->reg[1], (const char *)f->reg[3]);
		break;
	case KIND_CAPTURE:
	case KIND_RESET:
		event_times_off();
		break;
	default:
		break;
	}
}

/* A call's results are looked at only when it has succeeded; but those of NCCL's calls
 * always, which may leave a communicator behind with "in progress". */
static void always_after(const struct cuda_frame *f)
{
	void **out = (void **)f->reg[0];
	void *wrapped;

	if ((int)f->result[0] && f->fn->kind != KIND_COMM && f->fn->kind != KIND_COMM_END)
		return;
	switch (f->fn->kind) {
	case KIND_SAME:
		if (out && *out)
			kernel_names_same(*out, (void *)f->reg[1]);
		break;
	case KIND_NAMED:
		if (out && *out && f->reg[2])
			kernel_names_put(*out, (const char *)f->reg[2]);
		break;
	case KIND_ENTRY:
		out = (void **)f->reg[1];
		if (!out || !*out || !f->reg[0] || !to.driver)
			break;
		wrapped = to.driver((const char *)f->reg[0], *out, f->caller);
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

/* A call takes long: the cost of each is measured. */
static void record_call(struct cuda_frame *f, unsigned want)
{
	struct cost_span span = cost_begin();

	if (want & WANT_WALKS && cuda_launches(f->fn))
		record_stack(cuda_name_of(f->fn), want);
	if (want & CUDA_WANT_TIMES)
		call_begin(f);
	cost_end(span, COST_CALL);
}

/* The order matters: names of kernels first, which markers match; then the marker, which
 * may open the window; then what only an open window wants. */
static void begin_call(struct cuda_frame *f)
{
	const struct cuda_function *fn = f->fn;
	unsigned want = wanted_now();
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
		f->token = to.begin(cuda_function_name(fn),
				    cuda_is_kernel(fn) ? kernel_names_of(f) : NULL);
	open = gate_cycle(); /* a marker may begin a window, or end it */
	if (open && want & (WANT_WALKS | CUDA_WANT_TIMES))
		record_call(f, want);
}

/* True: the call's success shows that a driver has answered. */
static bool tells_ready(const struct cuda_frame *f)
{
	if ((int)f->result[0])
		return false;
	return f->fn->kind == KIND_INIT ||
	       (f->fn->group != GROUP_NCCL && f->fn->kind <= KIND_LAST_LAUNCH);
}

/* The reverse of begin_call: the call's end is in its window even if the marker seals
 * that. */
static void end_call(struct cuda_frame *f)
{
	uint64_t now = f->record ? clock_ticks() : 0;

	if (f->pair)
		event_times_after(f);
	if (f->record) {
		if (f->fn->group != GROUP_NCCL && (int)f->result[0])
			call_result(f, (int32_t)f->result[0]);
		emit_end(f->record, f->cycle, now);
		cost_more(now, COST_CALL);
	}
	always_after(f);
	if (f->fn->kind == KIND_SYNC && wanted_now() & CUDA_WANT_TIMES)
		event_times_poll();
	if (f->token && to.end)
		to.end(f->token);
	if (wanted_now() & CUDA_WANT_READY && tells_ready(f) &&
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
			begin_call(f);
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
		end_call(f);
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
	if (what & (CUDA_WANT_MARKS | WANT_WALKS | CUDA_WANT_TIMES))
		atomic_store(&cuda_armed, true);
	__atomic_store_n(&cuda_wanted[0], (uint8_t)(what & ~collectives),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&cuda_wanted[1], (uint8_t)(what & collectives),
			 __ATOMIC_RELAXED);
}

bool cuda_hooks_inside(void)
{
	return inside;
}

void cuda_hooks_fork_child(void)
{
	cuda_hooks_want(0);
	atomic_store(&told_ready, false);
	inside = false;
	event_times_fork_child();
}
