/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abi - where things lie in this process's libtorch, each with a check.
 *
 * Threads  abi_find: once.  learn_event: any thread, until it says it has no more to
 *          learn.  The struct is read by all; members change from unknown to known
 *          (or off) once, as relaxed atomics.
 * Memory   static.
 * Errors   what cannot be confirmed is off, and abi_facts says so.
 * Units    byte offsets from the object's start; -1 or 0 = unknown, as named.
 */
#ifndef TORCH_ABI_H
#define TORCH_ABI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* at::RecordFunctionCallback: 40 bytes, passed by value. */
struct torch_callback {
	void *start, *end;
	double probability;
	uint8_t scopes[10];
	uint8_t needs_inputs, needs_outputs, needs_ids, spare[3];
};
_Static_assert(sizeof(struct torch_callback) == 40, "at::RecordFunctionCallback");

/* c10::IValue: a payload and a tag. */
struct abi_value {
	union {
		int64_t i;
		double d;
		const uint8_t *p;
	} u;
	uint32_t tag, pad;
};

/* at::RecordFunction, the same in all releases: the thread's id (8 bytes), and the scope
 * (1 byte). */
#define ABI_THREAD_AT 88
#define ABI_SCOPE_AT  96

enum abi_state { ABI_UNKNOWN, ABI_GOOD, ABI_OFF };
enum { ABI_SETTLED = 1, ABI_SETTLED_INPUTS = 2 };

struct abi {
	/* functions of libtorch_cpu; NULL = not there */
	uint64_t (*add)(struct torch_callback cb);
	void (*disable)(uint64_t handle), (*enable)(uint64_t handle),
		(*remove)(uint64_t handle);
	const char *(*name)(const void *rf);
	uint64_t (*thread_id)(void); /* RecordFunction::currentThreadId */
	uint64_t (*num_inputs)(const void *rf);
	void *(*input_sizes)(void *result, const void *rf, bool flatten);
	int (*threads)(void); /* omp_get_max_threads of torch's OpenMP */
	void *rf_construct,
		*rf_destroy; /* RecordFunction(RecordScope), ~RecordFunction */

	bool new_strings; /* cxx11 std::string */
	char version[48]; /* "2.13.0", as far as it is known; else "" */
	char path[1024]; /* of libtorch_cpu */

	/* at::RecordFunction: where the string ABI puts its fields; checked by learn.c */
	uint16_t variant_at, index_at, seq_at, inputs_at;
	_Atomic uint32_t record; /* enum abi_state: the offsets above, and those of all
				    releases: ABI_THREAD_AT, ABI_SCOPE_AT */
	_Atomic uint32_t fwd_at; /* forward thread id, 0 = unknown */
	/* FunctionSchema */
	uint16_t schema_overload_at; /* 0 = could not be confirmed */

	_Atomic uint32_t settled; /* ABI_SETTLED*: nothing more to learn */

	/* values: only needed with record_shapes */
	_Atomic uint32_t values; /* enum abi_state: GOOD = inputs_put may be called */
	_Atomic uint32_t sizes_at; /* SizesAndStrides in TensorImpl: 72, 64 or 56 */
	_Atomic uint32_t bool_tag; /* IValue tag of Bool: 8, 9 or 10 */
	bool bool_asked; /* libtorch itself named it: not a guess */
	_Atomic uint32_t list_at; /* vector in ListImpl: 24 or 16 */
	const void *undefined; /* UndefinedTensorImpl's singleton */
	const void
		*strided_vtable; /* TensorImpl's own vtable (word 0 of a plain tensor) */
	const void *sparse_vtable, *csr_vtable, *nested_vtable, *undefined_vtable;
	const void *wrapper_vtables[6]; /* other strided kinds inside libtorch_cpu */
	const void *tensor_type_vtable; /* c10::TensorType, the element type of a
					   TensorList */
	uintptr_t cpu_begin, cpu_end; /* where libtorch_cpu is mapped */
};
extern struct abi abi;

/* Finds libtorch_cpu among the mapped libraries. True when callbacks can be
 * registered; everything else in `abi` is then filled in as far as symbols,
 * file names and torch/version.py beside the library tell. */
bool abi_find(void);
/* learn.c: looks at a RecordFunction inside its start callback and confirms what it can.
 * `inputs`: the callback asked for inputs. Cheap once everything is settled:
 * callers test abi_settled first. */
void learn_event(const void *rf, bool inputs);
static inline bool abi_settled(bool inputs)
{
	return atomic_load_explicit(&abi.settled, memory_order_relaxed) &
	       (inputs ? ABI_SETTLED_INPUTS : ABI_SETTLED);
}
/* What was found, as JSON object text, for the trace's metadata. */
size_t abi_facts(char *buf, size_t size);

/* An exported symbol of libtorch_cpu or libc10, after abi_find has opened them; or NULL.
 * Cold: takes the dynamic linker's lock, as the next two do. */
void *abi_symbol(const char *name);
/* The same at any time: they open the mapped library. abi_c10_symbol leaves libtorch_cpu
 * alone, whose constructors may be running when libc10 is called. */
void *abi_cpu_symbol(const char *name);
void *abi_c10_symbol(const char *name);

#endif
