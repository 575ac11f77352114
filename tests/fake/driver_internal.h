/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver_internal - inside libcuda.so.1: what its files share.
 *
 * Threads  as named; lock and unlock are the one lock.
 * Memory, Errors, Units   as gpu.h.
 */
#ifndef FAKE_DRIVER_INTERNAL_H
#define FAKE_DRIVER_INTERNAL_H

#include "tests/fake/cudart.h"
#include "tests/fake/fake.h"
#include "tests/fake/gpu.h"

#define EXPORT __attribute__((visibility("default")))

extern struct fake_totals totals; /* under the lock */
extern const struct fake_observer *observer; /* never NULL */

void gpu_lock(void);
void gpu_unlock(void);

/* script.c: settings */
const char *script_text(const char *variable);
long long script_number(const char *variable, long long otherwise);
uint64_t script_generation(void);
int script_error(const char *name, long argument);
bool script_hangs(const char *where);
/* script_number, looked up again only after a fake_set. */
#define SETTING(variable, otherwise)                                                   \
	({                                                                             \
		static uint64_t of_;                                                   \
		static long long value_;                                               \
		if (__atomic_load_n(&of_, __ATOMIC_ACQUIRE) != script_generation()) {  \
			value_ = script_number(variable, otherwise);                   \
			__atomic_store_n(&of_, script_generation(), __ATOMIC_RELEASE); \
		}                                                                      \
		value_;                                                                \
	})
/* FAKE_KERNELS' row for a kernel; -1 = not said. */
void script_kernel(const char *name, long long *ns, long *registers, long *shared);
bool script_match(const char *glob, const char *text);

/* call.c: API calls */
uint32_t call_function(const char *name);
const char *call_name(uint32_t function);
int call_enter(struct fake_call *call, const char *name);
void call_leave(struct fake_call *call, int result);
void call_observe(const struct fake_observer *by);

/* time.c: clock, streams, events */
uint64_t time_now(void);
void time_until(uint64_t when);
int time_submit(struct fake_work *work); /* sets its start and end, tells the observer */
int time_launch(struct fake_work *work, void **args);
int time_copy(struct fake_work *work, void *to, const void *from);
int time_set(struct fake_work *work, void *at);
int time_host(struct fake_stream *stream, void (*run)(void *), void *data);
int time_wait_stream(struct fake_stream *stream, bool only_look);
int time_wait_context(struct fake_context *context);
int time_wait_event(struct fake_event *event, bool only_look);
int time_stream_waits(struct fake_stream *stream, struct fake_event *event);
struct fake_event *time_event_create(void);
int time_record(struct fake_event *event, struct fake_stream *stream);
uint64_t time_duration(const struct fake_work *work);

/* device.c: devices, contexts, streams, kernels */
int device_init(void); /* cuInit */
bool device_ready(void);
int device_dead(void); /* what calls return: 3 in a child of fork, 4 at exit */
int device_count(void);
struct fake_device *device_get(int ordinal);
struct fake_context *device_primary(int device);
struct fake_context *device_create(int device);
struct fake_context *device_current(bool make);
void device_make_current(struct fake_context *context);
void device_want(int device);
int device_wanted(void);
struct fake_stream *device_stream(CUstream handle, bool per_thread);
struct fake_stream *device_stream_create(unsigned flags, int priority);
void device_each_context(void (*visit)(struct fake_context *));
struct fake_function *device_kernel(const char *mangled);
struct fake_function *device_is_kernel(const void *address);

/* memory.c */
int memory_allocate(void **out, size_t size, int memory, struct fake_stream *stream);
int memory_release(void *at, struct fake_stream *stream);
int memory_kind(const void *at);
size_t memory_used(void);

/* A driver function's body, between its begin and its end for the observer. */
#define CALL_OF(fn, kernel, work)                                                    \
	({                                                                           \
		static uint32_t number_;                                             \
		struct fake_call call_ = { .domain = DRIVER_API, .symbol = kernel }; \
		int r_ = device_dead() ? device_dead() : device_ready() ? 0 : 3;     \
		if (!number_)                                                        \
			number_ = call_function(#fn);                                \
		call_.function = number_;                                            \
		if (r_ == 0)                                                         \
			r_ = call_enter(&call_, #fn);                                \
		if (r_ == 0)                                                         \
			r_ = (work);                                                 \
		call_leave(&call_, r_);                                              \
		r_;                                                                  \
	})
#define CALL(fn, work) CALL_OF(fn, NULL, work)

/* graph.c; graph_add: true when the stream is being captured: nothing else to do. */
bool graph_add(struct fake_stream *stream, const struct fake_node *node);
int graph_capture_begin(struct fake_stream *stream);
int graph_capture_end(struct fake_stream *stream, struct fake_graph **out);
int graph_instantiate(struct fake_exec **out, struct fake_graph *graph);
int graph_launch(struct fake_exec *exec, struct fake_stream *stream);

#endif
