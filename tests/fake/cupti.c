/* SPDX-License-Identifier: Apache-2.0 */
/* cupti - the synthetic libcupti: state, clock, kinds, attributes, buffers' functions. */
#include "tests/fake/cupti_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct cupti cupti = { .mutex = PTHREAD_MUTEX_INITIALIZER, .per_thread = VERSION >= 130 };

static const struct fake_observer observer = {
	.enter = call_enter,
	.leave = call_leave,
	.work = records_work,
	.sync = records_sync,
	.block = records_block,
	.resource = records_resource,
};

void broken(const char *rule)
{
	fprintf(stderr, "fake: a rule of CUPTI was broken: %s\n", rule);
	abort();
}

const char *cupti_text(const char *variable)
{
	const char *value = cupti.gpu ? cupti.gpu->text(variable) : getenv(variable);

	return value && *value ? value : NULL;
}

long long cupti_number(const char *variable, long long otherwise)
{
	const char *value = cupti_text(variable);

	return value ? strtoll(value, NULL, 0) : otherwise;
}

uint64_t cupti_raw(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* With a registered callback its clock is followed along a line. */
uint64_t cupti_stamp(uint64_t raw)
{
	uint64_t (*stamp)(void) = cupti.stamp;
	uint64_t now, value;
	double slope;

	if (!stamp)
		return raw + (uint64_t)KNOB("FAKE_SKEW_NS", 0);
	now = cupti_raw();
	value = stamp();
	slope = (double)(value - cupti.stamp_value) / (double)(now - cupti.stamp_raw + 1);
	return value + (uint64_t)(int64_t)((double)(int64_t)(raw - now) * slope);
}

uint32_t cupti_tid(void)
{
	static __thread uint32_t tid;

	if (!cupti.system_tid)
		return (uint32_t)pthread_self();
	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	return tid;
}

static void exited(void)
{
	const char *how = cupti_text("FAKE_EXIT");

	cupti.lost = !how || strcmp(how, "kept") != 0;
}

/* Looks for a driver at every call, as the real one does. */
static void find_gpu(bool only_loaded)
{
	static struct fake_observer mine;
	void *library;

	if (cupti.gpu)
		return;
	library = dlopen("libcuda.so.1", RTLD_NOW | (only_loaded ? RTLD_NOLOAD : 0));
	if (!library)
		return;
	pthread_mutex_lock(&cupti.mutex);
	if (!cupti.gpu && dlsym(library, "fake_gpu_table")) {
		mine = observer;
		mine.exited = exited;
		cupti.gpu = dlsym(library, "fake_gpu_table");
		cupti.gpu->observe(&mine);
	}
	pthread_mutex_unlock(&cupti.mutex);
}

int api_begin(const char *name, long argument, bool without_driver)
{
	bool alone = without_driver && VERSION < 133;

	find_gpu(alone);
	if (!cupti.gpu && getenv("FAKE_CRASH"))
		raise(SIGSEGV);
	if (!cupti.gpu && !alone)
		return VERSION >= 130 ? CUPTI_ERROR_UNKNOWN : CUPTI_ERROR_NOT_INITIALIZED;
	if (cupti.gpu && cupti.gpu->ready() && !cupti.process)
		cupti.process = getpid();
	if (cupti.process && cupti.process != getpid())
		broken("called in a child of fork");
	return cupti.gpu ? cupti.gpu->error(name, argument) : 0;
}

void api_end(const char *name, long argument, int result)
{
	const char *path = cupti_text("FAKE_LOG");
	char line[160];
	int n, fd;

	if (!path || strcmp(name, "cuptiActivityGetNextRecord") == 0 ||
	    strcmp(name, "cuptiGetCallbackName") == 0)
		return;
	n = snprintf(line, sizeof(line), "%s %ld %d\n", name, argument, result);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd >= 0 && write(fd, line, (size_t)n) < 0)
		perror(path);
	close(fd);
}

EXPORT CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	return FREE(cuptiGetTimestamp, 0,
		    timestamp ? (*timestamp = cupti_stamp(cupti_raw()), 0) : 1);
}

/* ---- kinds ---- */

static void all_calls(uint8_t *on, uint32_t *n, uint8_t value)
{
	memset(on, value, 1024);
	*n = value ? 1024 : 0;
}

static int kind(uint32_t which, bool on)
{
	long long ms = cupti_number("FAKE_ENABLE_MS", 0);

	if (on && which == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && ms)
		usleep((unsigned)ms * 1000);
	if (!name_stride(which))
		return CUPTI_ERROR_INVALID_KIND;
	if (on && ((which == CUPTI_ACTIVITY_KIND_KERNEL &&
		    (cupti.kinds & BIT(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))) ||
		   (which == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		    (cupti.kinds & BIT(CUPTI_ACTIVITY_KIND_KERNEL)))))
		return CUPTI_ERROR_NOT_COMPATIBLE;
	pthread_mutex_lock(&cupti.mutex);
	if (which == CUPTI_ACTIVITY_KIND_RUNTIME)
		all_calls(cupti.runtime, &cupti.n_runtime, on);
	if (which == CUPTI_ACTIVITY_KIND_DRIVER)
		all_calls(cupti.driver, &cupti.n_driver, on);
	if (on)
		cupti.kinds |= BIT(which);
	else
		cupti.kinds &= ~BIT(which);
	pthread_mutex_unlock(&cupti.mutex);
	return 0;
}

