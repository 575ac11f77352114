/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_bench - Python's call stacks put into a spool, and what is written of them.
 *
 * Threads  one.
 * Memory   static.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_PYTHON_BENCH_H
#define TESTS_PYTHON_BENCH_H

#include "agent/core/codes.h"
#include "agent/core/stack_pair.h"
#include "base/fmt.h"
#include "tests/unit/stacks_bench.h"
#include "writer/python/python.h"
#include "writer/trace.h"

#define SPOOL (64u << 20)

static struct trace trace;
static struct config config;
static char block[OUTPUT_BLOCK];
static char text[16 << 20];

static inline int collect(void *arg, const char *from, size_t len)
{
	char **at = arg;

	ck_assert_uint_lt((size_t)(*at - text) + len, sizeof(text));
	memcpy(*at, from, len);
	*at += len;
	return 0;
}

static inline void start_writing(void)
{
	open_spool(SPOOL);
	config_defaults(&config);
	config.python_stack = PYTHON_OPS;
	trace.config = &config;
	trace.view = &view;
	ck_assert_int_eq(python_start(&trace), 0);
}

/* Python's folders as the agent found them, said before the writer begins. */
static inline void start_with_folders(const char *json)
{
	open_spool(SPOOL);
	fmt(spool.head->facts, sizeof(spool.head->facts), "python_path = %s\n", json);
	start_writing();
}

static inline const char *written(uint32_t stack, bool forward)
{
	char *at = text;

	json_init(&trace.json, block, sizeof(block), collect, &at);
	python_stacks(&trace, (struct stack_pair){ .python = stack }, forward);
	json_flush(&trace.json);
	*at = '\0';
	return text;
}

/* Is what was written good in an event's args? */
static inline bool is_valid(void)
{
	static char args[sizeof(text) + 16];

	return json_valid(args, fmt(args, sizeof(args), "{%s\"x\":0}", text));
}

static inline struct code_text as_text(const char *of)
{
	return (struct code_text){ of, strlen(of) };
}

/* Code all of which lies in one line. */
static inline uint32_t add_code(const char *file, const char *name, uint32_t line)
{
	uint32_t id =
		codes_add(as_text(file), as_text(name), line, CODE_LNOTAB, as_text(""));

	ck_assert_uint_ne(id, 0);
	return id;
}

/* Code at `offset` of a code object, called by `caller`. */
static inline uint32_t call(uint32_t caller, uint32_t code, uint32_t offset)
{
	struct stack_frame frame = { code, offset };
	uint32_t id = stacks_add(caller, frame, 0, NULL);

	if (!id)
		ck_abort_msg("no room for a stack");
	return id;
}

/* A stack of one frame, in line 3 of f(). */
static inline uint32_t call_in(const char *file)
{
	return call(0, add_code(file, "f", 3), 0);
}

/* What is left of the name of a file. */
static inline void is_shown_as(const char *file, const char *shown)
{
	char want[256];

	fmt(want, sizeof(want), "\"Call stack\":\"%s(3): f\",", shown);
	ck_assert_str_eq(written(call_in(file), false), want);
}

#endif
