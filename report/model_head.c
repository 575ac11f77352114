/* SPDX-License-Identifier: Apache-2.0 */
/* The members before a file's events: what was lost, whose trace it is, and the heap. */
#include "report/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- what was lost ---- */

struct tally {
	const char *key; /* NULL = any */
	uint64_t *sum; /* NULL = the end of the list */
};

/* Adds up an object of counts. */
static void add_counts(struct parse *p, const struct tally *t)
{
	if (!parse_value(p, TOKEN_OBJECT))
		return;
	while (parse_next(p) == TOKEN_KEY) {
		unsigned mine = 0;
		uint64_t n;

		for (unsigned i = 0; t[i].sum; i++)
			mine |= (unsigned)(!t[i].key || parse_is(p, t[i].key)) << i;
		n = parse_value(p, TOKEN_NUMBER) ? number_u64(p) : 0;
		for (unsigned i = 0; t[i].sum; i++)
			*t[i].sum += mine >> i & 1 ? n : 0;
	}
}

uint64_t model_missing(const struct model *m, uint64_t n)
{
	uint64_t inside = m->dropped > m->late ? m->dropped - m->late : 0;

	return n < inside ? n : inside;
}

/* ---- whose trace it is ---- */

/* Takes an object, behind its key: `one` takes each member whole. */
static void members_of(struct model *m, struct parse *p,
		       void (*one)(struct model *m, struct parse *p))
{
	if (parse_value(p, TOKEN_OBJECT))
		while (parse_next(p) == TOKEN_KEY)
			one(m, p);
}

static uint32_t text_value(struct model *m, struct parse *p)
{
	return parse_value(p, TOKEN_STRING) ? texts_add(&m->texts, p->text, p->len)
					    : TEXT_NONE;
}

static int64_t number_value(struct parse *p)
{
	return parse_value(p, TOKEN_NUMBER) ? number_i64(p) : 0;
}

static void take_process(struct model *m, struct parse *p)
{
	if (parse_is(p, "pid"))
		m->whose.pid = number_value(p);
	else if (parse_is(p, "name"))
		m->whose.name = text_value(m, p);
	else
		parse_skip(p, TOKEN_KEY);
}

static void take_window(struct model *m, struct parse *p)
{
	if (parse_is(p, "number"))
		m->whose.window = number_value(p);
	else if (parse_is(p, "stage"))
		m->whose.stage_number = number_value(p);
	else if (parse_is(p, "complete"))
		m->whose.broken_off = !parse_value(p, TOKEN_TRUE);
	else if (parse_is(p, "before the first step boundary"))
		m->whose.unmarked = parse_value(p, TOKEN_TRUE);
	else
		parse_skip(p, TOKEN_KEY);
}

static void take_torch(struct model *m, struct parse *p)
{
	if (parse_is(p, "torch"))
		m->whose.torch_version = text_value(m, p);
	else
		parse_skip(p, TOKEN_KEY);
}

static void take_cpu(struct model *m, struct parse *p)
{
	if (parse_is(p, "cpus"))
		m->whose.cpus = number_value(p);
	else if (parse_is(p, "torch threads"))
		m->whose.torch_threads = number_value(p);
	else
		parse_skip(p, TOKEN_KEY);
}

static void take_fact(struct model *m, struct parse *p)
{
	if (parse_is(p, "script")) {
		m->whose.script = text_value(m, p);
		return;
	}
	if (parse_is(p, "cpu")) {
		members_of(m, p, take_cpu);
		return;
	}
	if (parse_is(p, "python")) {
		interpreter_take_fact(&m->whose.python, &m->texts, p);
		return;
	}
	if (!parse_is(p, "torch")) {
		parse_skip(p, TOKEN_KEY);
		return;
	}
	m->whose.torch = true;
	members_of(m, p, take_torch);
}

