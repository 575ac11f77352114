/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_image - an interpreter in the test's own memory, laid out as CPython 3.12 is.
 *
 * Threads  one.
 * Memory   static; one process for each test: Check forks.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_PYTHON_IMAGE_H
#define TESTS_PYTHON_IMAGE_H

#include "agent/core/codes.h"
#include "agent/core/emit.h"
#include "agent/core/stacks.h"
#include "agent/python/freed.h"
#include "agent/python/snap.h"
#include "tests/unit/spool_open.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

#define FIRST 4 /* the first instruction of the source, as an index */

struct fake_str {
	uint64_t refs, type, len, hash;
	uint32_t state, pad;
	char text[64];
};
struct fake_bytes {
	uint64_t refs, type, len, hash;
	char bytes[8];
};
struct fake_code {
	uint8_t bytes[256];
	struct fake_str file, name;
	struct fake_bytes table;
};
struct fake_frame {
	const void *code;
	struct fake_frame *caller;
	uint8_t pad[40];
	const void *where;
	uint8_t pad2[6];
	uint8_t owner;
	uint8_t pad3;
};

static struct fake_frame *innermost;
static struct {
	uint8_t pad[56];
	void *cframe;
} state = { .cframe = &innermost };
static int finalizing;
static bool no_state;
static struct fake_code code[8];
static struct fake_frame frame[3000];

static inline void *fake_state(void)
{
	return no_state ? NULL : &state;
}

static inline void *no_holder(void)
{
	return NULL;
}

static inline int is_finalizing(void)
{
	return finalizing;
}

static inline void fill_str(struct fake_str *s, const char *text)
{
	s->len = strlen(text);
	s->state = 1 << 2 | 0x20 | 0x40;
	strcpy(s->text, text);
	/* The text of 3.12's ASCII lies at 40. */
	ck_assert_uint_eq(offsetof(struct fake_str, text), 40);
}

static inline void set_word(struct fake_code *c, unsigned at, uint32_t value)
{
	memcpy(c->bytes + at, &value, sizeof(value));
}

static inline void set_pointer(struct fake_code *c, unsigned at, const void *value)
{
	memcpy(c->bytes + at, &value, sizeof(value));
}

static inline void make_code(unsigned i, uint32_t version)
{
	const struct python_layout *l = interpreter.layout;
	char text[32];

	snprintf(text, sizeof(text), "/dir/f%u.py", i);
	fill_str(&code[i].file, text);
	snprintf(text, sizeof(text), "function%u_%u", i, version);
	fill_str(&code[i].name, text);
	code[i].table.len = 8;
	set_pointer(&code[i], l->code_file, &code[i].file);
	set_pointer(&code[i], l->code_name, &code[i].name);
	set_pointer(&code[i], l->code_table, &code[i].table);
	set_word(&code[i], l->code_line, 10 * (i + 1));
	set_word(&code[i], l->code_first, FIRST);
}

/* Frame n executes code i, `at` bytes behind its first instruction. */
static inline void put_frame(unsigned n, unsigned i, unsigned at)
{
	frame[n].code = &code[i];
	frame[n].where = code[i].bytes + interpreter.layout->code_start + at;
	frame[n].caller = n ? &frame[n - 1] : NULL;
	frame[n].owner = 0;
	innermost = &frame[n];
}

static inline void open_window(uint64_t number)
{
	uint64_t at = chunk_take(CHUNK_CYCLE, CHUNK_SMALL, number);
	struct cycle_info *info = (struct cycle_info *)(chunk_at(at) + 1);

	memset((void *)info, 0, sizeof(*info));
	info->number = number;
	gate_set(number, at);
}

static inline void setup(uint64_t cap)
{
	const char *why;

	interpreter.layout = python_layout("3.12.1 (main)", &why);
	interpreter.thread_state = fake_state;
	interpreter.holder = no_holder;
	interpreter.finalizing = is_finalizing;
	atomic_store(&interpreter_tells_end, true);
	clock_start();
	ck_assert_int_eq(gate_start(), 0);
	ck_assert_int_eq(thread_start(), 0);
	ck_assert_int_eq(spool_open(NULL, cap), 0);
	ck_assert_int_eq(spool_prepare(cap), 0);
	for (unsigned i = 0; i < 8; i++)
		make_code(i, i + 1);
	for (unsigned n = 0; n < 3; n++)
		put_frame(n, n, 20);
	open_window(1);
}

#endif
