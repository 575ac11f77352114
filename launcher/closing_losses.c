/* SPDX-License-Identifier: Apache-2.0 */
/* What is missing of the records: how much, why, and which option would have kept it. */
#include "base/buffer_need.h"
#include "base/fmt.h"
#include "config/several.h"
#include "launcher/closing_words.h"
#include "launcher/room.h"
#include "launcher/say.h"

#define MERGES_SHARE 10 /* one stack in so many is worth a line */

/* The user's words for kinds; the words in files are for programs that read files. */
static const char *const kind_words[REC_KINDS] = {
	[REC_THREAD] = "threads",
	[REC_OP] = "operators",
	[REC_ANNOTATION] = "annotations",
	[REC_STEP] = "step marks",
	[REC_MEMORY] = "tensor allocations and frees",
	[REC_OOM] = "failed tensor allocations",
	[REC_CALL] = "CUDA calls",
	[REC_KERNEL] = "kernels",
	[REC_COPY] = "GPU copies",
	[REC_SET] = "GPU sets",
	[REC_GRAPH] = "graph launches",
	[REC_SYNC] = "CUDA waits",
	[REC_EVENT] = "CUDA events",
	[REC_OVERHEAD] = "times of CUPTI's own work",
	[REC_BLOCK] = "allocations and frees on the GPU",
	[REC_GPU] = "GPUs",
	[REC_MOMENT] = "moments of CUPTI",
	[REC_COLLECTIVE] = "collectives",
	[REC_STACK] = "call stacks",
	[REC_ALLOC] = "allocations",
	[REC_FREE] = "frees",
	[REC_HEAP] = "memory samples",
	[REC_MODULE] = "calls of modules",
	[REC_FUNCTION] = "calls of Python functions",
	[REC_PYTHON] = "garbage collections, waits for the lock and imports of Python's",
	[REC_C_CALL] = "calls of C functions",
};

/* A size that the launcher would refuse is no advice: more than the machine's memory. */
static bool is_possible(uint64_t mb)
{
	return mb && mb <= room_memory();
}

/* Did limits make the spool that was full smaller than the option asks for? Then more of
 * the option is no advice. */
static bool is_limited(const struct closing *c)
{
	return c->totals->cap && c->totals->cap >> 20 < c->config->buffer_mb;
}

/* Does say_full tell what --buffer-mb would hold all? */
static bool is_full(const struct totals *s)
{
	return s->whys[DROP_CAP] || (s->missed && !s->whys[DROP_CONFINED]);
}

static void say_full(const struct closing *c)
{
	const struct totals *s = c->totals;
	uint64_t mb = buffer_need(c->config->buffer_mb, s->held, s->unheld);
	uint64_t missed = buffer_need(c->config->buffer_mb, s->windows, s->missed);

	mb = mb > missed ? mb : missed;
	if (is_limited(c))
		say_warn(
			"the buffer was full: limits (ulimit, control group, mlockall) left a process %lu MiB of buffer_mb = %u: record fewer active steps",
			(unsigned long)(s->cap >> 20), c->config->buffer_mb);
	else if (is_possible(mb))
		say_warn(
			"buffer_mb = %u was full: --buffer-mb %lu should hold it all, where memory and disk allow; or record fewer active steps",
			c->config->buffer_mb, (unsigned long)mb);
	else
		say_warn("buffer_mb = %u was full: record fewer active steps",
			 c->config->buffer_mb);
	if (c->config->python_stack && c->config->python_heap &&
	    c->config->malloc == MALLOC_ALL)
		say_note("Python's small objects are recorded, too: --python-heap off "
			 "leaves them out, --malloc sample takes a few of them");
}

