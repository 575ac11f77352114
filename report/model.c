/* SPDX-License-Identifier: Apache-2.0 */
#include "report/model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- categories ---- */

static bool starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Each spelling that a writer has used (trace-format 3.1); -1 = of no interest. */
static int kind_of(const char *cat, const char *name)
{
	static const struct {
		const char *cat;
		enum slice_kind kind;
	} kinds[] = {
		{ "cpu_op", SLICE_OP },
		{ "operator", SLICE_OP },
		{ "user_annotation", SLICE_NOTE },
		{ "python_function", SLICE_PYTHON },
		{ "cuda_runtime", SLICE_CALL },
		{ "runtime", SLICE_CALL },
		{ "cuda_driver", SLICE_CALL },
		{ "kernel", SLICE_DEVICE },
		{ "gpu_memcpy", SLICE_DEVICE },
		{ "memcpy", SLICE_DEVICE },
		{ "gpu_memset", SLICE_DEVICE },
		{ "memset", SLICE_DEVICE },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strcasecmp(cat, kinds[i].cat))
			continue;
		/* The tb043 dialect, and torch up to 1.11. */
		if (kinds[i].kind == SLICE_OP &&
		    (starts(name, "Optimizer.") || starts(name, "enumerate(Data") ||
		     starts(name, "ProfilerStep#")))
			return SLICE_NOTE;
		return (int)kinds[i].kind;
	}
	return -1;
}

/* ---- rows ---- */

static size_t thread_slot(const struct model *m, int64_t pid, int64_t tid)
{
	uint64_t h = ((uint64_t)pid * 31 + (uint64_t)tid) * 0x9e3779b97f4a7c15ull;
	size_t at = h >> 20 & (m->slots_n - 1);

	for (; m->slots[at] != NO_ROW; at = (at + 1) & (m->slots_n - 1))
		if (m->threads[m->slots[at]].pid == pid &&
		    m->threads[m->slots[at]].tid == tid)
			break;
	return at;
}

static bool more_slots(struct model *m)
{
	size_t n = m->slots_n ? 2 * m->slots_n : 64;
	uint32_t *slots = malloc(n * sizeof(*slots));

	if (!slots)
		return false;
	memset(slots, 0xff, n * sizeof(*slots));
	free(m->slots);
	m->slots = slots;
	m->slots_n = n;
	for (size_t i = 0; i < m->threads_n; i++)
		slots[thread_slot(m, m->threads[i].pid, m->threads[i].tid)] = (uint32_t)i;
	return true;
}

static bool thread_of(struct model *m, const struct event *e, uint32_t *id)
{
	size_t at;

	if (2 * (m->threads_n + 1) > m->slots_n && !more_slots(m))
		return false;
	at = thread_slot(m, e->pid, e->tid);
	*id = m->slots[at];
	if (*id != NO_ROW)
		return true;
	if (m->threads_n >= NO_ROW || !GROW(m->threads, m->threads_room, m->threads_n))
		return false;
	m->threads[m->threads_n] =
		(struct thread){ .pid = e->pid, .tid = e->tid, .name = TEXT_NONE };
	*id = m->slots[at] = (uint32_t)m->threads_n++;
	return true;
}

static bool add_step(struct model *m, const struct event *e, const char *name)
{
	const char *digits = name + strlen("ProfilerStep#");

	if (!starts(name, "ProfilerStep#") || !isdigit((unsigned char)*digits))
		return true;
	if (!GROW(m->steps, m->steps_room, m->steps_n))
		return false;
	m->steps[m->steps_n++] =
		(struct step){ e->ts, e->ts + e->dur, strtoll(digits, NULL, 10) };
	return true;
}

static bool add_slice(struct model *m, const struct event *e)
{
	const char *name = texts_get(&m->texts, e->name);
	int kind = e->cat == TEXT_NONE ? -1 : kind_of(texts_get(&m->texts, e->cat), name);
	struct slice *s;
	uint32_t thread;

	if (kind < 0 || e->name == TEXT_NONE || e->dur < 0 || e->ts > INT64_MAX - e->dur)
		return true;
	if (kind == SLICE_NOTE && !add_step(m, e, name))
		return false;
	if (!(m->want & WANT(kind)))
		return true;
	if (m->slices_n >= NO_ROW || !thread_of(m, e, &thread) ||
	    !GROW(m->slices, m->slices_room, m->slices_n))
		return false;
	s = &m->slices[m->slices_n++];
	*s = (struct slice){ .begin = e->ts,
			     .end = e->ts + e->dur,
			     .seq = event_has(e, ARG_SEQUENCE) ? e->arg[ARG_SEQUENCE]
							       : -1,
			     .input_bytes = e->input_bytes,
			     .name = e->name,
			     .thread = thread,
			     .parent = NO_ROW,
			     .kind = (uint8_t)kind };
	s->backward = event_has(e, ARG_FWD_THREAD) && e->arg[ARG_FWD_THREAD] > 0;
	return true;
}

