/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice - rows of the model: an event with a length (an operator, a call, a kernel),
 * memory that came or went, a counter's value; and what a GPU is.
 *
 * Threads  any.
 * Memory   rows of the model's.
 * Errors   none.
 * Units    nanoseconds, bytes; occupancy in percent.
 */
#ifndef REPORT_SLICE_H
#define REPORT_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#define NO_ROW UINT32_MAX

enum slice_kind {
	SLICE_OP, /* cpu_op: an operator, or a node of autograd */
	SLICE_NOTE, /* user_annotation */
	SLICE_PYTHON, /* python_function */
	SLICE_CALL, /* runtime and driver */
	SLICE_DEVICE, /* kernels, copies and sets */
	SLICE_DEVICE_NOTE, /* gpu_user_annotation */
	SLICE_KINDS, /* of what is a slice of the model */
	SLICE_PAUSE, /* what Python waits for: struct pause */
};
#define WANT(kind)   (1u << (kind))
#define WANT_DETAILS (1u << 31) /* shapes, and `works` */

enum slice_sort {
	SORT_PLAIN,
	SORT_RUNTIME, /* of SLICE_CALL */
	SORT_DRIVER,
	SORT_KERNEL, /* of SLICE_DEVICE */
	SORT_COPY,
	SORT_SET,
	SORT_COLLECTION, /* of SLICE_PAUSE: of garbage, */
	SORT_LOCK, /* a wait for the interpreter's lock, */
	SORT_IMPORT,
};

#define SLICE_CATEGORIES 32u

struct slice_category { /* what a category of the file is */
	uint32_t cat; /* its text's number and 1; 0 = none */
	int kind; /* enum slice_kind; -1 = of no interest */
	enum slice_sort sort;
};

struct slice {
	int64_t begin, end;
	int64_t seq; /* -1 = none */
	int64_t input_bytes; /* of the first input; -1 = not known */
	int64_t flops; /* 0 = none */
	uint32_t name, thread;
	uint32_t parent; /* NO_ROW = none */
	uint32_t stack, external; /* "Call stack"; "External id", 0 = none */
	uint32_t correlation; /* of a call and its work; 0 = none */
	uint32_t shapes; /* text of "Input Dims", TEXT_NONE = none */
	uint32_t work; /* row of `works`; NO_ROW = no GPU work */
	uint32_t path; /* "Module path", of a module or what it calls; TEXT_NONE = none */
	uint8_t kind, sort;
	bool backward : 1; /* "Fwd thread id" > 0 */
	bool of_forward : 1; /* whose the stack is */
	bool continued : 1; /* a call's later piece (docs/trace.md), and no call more */
	bool flops_ours : 1; /* torch has no formula for them */
};

struct pause { /* apart from slices, which it may lie around, in or across */
	int64_t begin, end;
	uint32_t thread;
	enum slice_sort sort;
};

struct work { /* what is known of a kernel, a copy or a set; -1 = not said */
	int64_t device, stream, bytes, registers, shared;
	uint32_t grid, block; /* texts */
	uint32_t group, members; /* of a collective: its process group, and its ranks */
	double blocks_per_sm, occupancy; /* of a kernel; occupancy in percent */
};

struct gpu { /* a row of "deviceProperties" */
	int64_t id, memory, major, minor, sms;
	uint32_t name;
};

struct memory_event {
	int64_t ts, bytes, allocated, reserved;
	uint64_t addr;
	uint32_t thread, slice; /* slice: innermost in flight, NO_ROW = none */
	uint32_t device;
	bool has_addr, oom;
};

struct counter {
	int64_t ts, value;
	uint32_t name, key;
};

/* The kind of a category, enum slice_kind; -1 = of no interest. */
int slice_kind_find(const char *cat, enum slice_sort *sort);

#endif