static void say_drops(const struct closing *c)
{
	const struct totals *s = c->totals;
	char list[512] = "";
	size_t n = 0;

	for (unsigned i = 1; i < REC_KINDS; i++)
		n = closing_list(list, sizeof(list), n, s->drops[i], kind_words[i]);
	if (n)
		say_warn("not recorded: %s", list);
	closing_warn(s->missed, "window", "could not be opened: all memory was in use");
	closing_warn(
		s->locked_out, "window",
		"could not be opened: the program was locking its memory (mlockall)");
	if (is_full(s))
		say_full(c);
	closing_warn(s->whys[DROP_START], "event",
		     "came while recording began, which took too long");
	closing_warn(s->whys[DROP_BOUNDARY], "step end",
		     "not counted: another thread kept the processor too long");
	closing_warn(
		c->unrecorded, "process",
		"not recorded: no memory or file could be had, or a signal's handler forked in the middle of a record");
	closing_warn(s->whys[DROP_LATE], "event",
		     "came after its window had been written");
	closing_warn(
		s->whys[DROP_GROUP], "heap record",
		"lost: the control group (container) has little memory left, and what records take there is missing to the program; --malloc sample needs less");
	/* More memory would not help a program that uses seccomp. */
	closing_warn(
		s->whys[DROP_CONFINED], "record",
		"lost: the program forbade itself system calls (seccomp, or dispatch to a handler of its own), and what had been made ready before was full");
	closing_warn(
		s->whys[DROP_LOCKED], "record",
		"lost: the program was locking or limiting its memory (mlockall, setrlimit)");
	closing_warn(
		c->confined, "process",
		"not recorded: the program that forked them had forbidden itself system calls (seccomp, or dispatch to a handler of its own)");
}

/* Says what is missing of the GPU where an option can help. */
static void say_gpu_losses(const struct closing *c)
{
	const uint64_t *n = c->totals->cuda;
	uint64_t lost = n[CUDA_DROPPED] + n[CUDA_DISCARDED];

	if (lost)
		say_warn("%s lost: cuda_buffer_mb = %u was full: try --cuda-buffer-mb %u",
			 say_count(lost, "GPU record"), c->config->cuda_buffer_mb,
			 4 * c->config->cuda_buffer_mb);
	if (n[CUDA_ZERO])
		say_warn(
			"%s without a time: cuda_device_buffer_mb = %u was full, or CUPTI does not fit the CUDA runtime (proflaunch doctor says); try --cuda-device-buffer-mb %u",
			say_count(n[CUDA_ZERO], "GPU record"),
			c->config->cuda_device_buffer_mb,
			4 * c->config->cuda_device_buffer_mb);
	closing_warn(
		n[CUDA_CROWDED], "window",
		"written before CUPTI had given back all of its GPU records: calls and kernels can be missing there; more than 256 windows waited for it at once: try longer ones, or some between them (--schedule wait=W,active=A)");
	if (n[CUDA_UNNAMED])
		say_warn(
			"%s without a name: there was no room for more names (a quarter of buffer_mb = %u; a larger --buffer-mb has more), or CUPTI gave none",
			say_count(n[CUDA_UNNAMED], "GPU record"), c->config->buffer_mb);
}

/* Says what went wrong with the GPU, causes before their effects. */
static void say_gpu_faults(const struct closing *c)
{
	const uint64_t *n = c->totals->cuda;

	closing_warn(n[CUDA_REVERSED] + n[CUDA_OUTSIDE], "GPU record",
		     "with times that cannot be, left out: was the clock set?");
	closing_warn(
		n[CUDA_UNDECODED], "buffer",
		"of CUPTI could not be read to the end: a newer proflaunch may know this CUPTI");
	closing_warn(
		n[CUDA_UNFETCHED], "window",
		"written before CUPTI had given back all of its GPU records: calls and kernels can be missing there (GPU work ran on for 30 s, the program was killed, or CUPTI or the machine was too busy for 2 s at its end)");
	closing_warn(n[CUDA_MISSING], "launch", "whose GPU work never came back");
	closing_warn(n[CUDA_UNMATCHED], "piece", "of GPU work whose launch was not seen");
	closing_warn(n[CUDA_LATE], "GPU record",
		     "came after its window had been written");
	if (n[CUDA_GAPS])
		say_warn(
			"the GPU was not recorded for %.9g s: another profiler had CUPTI, or CUPTI took that long to start (%s)",
			n[CUDA_GAP_NS] / 1000000 / 1e3, say_count(n[CUDA_GAPS], "time"));
}