#define SUM_MOST (INT64_C(1) << 61)

/* Too many devices: the last one stands for the rest. */
static uint32_t device_of(struct model *m, const struct event *e)
{
	int64_t type = event_has(e, ARG_DEVICE_TYPE) ? e->arg[ARG_DEVICE_TYPE] : 0;
	int64_t index = event_has(e, ARG_DEVICE_ID) ? e->arg[ARG_DEVICE_ID] : -1;

	for (unsigned i = 0; i < m->devices_n; i++)
		if (m->devices[i].type == type && m->devices[i].index == index)
			return i;
	if (m->devices_n == MODEL_DEVICES)
		return MODEL_DEVICES - 1;
	m->devices[m->devices_n].type = type;
	m->devices[m->devices_n].index = index;
	return m->devices_n++;
}

static bool add_memory(struct model *m, const struct event *e, bool oom)
{
	uint32_t thread;
	int64_t moved, total = 0, reserved = 0;

	if (event_has(e, ARG_TOTAL_ALLOCATED))
		total = e->arg[ARG_TOTAL_ALLOCATED];
	if (event_has(e, ARG_TOTAL_RESERVED))
		reserved = e->arg[ARG_TOTAL_RESERVED];
	if (!event_has(e, ARG_BYTES) || m->memory_n >= NO_ROW)
		return true;
	/* No sum of what is kept may overflow. */
	moved = e->arg[ARG_BYTES] < 0 ? -(e->arg[ARG_BYTES] + 1) : e->arg[ARG_BYTES];
	if (moved > SUM_MOST - m->moved || total > SUM_MOST)
		return true;
	m->moved += moved + 1;
	if (!thread_of(m, e, &thread) || !GROW(m->memory, m->memory_room, m->memory_n))
		return false;
	m->memory[m->memory_n++] = (struct memory_event){
		.ts = e->ts,
		.bytes = e->arg[ARG_BYTES],
		.allocated = total > 0 ? total : 0,
		.reserved = reserved > 0 ? reserved : 0,
		.addr = event_has(e, ARG_ADDR) ? (uint64_t)e->arg[ARG_ADDR] : 0,
		.has_addr = event_has(e, ARG_ADDR) && !oom,
		.thread = thread,
		.slice = NO_ROW,
		.device = device_of(m, e),
		.oom = oom,
	};
	return true;
}

static bool add_counters(struct model *m, const struct event *e)
{
	for (unsigned i = 0; i < e->series; i++) {
		if (!GROW(m->counters, m->counters_room, m->counters_n))
			return false;
		m->counters[m->counters_n++] =
			(struct counter){ e->ts, e->value[i].value, e->name,
					  e->value[i].key };
	}
	return true;
}

static bool name_thread(struct model *m, const struct event *e)
{
	uint32_t thread;

	if (e->label == TEXT_NONE || e->name == TEXT_NONE ||
	    strcmp(texts_get(&m->texts, e->name), "thread_name"))
		return true;
	if (!thread_of(m, e, &thread))
		return false;
	m->threads[thread].name = e->label;
	return true;
}

static bool take_event(void *arg, const struct event *e)
{
	struct model *m = arg;
	const char *name = texts_get(&m->texts, e->name);

	m->events++;
	if (e->ph == 'M')
		return name_thread(m, e);
	if (!e->has_ts || e->ts < 0)
		return true;
	m->begin = e->ts < m->begin ? e->ts : m->begin;
	m->end = e->ts > m->end ? e->ts : m->end;
	if (e->ph == 'X' && e->has_dur)
		return add_slice(m, e);
	if (e->ph == 'C')
		return add_counters(m, e);
	if (e->ph != 'i' && e->ph != 'I')
		return true;
	if (!strcmp(name, "[memory]"))
		return add_memory(m, e, false);
	return strcmp(name, "[OutOfMemory]") ? true : add_memory(m, e, true);
}

/* ---- what stands before the events ---- */

struct tally {
	const char *key; /* NULL = any */
	uint64_t *sum; /* NULL = no more of them */
};

