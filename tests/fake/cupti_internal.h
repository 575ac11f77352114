/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_internal - inside the synthetic libcupti: what its files share. VERSION is 117
 * ... 134; the records are the real structs of that version's cupti_activity.h.
 *
 * Threads  any.
 * Memory   buffers are the client's.
 * Errors   CUptiResult.
 * Units    ns; `raw` is the virtual GPU's clock, the others the one that CUPTI tells.
 */
#ifndef FAKE_CUPTI_INTERNAL_H
#define FAKE_CUPTI_INTERNAL_H

#include <stdbool.h>

#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_result.h>
#include <cupti_runtime_cbid.h>
#include <cupti_version.h>

#include "names.h"

#include "tests/fake/fake.h"
#include "tests/fake/gpu.h"

#include <pthread.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

/* SET(CONCURRENT_KERNEL, r, clusterX, 1): nothing where this version has no such field.
 */
#define PLACE_1                     0,
#define SECOND(ignored, value, ...) value
#define DEFINED(x)                  DEFINED_1(x)
#define DEFINED_1(x)                DEFINED_2(PLACE_##x)
#define DEFINED_2(x)                SECOND(x 1, 0)
#define PASTE(a, b)                 PASTE_1(a, b)
#define PASTE_1(a, b)               a##b
#define SET_1(r, field, value)      ((r)->field = (value))
#define SET_0(r, field, value)      ((void)(value))
#define SET(kind, r, field, value) \
	PASTE(SET_, DEFINED(HAS_##kind##_##field))(r, field, value)

/* cupti_number, looked up again only after a fake_set. */
#define KNOB(variable, otherwise)                                                  \
	({                                                                         \
		static uint64_t of_;                                               \
		static long long value_;                                           \
		uint64_t generation_ = cupti.gpu ? cupti.gpu->generation() : 0;    \
		if (__atomic_load_n(&of_, __ATOMIC_ACQUIRE) != generation_ + 1) {  \
			value_ = cupti_number(variable, otherwise);                \
			__atomic_store_n(&of_, generation_ + 1, __ATOMIC_RELEASE); \
		}                                                                  \
		value_;                                                            \
	})

#define BIT(kind) (1ull << (kind))

struct cupti {
	pthread_mutex_t mutex; /* of everything here but the slots of cupti_buffers.c */
	const struct fake_gpu *gpu; /* NULL without a fake driver */
	uint64_t kinds;
	uint8_t runtime[1024], driver[1024]; /* cbids that give records */
	uint32_t n_runtime, n_driver;
	bool zeroed, per_thread, latency, system_tid, all_syncs, event_times;
	CUpti_BuffersCallbackRequestFunc requested;
	CUpti_BuffersCallbackCompleteFunc completed;
	CUpti_CallbackFunc callback;
	void *userdata;
	bool subscribed, lost;
	pid_t process; /* where CUDA was first ready */
	uint8_t domain_on[16];
	uint8_t callback_on[3][1024]; /* by domain and cbid */
	uint64_t (*stamp)(void); /* a registered timestamp callback */
	uint64_t stamp_raw, stamp_value; /* a pair of the two clocks */
	size_t attribute[32];
	struct fake_cupti counts;
};
extern struct cupti cupti;

/* cupti.c */
int api_begin(const char *name, long argument, bool without_driver);
void api_end(const char *name, long argument, int result);
void broken(const char *rule); /* the client broke a rule: abort */
long long cupti_number(const char *variable, long long otherwise);
const char *cupti_text(const char *variable);
uint64_t cupti_raw(void);
uint64_t cupti_stamp(uint64_t raw); /* on the clock that is told */
uint32_t cupti_tid(void);

/* cupti_names.c */
uint32_t name_cbid(int domain, const char *function); /* 0 = none */
const char *name_of(int domain, uint32_t cbid);
size_t name_stride(uint32_t kind); /* 0 = no such kind */
const char *name_kernel(const struct fake_function *f);

/* cupti_buffers.c */
/* Room for a record in this thread's buffer, or NULL (counted as dropped). Ends with
 * record_end, which says when the record is complete. */
void *record_begin(size_t size);
void record_end(uint64_t complete_raw);
int buffers_flush(bool forced);

/* cupti_calls.c: API records, callbacks, external ids */
void call_enter(struct fake_call *call);
void call_leave(struct fake_call *call);
uint32_t call_correlation(void); /* of the outermost call of this thread */
uint64_t call_begin(void); /* of that call, told; now without one */
void call_resource(enum fake_resource what, void *of);
int external_push(uint32_t kind, uint64_t id);
int external_pop(uint32_t kind, uint64_t *id);

/* cupti_records.c: GPU work, syncs, memory, devices */
void records_work(const struct fake_work *work);
void records_sync(const struct fake_sync *sync);
void records_block(const struct fake_block *block);
void records_resource(enum fake_resource what, void *of, uint64_t begin, uint64_t end);
int records_dump(uint32_t kind);

#define FN(name, argument, work)                                    \
	({                                                          \
		int r_ = api_begin(#name, (long)(argument), false); \
		if (r_ == 0)                                        \
			r_ = (work);                                \
		api_end(#name, (long)(argument), r_);               \
		(CUptiResult) r_;                                   \
	})
/* Works without a driver (up to 13.1). */
#define FREE(name, argument, work)                                 \
	({                                                         \
		int r_ = api_begin(#name, (long)(argument), true); \
		if (r_ == 0)                                       \
			r_ = (work);                               \
		api_end(#name, (long)(argument), r_);              \
		(CUptiResult) r_;                                  \
	})

#endif
