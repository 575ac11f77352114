/* SPDX-License-Identifier: Apache-2.0 */
/* Which launches of a file have a Python stack, beside the native one or alone. */
#include "agent/core/record_cuda.h"
#include "tests/unit/cuda_image.h"
#include "tests/unit/pair_image.h"

static const struct {
	bool native, python;
	const char *stack, *beside; /* "Call stack", "Native call stack"; NULL = none */
} rows[] = {
	{ true, true, "\"x.py(3): launch\"", "\"?? (lib+0x1)\"" },
	{ false, true, "\"x.py(3): launch\"", NULL },
	{ true, false, "\"?? (lib+0x1)\"", NULL },
	{ false, false, NULL, NULL },
};

static void ck_text(const char *text, const char *want)
{
	if (want)
		ck_assert_str_eq(text, want);
	else
		ck_assert_ptr_null(text);
}

START_TEST(a_launch_has_its_line)
{
	struct spool_image *m = cuda_image(1000, 100000, 10);
	uint32_t native = image_call_stack(m, image_module(m, "lib"), 1, 1);
	uint32_t python = image_python_stack(m, "launch");
	struct rec_stack *s = image_record(m, REC_STACK, sizeof(*s),
					   image_name(m, "launch", 6, ""), 1900, 0);

	m->config.python_stack = PYTHON_OPS;
	s->stack = rows[_i].native ? native : 0;
	if (rows[_i].python)
		s->stack = image_pair(m, s->stack, python);
	cuda_call(m, "launch", 1, 2000, 2100);
	image_write(m);
	ck_assert_ptr_nonnull(image_event(m, "launch", 0));
	ck_text(cuda_arg(m, "launch", 0, "Call stack"), rows[_i].stack);
	ck_text(cuda_arg(m, "launch", 0, "Native call stack"), rows[_i].beside);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("python cuda");

	tcase_add_loop_test(tc, a_launch_has_its_line, 0, sizeof(rows) / sizeof(*rows));
	return unit_run(tc, "python cuda");
}
