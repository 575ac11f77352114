/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu - what the fake libraries say to each other: the virtual GPU, which lives in
 * libcuda.so.1, its users (the driver's functions, libcudart, libnccl) and its observer
 * (libcupti).
 *
 * Threads  any; one lock inside.
 * Memory   what was created stays until the process ends.
 * Errors   CUDA's codes.
 * Units    ns of CLOCK_REALTIME, without FAKE_SKEW_NS: CUPTI adds it.
 *
 * When a piece of work is submitted its start and end are known at once: the timeline of
 * its stream says so. Nothing runs; whoever waits sleeps until that time has come.
 */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include "tests/fake/include/cuda.h"

#include <stdbool.h>

enum { MAX_DEVICES = 16, MAX_CONTEXTS = 32 };
enum { DRIVER_API = 1, RUNTIME_API = 2 }; /* CUPTI's callback domains */

struct fake_call { /* on the stack of the function that is called */
	struct fake_call *outer;
	const char *symbol; /* the kernel's name, launches */
	uint64_t begin; /* the observer's */
	uint64_t scratch; /* a subscriber's */
	int result;
	uint32_t function; /* a number for its name: gpu->name */
	uint32_t correlation; /* the observer's */
	uint8_t domain;
	bool nested; /* a driver call inside a runtime call */
};

struct fake_function {
	const struct fake_function *self; /* so that it can be told from a host stub */
	struct fake_function *next;
	const char *name; /* mangled */
	void (*body)(void **args);
	uint32_t id;
	uint32_t registers, static_shared;
	uint64_t duration, settings; /* as the settings of that generation say */
	bool loaded; /* its first launch loads its code */
};

struct fake_context {
	int device;
	uint32_t id;
	uint64_t legacy_end; /* the NULL stream's last work */
	uint64_t blocking_end; /* the last work of all that wait for the NULL stream */
	uint32_t next_stream;
	struct fake_stream *null; /* legacy */
	struct fake_stream *streams;
};

struct fake_stream {
	struct fake_stream *next;
	struct fake_context *context;
	struct fake_graph *capture;
	uint64_t last_end;
	uint32_t id;
	int priority;
	bool legacy, blocking, gone;
};

struct fake_event {
	struct fake_context *context;
	struct fake_stream *stream;
	struct fake_graph *capture; /* recorded in a stream that was being captured */
	uint64_t at; /* 0 = never recorded */
	uint64_t sync; /* CUPTI's cudaEventSyncId of the last record */
	uint32_t id;
};

enum work_kind { WORK_KERNEL, WORK_COPY, WORK_SET, WORK_HOST, WORK_GRAPH };

struct fake_work {
	enum work_kind kind;
	struct fake_stream *stream;
	uint64_t queued, start, end, duration; /* duration 0: the GPU's own choice */
	struct fake_function *function;
	uint32_t grid[3], block[3], cluster[3], shared;
	uint8_t launch_type; /* 1 cooperative */
	uint64_t bytes;
	uint32_t value;
	uint8_t copy_kind, from_kind, to_kind; /* CUPTI's numbers */
	bool async, peer;
	struct fake_context *from, *to; /* peer */
	uint64_t node; /* of a graph */
	uint32_t graph;
};

struct fake_node {
	struct fake_work work;
	struct fake_stream *lane; /* the stream it was captured from */
	void *to; /* copies and sets do it at every launch */
	const void *from;
	void (*host)(void *);
	void *data;
};

struct fake_graph {
	struct fake_node *node;
	size_t count, room;
	uint32_t id;
	struct fake_stream *origin;
	bool invalid;
};

struct fake_exec {
	struct fake_graph *graph; /* a copy */
};

struct fake_sync { /* a wait, or a recorded event */
	uint32_t type; /* CUPTI's; 0 = a recorded event */
	uint64_t start, end;
	struct fake_context *context;
	struct fake_stream *stream; /* NULL = does not apply */
	struct fake_event *event;
	int result;
	bool query; /* only looked */
};

struct fake_block {
	bool release, pool;
	uint8_t memory; /* CUPTI's memory kind */
	void *address;
	size_t bytes;
	struct fake_context *context;
	struct fake_stream *stream;
};

enum fake_resource { DEVICE_FOUND, CONTEXT_MADE, STREAM_MADE, MODULE_MADE, INIT_DONE };

struct fake_observer { /* called in the thread that does it, without the lock */
	void (*enter)(struct fake_call *call);
	void (*leave)(struct fake_call *call);
	void (*work)(const struct fake_work *work);
	void (*sync)(const struct fake_sync *sync);
	void (*block)(const struct fake_block *block);
	void (*resource)(enum fake_resource what, void *of, uint64_t begin, uint64_t end);
	void (*exited)(void); /* the driver's exit handler runs */
};

struct fake_device {
	const char *name;
	uint64_t memory;
	int major, minor, sms, clock_khz;
	struct fake_context *primary;
};

struct fake_gpu {
	/* calls */
	uint32_t (*function)(const char *name); /* a number for it, from 1 */
	const char *(*name)(uint32_t function);
	int (*enter)(struct fake_call *call, const char *name); /* an error to return */
	void (*leave)(struct fake_call *call, int result);
	int (*error)(const char *name, long argument); /* FAKE_ERROR says; 0 = none */
	/* settings */
	const char *(*text)(const char *variable); /* NULL = not set */
	long long (*number)(const char *variable, long long otherwise);
	uint64_t (*generation)(void); /* changes with fake_set */
	/* observer */
	void (*observe)(const struct fake_observer *observer);
	bool (*ready)(void); /* cuInit has returned 0 */
	int (*dead)(void); /* 3 in a child of fork, 4 after the exit handler */
	/* the GPU */
	uint64_t (*now)(void);
	int (*devices)(void);
	struct fake_device *(*device)(int ordinal);
	int (*attribute)(int *value, int attribute, int device);
	struct fake_context *(*primary)(int device); /* made if need be */
	struct fake_context *(*current)(bool make);
	void (*make_current)(struct fake_context *context);
	void (*want_device)(int device); /* of this thread; no context is made */
	int (*wanted_device)(void);
	struct fake_stream *(*stream)(CUstream handle, bool per_thread);
	struct fake_stream *(*stream_create)(unsigned flags, int priority);
	void (*each_context)(void (*visit)(struct fake_context *));
	struct fake_function *(*kernel)(const char *mangled);
	struct fake_function *(*is_kernel)(const void *address);
	int (*copy)(struct fake_work *work, void *to, const void *from);
	int (*set)(struct fake_work *work, void *at);
	int (*host)(struct fake_stream *stream, void (*run)(void *), void *data);
	int (*wait_stream)(struct fake_stream *stream, bool only_look);
	int (*wait_context)(struct fake_context *context);
	int (*wait_event)(struct fake_event *event, bool only_look);
	int (*stream_waits)(struct fake_stream *stream, struct fake_event *event);
	struct fake_event *(*event_create)(void);
	int (*record)(struct fake_event *event, struct fake_stream *stream);
	/* memory */
	int (*allocate)(void **out, size_t size, int memory, struct fake_stream *stream);
	int (*release)(void *at, struct fake_stream *stream);
	int (*memory_kind)(const void *at); /* CUPTI's; 1 pageable when not ours */
	size_t (*memory_used)(void);
	/* graphs */
	int (*capture_begin)(struct fake_stream *stream);
	int (*capture_end)(struct fake_stream *stream, struct fake_graph **out);
	int (*instantiate)(struct fake_exec **out, struct fake_graph *graph);
};

/* libcuda.so.1 exports one as fake_gpu_table: a real driver does not. */

#endif
