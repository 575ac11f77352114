/* SPDX-License-Identifier: Apache-2.0 */
/* Which operators of a file have a Python stack, and whose it is. */
#include "agent/core/record_inputs.h"
#include "agent/core/record_stack.h"
#include "tests/unit/pair_image.h"

static struct rec_op *op_with(struct spool_image *m, const char *name, uint64_t begin,
			      uint64_t end, uint32_t stack, uint8_t flags)
{
	struct rec_op *op =
		image_record(m, REC_OP, sizeof(*op) + sizeof(struct op_stack),
			     image_name(m, name, strlen(name), ""), begin, end);

	op->seq = -1;
	op->r.flags = OP_STACK | flags;
	*(struct op_stack *)(op + 1) = (struct op_stack){ .python = stack };
	return op;
}

static struct spool_image *image_of_python(void)
{
	struct spool_image *m = image_new(1000, 100000);

	m->config.python_stack = PYTHON_OPS;
	return m;
}

/* Has the first event of that name such text? */
static bool has(const struct spool_image *m, const char *name, const char *want)
{
	const char *line = image_event(m, name, 0), *at;

	ck_assert_ptr_nonnull(line);
	at = strstr(line, want);
	return at && at < strchr(line, '\n');
}

START_TEST(what_python_calls_has_its_stack)
{
	struct spool_image *m = image_of_python();
	uint32_t stack = image_python_stack(m, "step");

	image_thread(m, 7, 1, "main");
	op_with(m, "aten::linear", 2000, 9000, stack, 0);
	op_with(m, "aten::addmm", 3000, 8000, stack, OP_SHARES);
	image_op(m, "aten::none", 9100, 9200);
	image_write(m);
	ck_assert(has(m, "aten::linear", "\"Call stack\":\"x.py(3): step\","));
	ck_assert(!has(m, "aten::addmm", "Call stack"));
	ck_assert(!has(m, "aten::none", "Call stack"));
	ck_assert_ptr_nonnull(strstr(m->text, "\"with_stack\": 1,"));
	ck_assert_ptr_nonnull(strstr(m->text, "\"python stacks\": {\"checked\": 0"));
	image_free(m);
}
END_TEST

START_TEST(inputs_lie_behind_the_stack)
{
	struct spool_image *m = image_of_python();
	uint32_t stack = image_python_stack(m, "step");
	struct rec_op *op;

	m->config.record_shapes = 1;
	image_thread(m, 7, 1, "main");
	op = image_record(m, REC_OP, sizeof(*op) + sizeof(struct op_stack) + 8,
			  image_name(m, "aten::add", 9, ""), 2000, 3000);
	op->seq = -1;
	op->r.flags = OP_STACK | OP_INPUTS;
	*(struct op_stack *)(op + 1) = (struct op_stack){ .python = stack };
	memcpy((struct op_stack *)(op + 1) + 1,
	       (uint8_t[]){ IN_TENSOR, 6, 1, 42, 1, IN_END }, 6);
	image_write(m);
	ck_assert(has(m, "aten::add", "\"Input Dims\":[[42]]"));
	ck_assert(has(m, "aten::add", "\"Call stack\":\"x.py(3): step\","));
	image_free(m);
}
END_TEST

/* A thread of autograd's has no Python. */
START_TEST(a_backward_operator_has_its_forward_ones_stack)
{
	struct spool_image *m = image_of_python();
	uint32_t stack = image_python_stack(m, "forward"),
		 other = image_python_stack(m, "backward");
	struct rec_op *op;

	image_thread(m, 7, 1, "main");
	op_with(m, "aten::linear", 2000, 9000, stack, 0);
	op_with(m, "aten::addmm", 3000, 8000, stack, OP_SHARES)->seq = 5;
	op_with(m, "aten::relu", 9100, 9200, other, 0)->seq = 6;
	image_thread(m, 8, 2, "autograd");
	image_op(m, "autograd::engine::evaluate_function: AddmmBackward0", 20000, 30000);
	op = image_op(m, "AddmmBackward0", 21000, 29000);
	op->seq = 5;
	op->fwd_thread = 1;
	image_op(m, "aten::mm", 22000, 28000);
	op = op_with(m, "ReluBackward0", 40000, 50000, other, 0);
	op->seq = 6;
	op->fwd_thread = 1;
	op = image_op(m, "LostBackward0", 51000, 52000);
	op->seq = 99;
	op->fwd_thread = 1;
	image_write(m);
	ck_assert(has(m, "autograd::engine::evaluate_function: AddmmBackward0",
		      "\"Call stack\":\"x.py(3): forward\",\"Call stack of\":\"forward "
		      "operator\","));
	ck_assert(!has(m, "AddmmBackward0", "Call stack"));
	ck_assert(!has(m, "aten::mm", "Call stack"));
	ck_assert(has(m, "ReluBackward0", "\"Call stack\":\"x.py(3): backward\","));
	ck_assert(!has(m, "ReluBackward0", "Call stack of"));
	ck_assert(!has(m, "LostBackward0", "Call stack"));
	image_free(m);
}
END_TEST

START_TEST(without_the_option_there_is_none)
{
	struct spool_image *m = image_new(1000, 100000);
	uint32_t stack = image_python_stack(m, "step");

	image_thread(m, 7, 1, "main");
	op_with(m, "aten::add", 2000, 3000, stack, 0);
	image_write(m);
	ck_assert(!has(m, "aten::add", "Call stack"));
	ck_assert_ptr_null(strstr(m->text, "with_stack\":"));
	image_free(m);
}
END_TEST

/* A record too short for what its flags say. */
START_TEST(a_damaged_record_has_no_stack)
{
	struct spool_image *m = image_of_python();
	struct rec_op *op;

	m->config.record_shapes = 1;
	image_thread(m, 7, 1, "main");
	op = image_op(m, "aten::add", 2000, 3000);
	op->r.flags = OP_STACK | OP_INPUTS;
	op = image_op(m, "aten::mul", 4000, 5000);
	op->r.flags = OP_STACK;
	op = op_with(m, "aten::div", 6000, 7000, image_python_stack(m, "step"), 0);
	op->r.units = sizeof(*op) / 8;
	image_write(m);
	ck_assert(!has(m, "aten::div", "Call stack"));
	ck_assert(!has(m, "aten::add", "Call stack"));
	ck_assert(!has(m, "aten::mul", "Call stack"));
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("python ops");

	tcase_add_test(tc, what_python_calls_has_its_stack);
	tcase_add_test(tc, inputs_lie_behind_the_stack);
	tcase_add_test(tc, a_backward_operator_has_its_forward_ones_stack);
	tcase_add_test(tc, without_the_option_there_is_none);
	tcase_add_test(tc, a_damaged_record_has_no_stack);
	return unit_run(tc, "python ops");
}