/* Takes what our recording cost the program's own threads, as the file estimates it. */
static void take_cost(struct model *m, struct parse *p)
{
	double *cost = parse_is(p, "ns per function") ? &m->whose.python.call_ns
		       : parse_is(p, "ns per C call") ? &m->whose.python.c_call_ns
						      : NULL;
	double ns;

	if (!cost && !parse_is(p, "estimated overhead us")) {
		parse_skip(p, TOKEN_KEY);
		return;
	}
	if (!parse_value(p, TOKEN_NUMBER))
		return;
	ns = number_double(p);
	if (!cost)
		m->whose.overhead = number_us(p);
	else if (ns > 0 && ns < 1e9)
		*cost = ns;
}

/* null: nobody allocated any. */
static void take_objects(struct model *m, struct parse *p)
{
	m->whose.objects = true;
	if (!parse_value(p, TOKEN_OBJECT))
		return;
	while (parse_next(p) == TOKEN_KEY) {
		bool lost = parse_is(p, "unseen") || parse_is(p, "exchanged");

		m->whose.unseen |= parse_value(p, TOKEN_TRUE) && lost;
	}
}

/* null: it was asked for, and could not be recorded. */
static void take_events(struct model *m, struct parse *p)
{
	bool collections = parse_is(p, "collections"),
	     waits = parse_is(p, "waits for the lock");

	if (!parse_value(p, TOKEN_NUMBER))
		return;
	m->whose.collections |= collections;
	m->whose.waits |= waits;
}

static void take_stacks(struct model *m, struct parse *p)
{
	if (parse_is(p, "unknown"))
		m->whose.no_room |= number_value(p) > 0;
	else
		parse_skip(p, TOKEN_KEY);
}

/* Takes buffer_mb; options are texts: "256". */
static void take_option(struct model *m, struct parse *p)
{
	if (!parse_is(p, "buffer_mb"))
		parse_skip(p, TOKEN_KEY);
	else if (parse_value(p, TOKEN_STRING))
		m->whose.buffer_mb = strtoull(p->text, NULL, 10);
}

/* A group of one exchanges nothing. */
static void take_group(struct model *m, struct parse *p)
{
	int64_t n = 0, *part = &m->whose.part;

	if (parse_is(p, "pg_size"))
		n = number_value(p);
	else
		parse_skip(p, TOKEN_KEY);
	if (n > 1 && (!*part || n < *part))
		*part = n;
}

static void take_groups(struct model *m, struct parse *p)
{
	enum token token;

	if (!parse_value(p, TOKEN_ARRAY))
		return;
	while (parse_element(p, &token)) {
		if (token != TOKEN_OBJECT)
			parse_skip(p, token);
		else
			while (parse_next(p) == TOKEN_KEY)
				take_group(m, p);
	}
}

/* Takes the rank; the size comes behind it. The only process of a job is no rank. */
static void take_rank(struct model *m, struct parse *p)
{
	if (parse_is(p, "world_size")) {
		m->whose.world = number_value(p);
		m->whose.rank = m->whose.world > 1 ? m->whose.rank : -1;
	} else if (parse_is(p, "pg_config")) {
		take_groups(m, p);
	} else if (!parse_is(p, "rank")) {
		parse_skip(p, TOKEN_KEY);
	} else if (parse_value(p, TOKEN_NUMBER)) {
		m->whose.rank = number_i64(p);
	}
}

/* ---- the machine ---- */

static void take_gpu_member(struct model *m, struct parse *p)
{
	struct gpu *g = &m->gpus[m->gpus_n - 1];

	if (parse_is(p, "id"))
		g->id = number_value(p);
	else if (parse_is(p, "name"))
		g->name = text_value(m, p);
	else if (parse_is(p, "totalGlobalMem"))
		g->memory = number_value(p);
	else if (parse_is(p, "computeMajor"))
		g->major = number_value(p);
	else if (parse_is(p, "computeMinor"))
		g->minor = number_value(p);
	else if (parse_is(p, "numSms"))
		g->sms = number_value(p);
	else
		parse_skip(p, TOKEN_KEY);
}

/* Reads the list "deviceProperties". False: no memory. */
static bool read_gpus(struct model *m, struct parse *p)
{
	enum token token;

	if (!parse_value(p, TOKEN_ARRAY))
		return true;
	while (parse_element(p, &token)) {
		if (token != TOKEN_OBJECT) {
			parse_skip(p, token);
			continue;
		}
		if (!GROW(m->gpus, m->gpus_room, m->gpus_n))
			return false;
		m->gpus[m->gpus_n++] = (struct gpu){ .id = -1, .name = TEXT_NONE };
		while (parse_next(p) == TOKEN_KEY)
			take_gpu_member(m, p);
	}
	return true;
}