/* An object of counts. */
static void add_counts(struct parse *p, const struct tally *t)
{
	enum token token = parse_next(p);

	if (token != TOKEN_OBJECT) {
		parse_skip(p, token);
		return;
	}
	while (parse_next(p) == TOKEN_KEY) {
		unsigned mine = 0;
		uint64_t n;

		for (unsigned i = 0; t[i].sum; i++)
			mine |= (unsigned)(!t[i].key || parse_is(p, t[i].key)) << i;
		token = parse_next(p);
		n = token == TOKEN_NUMBER ? parse_u64(p) : 0;
		if (token != TOKEN_NUMBER && parse_skip(p, token) == TOKEN_ERROR)
			return;
		for (unsigned i = 0; t[i].sum; i++)
			*t[i].sum += mine >> i & 1 ? n : 0;
	}
}

uint64_t model_missing(const struct model *m, uint64_t n)
{
	uint64_t inside = m->dropped > m->late ? m->dropped - m->late : 0;

	return n < inside ? n : inside;
}

static bool take_ours(struct model *m, struct parse *p)
{
	const struct tally drops[] = { { NULL, &m->dropped },
				       { "heap_allocations", &m->dropped_heap },
				       { "heap_frees", &m->dropped_heap },
				       { "memory", &m->dropped_memory },
				       { "steps", &m->dropped_steps },
				       { NULL, NULL } };
	const struct tally reasons[] = { { "after the window's end", &m->late },
					 { NULL, NULL } };
	enum token token = parse_next(p);
	bool enough = true;

	if (token != TOKEN_OBJECT) {
		parse_skip(p, token);
		return true;
	}
	m->ours = true;
	while (enough && parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "drops"))
			add_counts(p, drops);
		else if (parse_is(p, "drop reasons"))
			add_counts(p, reasons);
		else if (parse_is(p, "heap") && !m->heap)
			m->heap = sites_read(p, &m->texts, &enough);
		else
			parse_skip(p, TOKEN_KEY);
	}
	return enough;
}

static bool take_top(void *arg, const char *key, struct parse *p, bool *taken)
{
	struct model *m = arg;

	*taken = true;
	if (!strcmp(key, "proflaunch"))
		return take_ours(m, p);
	if (!strcmp(key, "baseTimeNanoseconds")) {
		if (parse_next(p) == TOKEN_NUMBER)
			m->base_ns = parse_i64(p);
	} else if (!strcmp(key, "profile_memory")) {
		m->says_memory = parse_next(p) == TOKEN_NUMBER && parse_i64(p);
	} else {
		*taken = false;
	}
	return true;
}

/* ---- views' questions ---- */

long model_step(const struct model *m, int64_t ts)
{
	size_t low = 0, high = m->steps_n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (m->steps[middle].begin <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low && ts <= m->steps[low - 1].end ? (long)low - 1 : -1;
}

const char *model_device(const struct model *m, unsigned device, char *to, size_t size)
{
	static const char *const types[] = { "cpu",    "cuda",  "mkldnn", "opengl",
					     "opencl", "ideep", "hip",    "fpga",
					     "maia",   "xla",   "vulkan", "metal",
					     "xpu",    "mps",   "meta",   "hpu",
					     "ve",     "lazy",  "ipu",    "mtia" };
	int64_t type = m->devices[device].type, index = m->devices[device].index;
	const char *name = type >= 0 && (size_t)type < sizeof(types) / sizeof(*types)
				   ? types[type]
				   : "device";

	if (type == 0 || index < 0)
		snprintf(to, size, "%s", name);
	else
		snprintf(to, size, "%s:%lld", name, (long long)index);
	return to;
}

int model_read(struct model *m, const char *path, unsigned want, char *why, size_t size)
{
	struct read_visitor v = { &m->texts, take_event, take_top, m };

	*m = (struct model){ .want = want, .begin = INT64_MAX, .end = INT64_MIN };
	if (read_trace(path, &v, why, size)) {
		model_free(m);
		return -1;
	}
	if (m->heap)
		sites_check(m->heap);
	if (!model_link(m)) {
		snprintf(why, size, "%s: not enough memory", path);
		model_free(m);
		return -1;
	}
	return 0;
}

void model_free(struct model *m)
{
	texts_free(&m->texts);
	free(m->slices);
	free(m->memory);
	free(m->counters);
	free(m->steps);
	free(m->threads);
	free(m->slots);
	sites_free(m->heap);
	*m = (struct model){ 0 };
}