EXPORT CUptiResult cuptiActivityEnable(CUpti_ActivityKind which)
{
	return FN(cuptiActivityEnable, which, kind(which, true));
}

EXPORT CUptiResult cuptiActivityDisable(CUpti_ActivityKind which)
{
	return FN(cuptiActivityDisable, which, kind(which, false));
}

EXPORT CUptiResult cuptiActivityEnableAndDump(CUpti_ActivityKind which)
{
	return FN(cuptiActivityEnableAndDump, which,
		  kind(which, true) ? CUPTI_ERROR_INVALID_KIND : records_dump(which));
}

EXPORT CUptiResult cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind which)
{
	(void)context;
	return FN(cuptiActivityEnableContext, which, kind(which, true));
}

EXPORT CUptiResult cuptiActivityDisableContext(CUcontext context,
					       CUpti_ActivityKind which)
{
	(void)context;
	return FN(cuptiActivityDisableContext, which, kind(which, false));
}

#if VERSION >= 125
static int one_call(uint8_t *calls, uint32_t *n, CUpti_CallbackId cbid, bool on)
{
	if (cbid == 0 || cbid >= 1024)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&cupti.mutex);
	if (calls[cbid] != on)
		*n += on ? 1u : -1u;
	calls[cbid] = on;
	pthread_mutex_unlock(&cupti.mutex);
	return 0;
}

EXPORT CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return FN(cuptiActivityEnableRuntimeApi, cbid,
		  one_call(cupti.runtime, &cupti.n_runtime, cbid, enable != 0));
}

EXPORT CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return FN(cuptiActivityEnableDriverApi, cbid,
		  one_call(cupti.driver, &cupti.n_driver, cbid, enable != 0));
}
#endif

/* ---- buffers ---- */

static int register_buffers(CUpti_BuffersCallbackRequestFunc requested,
			    CUpti_BuffersCallbackCompleteFunc completed)
{
	if (!requested || !completed)
		return CUPTI_ERROR_INVALID_PARAMETER;
	cupti.requested = requested;
	cupti.completed = completed;
	return 0;
}

/* Success even without a driver: it tells nothing. */
EXPORT CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
			       CUpti_BuffersCallbackCompleteFunc completed)
{
	return FREE(cuptiActivityRegisterCallbacks, 0,
		    register_buffers(requested, completed));
}

EXPORT CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	return FN(cuptiActivityFlushAll, flag, buffers_flush(flag & 1));
}

EXPORT CUptiResult cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	(void)context, (void)stream;
	return FN(cuptiActivityFlush, flag, buffers_flush(flag & 1));
}

EXPORT CUptiResult cuptiActivityFlushPeriod(uint32_t ms)
{
	return FN(cuptiActivityFlushPeriod, ms, 0); /* full buffers come back anyway */
}

static int next_record(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	uint8_t *at;
	size_t stride;

	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	at = *record ? (uint8_t *)*record + name_stride((*record)->kind) : buffer;
	if (at + sizeof(uint32_t) > buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	stride = name_stride(*(uint32_t *)at);
	if (stride == 0)
		return CUPTI_ERROR_INVALID_KIND;
	if (at + stride > buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)at;
	return 0;
}

EXPORT CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
					      CUpti_Activity **record)
{
	return FREE(cuptiActivityGetNextRecord, 0, next_record(buffer, valid, record));
}

static int take_dropped(size_t *dropped)
{
	pthread_mutex_lock(&cupti.mutex);
	*dropped = cupti.counts.dropped;
	cupti.counts.dropped = 0;
	pthread_mutex_unlock(&cupti.mutex);
	return 0;
}

EXPORT CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
						     size_t *dropped)
{
	(void)context, (void)stream;
	return FN(cuptiActivityGetNumDroppedRecords, 0, take_dropped(dropped));
}

/* ---- attributes ---- */

static size_t attribute_size(uint32_t attribute)
{
	switch (attribute) {
	case 5:
	case 8:
		return 1;
	case 9:
		return VERSION >= 123 ? 1 : 0;
	case 10:
		return VERSION >= 129 ? sizeof(size_t) : 0;
	default:
		return attribute < 8 ? sizeof(size_t) : 0;
	}
}

static int attribute(uint32_t which, size_t *size, void *value, bool write)
{
	size_t need = attribute_size(which);

	if (!size || !value || need == 0)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*size < need)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	if (!write) {
		memcpy(value, &cupti.attribute[which], need);
		return 0;
	}
	if (which == 9 && (cupti.requested || cupti.kinds))
		return CUPTI_ERROR_INVALID_OPERATION;
	memcpy(&cupti.attribute[which], value, need);
	if (which == 5)
		cupti.zeroed = cupti.attribute[5] & 1;
	if (which == 9)
		cupti.per_thread = cupti.attribute[9] & 1;
	return 0;
}

EXPORT CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute which, size_t *size,
					     void *value)
{
	return FN(cuptiActivitySetAttribute, which, attribute(which, size, value, true));
}

EXPORT CUptiResult cuptiActivityGetAttribute(CUpti_ActivityAttribute which, size_t *size,
					     void *value)
{
	return FN(cuptiActivityGetAttribute, which, attribute(which, size, value, false));
}

EXPORT CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	return FN(cuptiSetThreadIdType, type,
		  (unsigned)type < 2 ? (cupti.system_tid = type == 1, 0) : 1);
}

EXPORT CUptiResult cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	return FN(cuptiGetThreadIdType, 0,
		  (*type = (CUpti_ActivityThreadIdType)cupti.system_tid, 0));
}
