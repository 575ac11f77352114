/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a trace file into tables, event by event. */
#include "report/model.h"
#include "base/search.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- categories ---- */

/* A file has few categories: each is looked up once, as long as no other has its place.
 */
static int kind_of(struct model *m, uint32_t cat, const char *name, enum slice_sort *sort)
{
	struct slice_category *known = &m->kinds[cat % SLICE_CATEGORIES];

	if (known->cat != cat + 1) {
		known->sort = SORT_PLAIN;
		known->kind = slice_kind_find(texts_get(&m->texts, cat), &known->sort);
		known->cat = cat + 1;
	}
	*sort = known->sort;
	if (known->kind == SLICE_PYTHON && m->ours && !strcmp(name, "Python GC")) {
		*sort = SORT_COLLECTION;
		return SLICE_PAUSE;
	}
	/* In the tb043 dialect, and in torch up to 1.11, annotations are operators. */
	if (known->kind == SLICE_OP && (text_starts_with(name, "Optimizer.") ||
					text_starts_with(name, "enumerate(Data") ||
					text_starts_with(name, "ProfilerStep#")))
		return SLICE_NOTE;
	return known->kind;
}

/* ---- rows ---- */

/* The slot of a row, or the empty slot where that row belongs. */
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

/* The number of a row, which is made at its first event. False: no memory. */
static bool thread_of(struct model *m, const struct event *e, uint32_t *id)
{
	size_t at;

	/* Events come thread by thread, more or less. */
	if (m->last_thread < m->threads_n && m->threads[m->last_thread].tid == e->tid &&
	    m->threads[m->last_thread].pid == e->pid) {
		*id = m->last_thread;
		return true;
	}
	if (2 * (m->threads_n + 1) > m->slots_n && !more_slots(m))
		return false;
	at = thread_slot(m, e->pid, e->tid);
	*id = m->last_thread = m->slots[at];
	if (*id != NO_ROW)
		return true;
	if (m->threads_n >= NO_ROW || !GROW(m->threads, m->threads_room, m->threads_n))
		return false;
	m->threads[m->threads_n] =
		(struct thread){ .pid = e->pid, .tid = e->tid, .name = TEXT_NONE };
	*id = m->slots[at] = (uint32_t)m->threads_n++;
	return true;
}

/* Adds the step of a "ProfilerStep#N" with a number; any other annotation is no step, and
 * no error. */
static bool add_step(struct model *m, const struct event *e, const char *name)
{
	const char *digits = name + strlen("ProfilerStep#");

	if (!text_starts_with(name, "ProfilerStep#") || !isdigit((unsigned char)*digits))
		return true;
	if (!GROW(m->steps, m->steps_room, m->steps_n))
		return false;
	m->steps[m->steps_n++] =
		(struct step){ e->ts, e->ts + e->dur, strtoll(digits, NULL, 10) };
	return true;
}

/* A number that events share to be joined by; one that is out of range is none. */
static uint32_t join_of(const struct event *e, enum event_arg arg)
{
	int64_t id = event_number(e, arg, 0);

	return id > 0 && id < UINT32_MAX ? (uint32_t)id : 0;
}

/* Adds what is known of a piece of GPU work. False: no memory. */
static bool add_work(struct model *m, const struct event *e, uint32_t *row)
{
	if (m->works_n >= NO_ROW || !GROW(m->works, m->works_room, m->works_n))
		return false;
	*row = (uint32_t)m->works_n;
	m->works[m->works_n++] =
		(struct work){ .device = event_number(e, ARG_DEVICE, -1),
			       .stream = event_number(e, ARG_STREAM, -1),
			       .bytes = event_number(e, ARG_COPIED, -1),
			       .registers = event_number(e, ARG_REGISTERS, -1),
			       .shared = event_number(e, ARG_SHARED, -1),
			       .grid = e->grid,
			       .block = e->block,
			       .group = e->group,
			       .members = e->members,
			       .blocks_per_sm = e->blocks_per_sm,
			       .occupancy = e->occupancy };
	return true;
}

static bool add_pause(struct model *m, const struct event *e, enum slice_sort sort)
{
	uint32_t thread;

	if (!thread_of(m, e, &thread) || !GROW(m->pauses, m->pauses_room, m->pauses_n))
		return false;
	m->pauses[m->pauses_n++] = (struct pause){ e->ts, e->ts + e->dur, thread, sort };
	return true;
}

/* Events that a view cannot use are passed over: without a name, of another category,
 * or with an end that overflows. */