/* Reads the object "proflaunch": what was lost, and the heap by call site. */
static bool read_proflaunch_object(struct model *m, struct parse *p)
{
	const struct tally drops[] = { { NULL, &m->dropped },
				       { "heap_allocations", &m->dropped_heap },
				       { "heap_frees", &m->dropped_heap },
				       { "memory", &m->dropped_memory },
				       { "steps", &m->dropped_steps },
				       { NULL, NULL } };
	const struct tally reasons[] = { { "after the window's end", &m->late },
					 { "buffer full", &m->whose.full },
					 { NULL, NULL } };
	const struct tally events[] = { { NULL, &m->whose.records }, { NULL, NULL } };
	bool enough = true;

	if (!parse_value(p, TOKEN_OBJECT))
		return true;
	m->ours = true;
	while (enough && parse_next(p) == TOKEN_KEY) {
		if (parse_is(p, "drops"))
			add_counts(p, drops);
		else if (parse_is(p, "drop reasons"))
			add_counts(p, reasons);
		else if (parse_is(p, "events"))
			add_counts(p, events);
		else if (parse_is(p, "python objects"))
			take_objects(m, p);
		else if (parse_is(p, "python events"))
			members_of(m, p, take_events);
		else if (parse_is(p, "python functions"))
			interpreter_take_calls(&m->whose.python, p);
		else if (parse_is(p, "python stacks"))
			members_of(m, p, take_stacks);
		else if (parse_is(p, "configuration"))
			members_of(m, p, take_option);
		else if (parse_is(p, "facts"))
			members_of(m, p, take_fact);
		else if (parse_is(p, "process"))
			members_of(m, p, take_process);
		else if (parse_is(p, "window"))
			members_of(m, p, take_window);
		else if (parse_is(p, "cost"))
			members_of(m, p, take_cost);
		else if (parse_is(p, "heap") && !m->heap)
			m->heap = sites_read(p, &m->texts, &enough);
		else
			parse_skip(p, TOKEN_KEY);
	}
	return enough;
}

/* Takes members of the file itself; *taken false leaves the value to the reader. */
bool model_take_top(void *arg, const char *key, struct parse *p, bool *taken)
{
	struct model *m = arg;
	bool enough = true;

	*taken = true;
	if (!strcmp(key, "proflaunch"))
		return read_proflaunch_object(m, p);
	if (!strcmp(key, "baseTimeNanoseconds")) {
		if (parse_value(p, TOKEN_NUMBER))
			m->base_ns = number_i64(p);
	} else if (!strcmp(key, "host_name")) {
		m->whose.host = text_value(m, p);
	} else if (!strcmp(key, "stage")) {
		if (parse_value(p, TOKEN_STRING) && !*m->whose.stage)
			head_stage(m->whose.stage, p->text, p->len);
	} else if (!strcmp(key, "profile_memory")) {
		m->says_memory = parse_value(p, TOKEN_NUMBER) && number_i64(p);
	} else if (!strcmp(key, "record_shapes")) {
		m->says_shapes = parse_value(p, TOKEN_NUMBER) && number_i64(p);
	} else if (!strcmp(key, "with_flops")) {
		m->says_flops = parse_value(p, TOKEN_NUMBER) && number_i64(p);
	} else if (!strcmp(key, "cuda_runtime_version")) {
		m->whose.cuda_runtime = number_value(p);
	} else if (!strcmp(key, "cuda_driver_version")) {
		m->whose.cuda_driver = number_value(p);
	} else if (!strcmp(key, KEPT_MEMBER) && !m->kept) {
		m->kept = kept_read(p, &enough);
	} else if (!strcmp(key, "deviceProperties")) {
		return read_gpus(m, p);
	} else if (!strcmp(key, "distributedInfo")) {
		members_of(m, p, take_rank);
	} else {
		*taken = false;
	}
	return enough;
}