static void say_no_stack(const struct closing *c, uint64_t n, const char *what,
			 const char *stack)
{
	bool told = is_full(c->totals) || is_limited(c);

	if (n && !told && is_possible(4 * (uint64_t)c->config->buffer_mb))
		say_warn("%s without %s: there was no room for more; try --buffer-mb %lu",
			 say_count(n, what), stack, 4ul * c->config->buffer_mb);
	else if (n)
		say_warn("%s without %s: there was no room for more", say_count(n, what),
			 stack);
}

/* Says what went wrong with call stacks; cut ones are no loss: an option asked for
 * that. */
static void say_stack_losses(const struct closing *c)
{
	const uint64_t *n = c->totals->heap;

	if (n[HEAP_DISAGREED])
		say_warn(
			"%s of %s that were made twice, to be sure, differ: of the others a few may be wrong, too",
			say_number(n[HEAP_DISAGREED]),
			say_count(n[HEAP_CHECKED], "call stack"));
	if (n[HEAP_ENDED])
		say_note(
			"%s of %s end at code without unwind tables: their outer frames are not there",
			say_number(n[HEAP_ENDED]),
			say_count(n[HEAP_STACKS], "call stack"));
	say_no_stack(c, n[HEAP_UNKNOWN_STACK],
		     c->config->native_stacks & ~(1u << NATIVE_MALLOC) ? "event"
								       : "allocation",
		     "a call stack");
	say_no_stack(c, c->totals->python[PYTHON_UNKNOWN], "event",
		     "a call stack of Python");
	closing_warn(
		c->totals->python[PYTHON_UNPROVEN], "event",
		"without a call stack of Python: what was read was none of this interpreter's");
	closing_warn(
		c->totals->python[PYTHON_EXCHANGED], "window",
		"without Python's small objects: the allocators were exchanged meanwhile, by another tool or by Py_Initialize");
	closing_warn(
		c->totals->python[PYTHON_UNSEEN], "window",
		"without Python's small objects: another tool allocates them, or the interpreter was not found in time");
}

/* Who names others takes the allocations' away, which are there by default. */
static void say_unnamed(const struct closing *c)
{
	uint32_t bits = c->config->native_stacks, malloc = 1u << NATIVE_MALLOC;
	char all[64];

	if (c->config->malloc < MALLOC_SAMPLE || !bits || bits & malloc)
		return;
	several_write(config_find("native_stacks"), bits | malloc, all, sizeof(all));
	say_note(
		"allocations have no native call stack, as native_stacks does not name malloc: --native-stacks %s has them, too",
		all);
}

/* Says which depth would merge most stacks that were cut, if these are many. */
static void say_cut(const struct closing *c, uint64_t all)
{
	const struct writer_merges *m = &c->totals->merges;
	char depth[48] = "";

	if (!m->cut || m->cut * MERGES_SHARE < all)
		return;
	if (m->deepest > c->config->stack_depth)
		fmt(depth, sizeof(depth), "; try --stack-depth %u", m->deepest);
	say_note(
		"lines of Python and native functions are apart in %s of %s: one of the two is cut%s",
		say_number(m->cut), say_count(all, "call stack"), depth);
}

static void say_merges(const struct closing *c)
{
	const struct writer_merges *m = &c->totals->merges;
	uint64_t all = m->done + m->cut + m->unfit;

	say_cut(c, all);
	if (m->unfit && m->unfit * MERGES_SHARE >= all)
		say_note(
			"lines of Python and native functions are apart in %s of %s: they do not show the same calls of the interpreter; each is right by itself, and no option merges them",
			say_number(m->unfit), say_count(all, "call stack"));
}

void closing_losses(const struct closing *c)
{
	say_drops(c);
	say_gpu_losses(c);
	say_gpu_faults(c);
	say_stack_losses(c);
	say_unnamed(c);
	say_merges(c);
}
