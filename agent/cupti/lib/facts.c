/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace says of CUPTI: its state, version and kinds. */
#include "agent/cupti/lib/facts.h"
#include "agent/cupti/lib/layout.h"
#include "agent/cupti/lib/lock.h"
#include "agent/cupti/lib/session.h"
#include "base/fmt.h"
#include "base/seldom.h"

#include <dlfcn.h>
#include <errno.h>

static _Atomic uint32_t telling;

/* Our own texts and paths; what JSON would have to escape becomes a question mark. */
static const char *plain_text(char *to, size_t size, const char *text)
{
	fmt(to, size, "%s", text ? text : "");
	for (char *p = to; *p; p++)
		if (*p == '"' || *p == '\\' || (unsigned char)*p < ' ')
			*p = '?';
	return to;
}

static const char *state_name(void)
{
	switch (atomic_load(&session.state)) {
	case SESSION_READY:
		return "recording";
	case SESSION_LEAVING:
	case SESSION_ASIDE:
		return "aside";
	case SESSION_DEAD:
		return "not recorded";
	default:
		return "starting";
	}
}

/* The kinds that are switched on for a window. */
static size_t kinds_text(char *buf, size_t size)
{
	static const char *const names[KIND_MOST] = {
#define RELEASE(release, version)
#define STRIDES(kind, KIND, ...) \
	[kind] = #KIND           \
	,
#define FIELD(KIND, name, offset, bytes)
#include "agent/cupti/lib/layouts.def"
	};
	size_t n = 0;

	for (uint32_t kind = 0; kind < KIND_MOST; kind++)
		if (names[kind] && session.kinds >> kind & 1 && n < size)
			n += fmt(buf + n, size - n, "%s\"%s\"", n ? ", " : "",
				 names[kind]);
	return n;
}

static void write_facts(const struct found *f)
{
	static SELDOM char json[2048];
	char kinds[256] = "", text[640];
	size_t n;

	n = fmt(json, sizeof(json), "{\"state\": \"%s\"", state_name());
	if (session.why[0])
		n += fmt(json + n, sizeof(json) - n, ", \"why\": \"%s\"",
			 plain_text(text, sizeof(text), session.why));
	if (session.version) {
		n += fmt(json + n, sizeof(json) - n, ", \"cupti\": %u, \"file\": \"%s\"",
			 session.version, plain_text(text, sizeof(text), f->path));
		kinds_text(kinds, sizeof(kinds));
	}
	if (session.strides)
		n += fmt(json + n, sizeof(json) - n,
			 ", \"strides\": \"%s\", \"kernel_bytes\": %u, "
			 "\"buffer_per_thread\": %s, \"kinds\": [%s], \"calls\": \"%s\"",
			 session.strides, layout_stride[KIND_CONCURRENT_KERNEL],
			 session.per_thread ? "true" : "false", kinds,
			 cupti.ActivityEnableDriverApi ? "chosen" : "all");
	if (session.denied)
		n += fmt(json + n, sizeof(json) - n, ", \"defect\": \"%s\"",
			 plain_text(text, sizeof(text), session.denied));
	if (atomic_load(&session.nodes))
		n += fmt(json + n, sizeof(json) - n,
			 ", \"graphs\": \"by their nodes while the program's own "
			 "profiler asked for those\"");
	fmt(json + n, sizeof(json) - n,
	    ", \"driver\": %u, \"runtime\": %d, \"attached\": \"%s\"}", session.driver,
	    f->runtime, session.late ? "late" : "at start");
	spool_fact("cuda", json);
}

/* The consumer may have asked the runtime before the thread that starts it has told the
 * rest. */
static void tell_runtime(int runtime)
{
	bool taken = lock_take(&telling);

	if (runtime > session.found.runtime)
		session.found.runtime = runtime;
	write_facts(&session.found);
	lock_give(&telling, taken);
}

void facts_tell(void)
{
	tell_runtime(0);
}

void facts_ask_runtime(void)
{
	const char *path = session.found.cudart;
	int (*ask)(int *version), version = 0, saved = errno;
	void *handle = path[0] ? dlopen(path, RTLD_NOLOAD | RTLD_LAZY) : NULL;

	ask = handle ? (int (*)(int *))dlsym(handle, "cudaRuntimeGetVersion") : NULL;
	if (ask && !ask(&version))
		tell_runtime(version);
	if (handle)
		dlclose(handle);
	errno = saved;
}

void facts_fork_child(void)
{
	atomic_store(&telling, 0);
}