static bool add_slice(struct model *m, const struct event *e)
{
	const char *name = texts_get(&m->texts, e->name);
	enum slice_sort sort = SORT_PLAIN;
	int kind = e->cat == TEXT_NONE ? -1 : kind_of(m, e->cat, name, &sort);
	uint32_t thread, work = NO_ROW;

	if (kind < 0 || e->name == TEXT_NONE)
		return true;
	if (e->dur < 0 || e->ts > INT64_MAX - e->dur) {
		m->unread++;
		return true;
	}
	if (kind == SLICE_PAUSE)
		return add_pause(m, e, sort);
	if (kind == SLICE_NOTE && !add_step(m, e, name))
		return false;
	if (!(m->want & WANT(kind)))
		return true;
	if (m->slices_n >= NO_ROW || !thread_of(m, e, &thread) ||
	    !GROW(m->slices, m->slices_room, m->slices_n))
		return false;
	if (kind == SLICE_DEVICE && m->want & WANT_DETAILS && !add_work(m, e, &work))
		return false;
	m->slices[m->slices_n++] =
		(struct slice){ .begin = e->ts,
				.end = e->ts + e->dur,
				.seq = event_number(e, ARG_SEQUENCE, -1),
				.input_bytes = e->input_bytes,
				.flops = event_number(e, ARG_FLOPS, 0),
				.name = e->name,
				.thread = thread,
				.parent = NO_ROW,
				.stack = e->stack,
				.external = join_of(e, ARG_EXTERNAL),
				.correlation = join_of(e, ARG_CORRELATION),
				.shapes = e->shapes,
				.work = work,
				.path = e->path,
				.continued = e->continued,
				.kind = (uint8_t)kind,
				.sort = (uint8_t)sort,
				.backward = event_number(e, ARG_FWD_THREAD, 0) > 0,
				.of_forward = e->of_forward,
				.flops_ours = e->flops_ours };
	return true;
}

#define SUM_MOST (INT64_C(1) << 61)

/* The number of the event's device. Where there are too many the last one stands for the
 * rest. */
static uint32_t device_of(struct model *m, const struct event *e)
{
	int64_t type = event_number(e, ARG_DEVICE_TYPE, 0);
	int64_t index = event_number(e, ARG_DEVICE_ID, -1);

	for (unsigned i = 0; i < m->devices_n; i++)
		if (m->devices[i].type == type && m->devices[i].index == index)
			return i;
	if (m->devices_n == MODEL_DEVICES)
		return MODEL_DEVICES - 1;
	m->devices[m->devices_n].type = type;
	m->devices[m->devices_n].index = index;
	return m->devices_n++;
}

/* Adds a memory event. An event without "Bytes" is none of torch's. */
static bool add_memory(struct model *m, const struct event *e, bool oom)
{
	uint32_t thread;
	int64_t moved, total = event_number(e, ARG_TOTAL_ALLOCATED, 0);
	int64_t reserved = event_number(e, ARG_TOTAL_RESERVED, 0);

	if (!event_has(e, ARG_BYTES) || m->memory_n >= NO_ROW)
		return true;
	/* Events are left out that would let a sum overflow. */
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
		.addr = (uint64_t)event_number(e, ARG_ADDR, 0),
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

/* Takes the name of "thread_name"; sort indices and labels are for viewers only. */
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

/* Is it what the closing words of a run count: no name of a thread, no arrow, no counter,
 * no step, and no mark of the recorder's own? */
static bool is_counted(const struct event *e, const char *name)
{
	static const char *const marks[] = { "PyTorch Profiler (0)", "Record Window End",
					     "Iteration Start: PyTorch Profiler", NULL };

	return e->ph && !strchr("MCstf", e->ph) && !text_is_in(name, marks) &&
	       !text_starts_with(name, "ProfilerStep#");
}

static bool take_event(void *arg, const struct event *e)
{
	struct model *m = arg;
	const char *name = texts_get(&m->texts, e->name);

	m->events++;
	m->counted += is_counted(e, name);
	if (e->ph == 'M')
		return name_thread(m, e);
	m->unread += e->ph == 'B' || e->ph == 'E' ||
		     (e->ph == 'X' && (!e->has_ts || e->ts < 0 || !e->has_dur));
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
	if (!strcmp(name, "Iteration Start: PyTorch Profiler"))
		m->recording = e->ts;
	return strcmp(name, "[OutOfMemory]") || add_memory(m, e, true);
}

/* ---- questions of the views ---- */

long model_step(const struct model *m, int64_t ts)
{
	size_t behind = SEARCH_FIRST(i, 0, m->steps_n, m->steps[i].begin > ts);

	return behind && ts <= m->steps[behind - 1].end ? (long)behind - 1 : -1;
}

/* The device's name, by c10::DeviceType's numbers; a type that is newer than the list
 * reads "device". */
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

double model_window(const struct model *m)
{
	int64_t end = m->end;

	/* Of files without a mark at their end the last event is the last beginning. */
	for (size_t i = 0; i < m->steps_n; i++)
		end = m->steps[i].end > end ? m->steps[i].end : end;
	return (double)end - (double)m->begin;
}

int model_read(struct model *m, const char *path, unsigned want, char *why, size_t size)
{
	struct read_visitor v = { &m->texts, take_event,          model_take_top,
				  m,         want & WANT_DETAILS, &m->damage };

	*m = (struct model){ .want = want,
			     .begin = INT64_MAX,
			     .end = INT64_MIN,
			     .recording = TIME_NONE,
			     .whose = { .name = TEXT_NONE,
					.host = TEXT_NONE,
					.script = TEXT_NONE,
					.torch_version = TEXT_NONE,
					.python = { .version = TEXT_NONE },
					.rank = -1,
					.overhead = -1 } };
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
	free(m->works);
	free(m->gpus);
	free(m->pauses);
	free(m->slots);
	sites_free(m->heap);
	kept_free(m->kept);
	*m = (struct model){ 0 };
}
