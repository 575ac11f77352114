/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_image - native stacks together with Python's in a spool that a test makes.
 *
 * Threads  one.
 * Memory   the image's.
 * Errors   a failed Check assertion.
 * Units    none.
 */
#ifndef TESTS_PAIR_IMAGE_H
#define TESTS_PAIR_IMAGE_H

#include "agent/core/codes.h"
#include "agent/core/stack_pair.h"
#include "tests/unit/spool_image.h"

/* A stack of one frame, in line 3 of the function; its id. */
static inline uint32_t image_python_stack(struct spool_image *m, const char *function)
{
	struct code *code = image_stacks_room(m, sizeof(*code) + 64);
	struct stack *s = image_stacks_room(m, sizeof(*s));

	*code = (struct code){ .magic = CODES_MAGIC,
			       .first_line = 3,
			       .file_len = 4,
			       .name_len = (uint16_t)strlen(function),
			       .lines = CODE_LNOTAB };
	memcpy(code->text, "x.py", 5);
	strcpy(code->text + 5, function);
	s->depth = 1;
	s->frame = stacks_pack(
		(struct stack_frame){ (uint32_t)(((uint8_t *)code - m->base) / 8), 0 });
	return (uint32_t)(((uint8_t *)s - m->base) / 8);
}

static inline uint32_t image_pair(struct spool_image *m, uint32_t native, uint32_t python)
{
	struct stack *s = image_stacks_room(m, sizeof(*s));

	*s = (struct stack){ .caller = native,
			     .depth = 2,
			     .flags = STACK_PAIR,
			     .frame = stacks_pack(
				     (struct stack_frame){ .offset = python }) };
	return (uint32_t)(((uint8_t *)s - m->base) / 8);
}

#endif
