/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named_stacks - stacks of an image by the names of their functions, native and Python's.
 *
 * Threads  none of its own.  Memory  the names stay: Check forks for each test.
 * Errors   assertions.  Units  none.
 */
#ifndef TESTS_NAMED_STACKS_H
#define TESTS_NAMED_STACKS_H

#include "tests/unit/pair_image.h"

/* The functions of a module, at offsets 16, 32, ... */
static const char *function[64];
static unsigned functions;

/* Answers as the helper does: an inlined call has a text of its own, before a "|". */
static inline int name_functions(const char *question, size_t len, int64_t ns,
				 int (*take)(void *arg, const char *text, size_t len),
				 void *arg)
{
	const char *end = question + len;

	(void)ns;
	for (; question < end; question += strlen(question) + 1) {
		const char *name;

		if (*question != 'f')
			continue;
		name = function[strtoul(question + 1, NULL, 16) / 16 - 1];
		for (const char *bar; (bar = strchr(name, '|')); name = bar + 1) {
			take(arg, name, (size_t)(bar - name));
			take(arg, "", 1);
		}
		take(arg, name, strlen(name) + 1);
		take(arg, "", 1);
	}
	return 0;
}

static inline uint32_t add_frame(struct spool_image *m, uint32_t caller,
				 struct stack_frame f, unsigned flags)
{
	struct stack *s = image_stacks_room(m, sizeof(*s));
	uint32_t depth = caller ? ((struct stack *)(m->base + 8ul * caller))->depth : 0;

	*s = (struct stack){ .caller = caller,
			     .depth = (uint16_t)(depth + 1),
			     .flags = (uint16_t)flags,
			     .frame = stacks_pack(f) };
	return (uint32_t)(((uint8_t *)s - m->base) / 8);
}

static inline struct stack_frame frame_at(const struct spool_image *m, uint32_t stack)
{
	uint64_t word = ((struct stack *)(m->base + 8ul * stack))->frame;

	return (struct stack_frame){ (uint32_t)(word >> 32), (uint32_t)word };
}

/* "inner outer": native functions, or Python's, of which "*" marks the first that its
 * loop executes; `flags`: of the outermost. */
static inline uint32_t stack_of(struct spool_image *m, const char *names, bool python,
				unsigned flags)
{
	uint32_t module = python ? 0 : image_module(m, "/x.so");
	char text[1024], *at;
	uint32_t id = 0;

	strcpy(text, names);
	while ((at = strrchr(text, ' ') ? strrchr(text, ' ') + 1 : text), *at) {
		struct stack_frame f = { module, 16 * (functions + 1) };
		unsigned mark = at[strlen(at) - 1] == '*' ? STACK_ENTRY : 0;

		if (mark)
			at[strlen(at) - 1] = '\0';
		if (python)
			f = frame_at(m, image_python_stack(m, at));
		else
			function[functions++] = strdup(at);
		id = add_frame(m, id, f, mark | flags);
		flags = 0;
		at[at > text ? -1 : 0] = '\0';
	}
	return id;
}

#endif
