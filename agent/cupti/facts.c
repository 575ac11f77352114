/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/fmt.h"
#include "agent/cupti/parts.h"

#include <string.h>

/* Our own texts and paths; what JSON would have to escape becomes a question mark. */
static const char *plain(char *to, size_t size, const char *text)
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

/* What is switched on for a window. */
static size_t kinds_text(char *buf, size_t size)
{
	static const char *const names[] = {
		[KIND_MEMCPY] = "MEMCPY",
		[KIND_MEMSET] = "MEMSET",
		[KIND_DRIVER] = "DRIVER",
		[KIND_RUNTIME] = "RUNTIME",
		[KIND_DEVICE] = "DEVICE",
		[KIND_CONCURRENT_KERNEL] = "CONCURRENT_KERNEL",
		[KIND_OVERHEAD] = "OVERHEAD",
		[KIND_MEMCPY2] = "MEMCPY2",
		[KIND_CUDA_EVENT] = "CUDA_EVENT",
		[KIND_SYNCHRONIZATION] = "SYNCHRONIZATION",
		[KIND_MEMORY2] = "MEMORY2",
		[KIND_GRAPH_TRACE] = "GRAPH_TRACE",
	};
	size_t n = 0;

	for (uint32_t kind = 0; kind < sizeof(names) / sizeof(*names); kind++)
		if (names[kind] && kinds_for_ours() >> kind & 1 && n < size)
			n += fmt(buf + n, size - n, "%s\"%s\"", n ? ", " : "",
				 names[kind]);
	return n;
}

void facts_tell(const struct found *f)
{
	static char json[2048];
	char kinds[256] = "", text[640];
	size_t n;

	n = fmt(json, sizeof(json), "{\"state\": \"%s\"", state_name());
	if (session.why[0])
		n += fmt(json + n, sizeof(json) - n, ", \"why\": \"%s\"",
			 plain(text, sizeof(text), session.why));
	if (session.version) {
		n += fmt(json + n, sizeof(json) - n, ", \"cupti\": %u, \"file\": \"%s\"",
			 session.version, plain(text, sizeof(text), f->path));
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
			 plain(text, sizeof(text), session.denied));
	if (atomic_load(&session.nodes))
		n += fmt(json + n, sizeof(json) - n,
			 ", \"graphs\": \"by their nodes while the program's own "
			 "profiler asked for those\"");
	fmt(json + n, sizeof(json) - n,
	    ", \"driver\": %u, \"runtime\": %d, \"attached\": \"%s\"}", session.driver,
	    f->runtime, session.late ? "late" : "at start");
	spool_fact("cuda", json);
}
