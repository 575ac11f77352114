/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of modules in a file: their names, numbers, what they are in, and paths. */
#include "agent/core/record_module.h"
#include "tests/unit/pair_image.h"

/* Equal texts have equal ids. */
static uint32_t name_of(struct spool_image *m, const char *text)
{
	static struct {
		const struct spool_image *m;
		char text[16];
		uint32_t id;
	} known[16];
	size_t i = 0;

	if (!*text)
		return 0;
	while (known[i].m && (known[i].m != m || strcmp(known[i].text, text) != 0))
		ck_assert_uint_lt(++i, 16);
	if (!known[i].m) {
		known[i].m = m;
		known[i].id = image_name(m, text, strlen(text), "");
		strcpy(known[i].text, text);
	}
	return known[i].id;
}

static struct rec_module *call_of(struct spool_image *m, const char *class,
				  const char *path, uint64_t self, uint64_t begin,
				  uint64_t end)
{
	struct rec_module *r =
		image_record(m, REC_MODULE, sizeof(*r), name_of(m, class), begin, end);

	r->self = self;
	r->path = name_of(m, path);
	return r;
}

static struct spool_image *image_of_modules(void)
{
	struct spool_image *m = image_new(1000, 100000);

	m->config.modules = 1;
	image_thread(m, 7, 1, "main");
	return m;
}

static int64_t ns_of(const struct spool_image *m, const char *name)
{
	struct slice s = image_find(m, name, 0);

	return (int64_t)(s.end - s.begin);
}

/* Has the nth event of that name such text? */
static bool has(const struct spool_image *m, const char *name, unsigned n,
		const char *want)
{
	const char *line = image_event(m, name, n), *at;

	ck_assert_ptr_nonnull(line);
	at = strstr(line, want);
	return at && at < strchr(line, '\n');
}

START_TEST(each_has_a_name_a_number_and_what_it_is_in)
{
	struct spool_image *m = image_of_modules();

	call_of(m, "Net", "Net", 10, 2000, 9000);
	call_of(m, "Linear", "layers.0", 20, 3000, 4000);
	image_op(m, "aten::linear", 3100, 3900);
	call_of(m, "Linear", "layers.1", 30, 4000, 5000);
	call_of(m, "Linear", "layers.0", 20, 6000, 7000);
	image_op(m, "aten::add", 7100, 7200);
	image_op(m, "aten::mul", 9100, 9200);
	call_of(m, "Net", "Net", 10, 9300, 0);
	image_write(m);
	ck_assert(
		has(m, "nn.Module: Net_0", 0,
		    "\"args\":{\"Python id\":1,\"Python parent id\":null,\"Python module "
		    "id\":0,\"Module path\":\"Net\",\"Ev Idx\":0}}"));
	ck_assert(has(m, "nn.Module: Net_0", 0, "\"cat\":\"python_function\""));
	ck_assert(has(m, "nn.Module: Linear_0", 0,
		      "{\"Python id\":2,\"Python parent id\":1,\"Python module id\":0,"
		      "\"Module path\":\"layers.0\""));
	ck_assert(has(m, "nn.Module: Linear_1", 0,
		      "{\"Python id\":3,\"Python parent id\":1,\"Python module id\":1,"));
	ck_assert(has(m, "nn.Module: Linear_0", 1,
		      "{\"Python id\":4,\"Python parent id\":1,\"Python module id\":0,"));
	ck_assert(has(m, "nn.Module: Net_0", 1,
		      "{\"Python id\":5,\"Python parent id\":null,"));
	ck_assert(has(m, "nn.Module: Net_0", 1, "\"finished\":\"false\""));
	ck_assert(!has(m, "nn.Module: Net_0", 0, "External id"));
	ck_assert(has(m, "aten::linear", 0, "\"Module path\":\"layers.0\","));
	ck_assert(has(m, "aten::add", 0, "\"Module path\":\"Net\","));
	ck_assert(!has(m, "aten::mul", 0, "Module path"));
	ck_assert_ptr_nonnull(strstr(m->text, "\"with_modules\": 1,"));
	ck_assert_ptr_nonnull(strstr(
		m->text,
		"\"modules\": {\"calls\": 5, \"objects\": 3, \"calls without a path\": 0"));
	image_free(m);
}
END_TEST

/* Threads are written one after the other; numbers go by time. */
START_TEST(numbers_go_by_the_first_call_in_any_thread)
{
	struct spool_image *m = image_of_modules();

	call_of(m, "Linear", "", 10, 5000, 6000);
	call_of(m, "Linear", "", 20, 8000, 9000);
	image_thread(m, 8, 2, "other");
	call_of(m, "Linear", "", 20, 2000, 3000);
	call_of(m, "ReLU", "", 20, 7000, 7500);
	image_write(m);
	ck_assert(has(m, "nn.Module: Linear_1", 0, "\"tid\":7,"));
	ck_assert(has(m, "nn.Module: Linear_0", 0, "\"tid\":7,"));
	ck_assert(has(m, "nn.Module: Linear_0", 1, "\"tid\":8,"));
	ck_assert(has(m, "nn.Module: ReLU_0", 0, "\"tid\":8,"));
	ck_assert(!has(m, "nn.Module: ReLU_0", 0, "Module path"));
	image_free(m);
}
END_TEST

/* The agent's index of names is crowded. */
START_TEST(a_class_may_have_several_ids)
{
	struct spool_image *m = image_of_modules();

	call_of(m, "Linear", "", 10, 2000, 3000);
	m->last = NULL;
	call_of(m, "Linear", "", 20, 4000, 5000)->r.name = image_name(m, "Linear", 6, "");
	m->last = NULL;
	call_of(m, "Linear", "", 10, 6000, 7000)->r.name = image_name(m, "Linear", 6, "");
	image_write(m);
	ck_assert_ptr_nonnull(image_event(m, "nn.Module: Linear_1", 0));
	ck_assert_ptr_null(image_event(m, "nn.Module: Linear_1", 1));
	ck_assert_ptr_nonnull(image_event(m, "nn.Module: Linear_0", 1));
	ck_assert_ptr_nonnull(strstr(m->text, "\"objects\": 2,"));
	image_free(m);
}
END_TEST

/* A thread that ends in a module has none around the next one's. */
START_TEST(what_is_open_is_the_threads)
{
	struct spool_image *m = image_of_modules();

	call_of(m, "Net", "Net", 10, 2000, 0);
	image_thread(m, 8, 2, "other");
	image_op(m, "aten::add", 3000, 4000);
	call_of(m, "Tanh", "Tanh", 20, 5000, 6000);
	image_write(m);
	ck_assert(!has(m, "aten::add", 0, "Module path"));
	ck_assert(has(m, "nn.Module: Tanh_0", 0, "\"Python parent id\":null"));
	image_free(m);
}
END_TEST

START_TEST(many_have_numbers_of_their_own)
{
	struct spool_image *m = image_of_modules();
	char name[64];

	for (unsigned i = 0; i < 1200; i++)
		call_of(m, i % 2 ? "A" : "B", "", 8 * (i + 1), 2000 + i, 2001 + i);
	image_write(m);
	for (unsigned i = 0; i < 600; i += 37) {
		snprintf(name, sizeof(name), "nn.Module: A_%u", i);
		ck_assert(has(m, name, 0, "\"Python module id\""));
		ck_assert_ptr_null(image_event(m, name, 1));
	}
	image_free(m);
}
END_TEST

START_TEST(odd_records_are_written_as_far_as_they_go)
{
	struct spool_image *m = image_of_modules();

	call_of(m, "", "", 10, 2000, 3000);
	call_of(m, "a\"b", "c\"d", 20, 4000, 5000);
	call_of(m, "Net", "", 30, 6000, 7000)->path = 0x7fffffff;
	call_of(m, "Net", "", 30, 8000, 7000)->r.name = 0x7fffffff;
	image_write(m);
	ck_assert(has(m, "nn.Module: unknown_0", 0, "\"Python id\":1,"));
	ck_assert_ptr_nonnull(strstr(m->text, "\"nn.Module: a\\\"b_0\""));
	ck_assert_ptr_nonnull(strstr(m->text, "\"Module path\":\"c\\\"d\""));
	ck_assert(!has(m, "nn.Module: Net_0", 0, "Module path"));
	image_free(m);
}
END_TEST

/* The window's begin is 1000 ticks. An outer one is around them for as long as the inner
 * ones; what is behind it is not in it. */
START_TEST(a_call_that_was_seen_to_be_over_ends_with_the_last_thing_in_it)
{
	struct spool_image *m = image_of_modules();
	struct rec_module *net = call_of(m, "Net", "Net", 10, 1000, 9000);
	struct rec_module *inner = call_of(m, "Block", "0", 20, 1000, 5000);
	struct rec_module *empty = call_of(m, "Tanh", "0.0", 30, 1000, 1500);

	net->r.flags = inner->r.flags = empty->r.flags = MODULE_ENTERED | MODULE_GONE;
	image_op(m, "aten::add", 2000, 3000);
	image_op(m, "aten::mul", 5000, 6000);
	image_op(m, "aten::sub", 9000, 9500);
	image_thread(m, 8, 2, "other");
	image_op(m, "aten::div", 6500, 8000);
	image_write(m);
	ck_assert_int_eq(ns_of(m, "nn.Module: Tanh_0"), 0);
	ck_assert_int_eq(ns_of(m, "nn.Module: Block_0"), 2000);
	ck_assert_int_eq(ns_of(m, "nn.Module: Net_0"), 5000);
	ck_assert(has(m, "nn.Module: Net_0", 0, "\"Called\":\"before the window\""));
	ck_assert(has(m, "aten::add", 0, "\"Module path\":\"0\""));
	ck_assert(has(m, "aten::mul", 0, "\"Module path\":\"Net\""));
	ck_assert(!has(m, "aten::sub", 0, "Module path"));
	ck_assert(!has(m, "aten::div", 0, "Module path"));
	ck_assert_ptr_nonnull(strstr(m->text, "\"called before the window\": 3,"));
	image_free(m);
}
END_TEST

START_TEST(a_call_without_a_path_has_that_of_another_call)
{
	struct spool_image *m = image_of_modules();

	call_of(m, "Linear", "", 10, 1000, 2000);
	call_of(m, "Linear", "head", 10, 3000, 4000);
	call_of(m, "ReLU", "", 10, 5000, 6000);
	image_write(m);
	ck_assert(has(m, "nn.Module: Linear_0", 0, "\"Module path\":\"head\""));
	ck_assert(!has(m, "nn.Module: ReLU_0", 0, "Module path"));
	ck_assert_ptr_nonnull(strstr(m->text, "\"calls without a path\": 1,"));
	image_free(m);
}
END_TEST

static struct rec_op *op_of(struct spool_image *m, const char *name, int64_t seq,
			    uint32_t forward, uint64_t begin, uint64_t end)
{
	struct rec_op *op = image_op(m, name, begin, end);

	op->seq = seq;
	op->fwd_thread = forward;
	return op;
}

/* The backward pass is another thread's, and its row comes first. */
START_TEST(a_backward_operator_has_the_path_of_its_forward_operator)
{
	static const char of[] = "\"Module path of\":\"forward operator\"";
	struct spool_image *m = image_new(1000, 100000);

	m->config.modules = 1;
	image_thread(m, 6, 2, "backward");
	op_of(m, "MmBackward0", 5, 1, 6000, 7000);
	op_of(m, "aten::mm", -1, 0, 6100, 6200);
	op_of(m, "AddBackward0", 6, 1, 7000, 7500);
	op_of(m, "aten::neg", -1, 0, 7600, 7700);
	call_of(m, "ReLU", "again", 30, 8000, 9000);
	op_of(m, "SumBackward0", 5, 1, 8100, 8200);
	image_thread(m, 7, 1, "main");
	call_of(m, "Net", "Net", 10, 2000, 5000);
	call_of(m, "Linear", "head", 20, 3000, 4000);
	op_of(m, "aten::linear", 5, 0, 3100, 3900);
	op_of(m, "aten::outside", 6, 0, 5500, 5600);
	image_write(m);
	ck_assert(has(m, "MmBackward0", 0, "\"Module path\":\"head\""));
	ck_assert(has(m, "MmBackward0", 0, of));
	ck_assert(has(m, "aten::mm", 0, "\"Module path\":\"head\""));
	ck_assert(has(m, "aten::mm", 0, of));
	ck_assert(!has(m, "AddBackward0", 0, "Module path"));
	ck_assert(!has(m, "aten::neg", 0, "Module path"));
	ck_assert(has(m, "SumBackward0", 0, "\"Module path\":\"again\""));
	ck_assert(!has(m, "SumBackward0", 0, of));
	ck_assert(has(m, "nn.Module: ReLU_0", 0, "\"Python parent id\":null"));
	ck_assert(!has(m, "aten::linear", 0, of));
	image_free(m);
}
END_TEST

START_TEST(without_a_call_there_is_none)
{
	struct spool_image *m = image_of_modules();

	image_op(m, "aten::add", 3000, 4000);
	image_write(m);
	ck_assert(!has(m, "aten::add", 0, "Module path"));
	ck_assert_ptr_nonnull(strstr(m->text, "\"modules\": {\"calls\": 0"));
	m->config.modules = 0;
	image_write(m);
	ck_assert_ptr_null(strstr(m->text, "modules\":"));
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("modules");

	tcase_add_test(tc, each_has_a_name_a_number_and_what_it_is_in);
	tcase_add_test(tc, numbers_go_by_the_first_call_in_any_thread);
	tcase_add_test(tc, a_class_may_have_several_ids);
	tcase_add_test(tc, what_is_open_is_the_threads);
	tcase_add_test(tc, many_have_numbers_of_their_own);
	tcase_add_test(tc, odd_records_are_written_as_far_as_they_go);
	tcase_add_test(tc,
		       a_call_that_was_seen_to_be_over_ends_with_the_last_thing_in_it);
	tcase_add_test(tc, a_call_without_a_path_has_that_of_another_call);
	tcase_add_test(tc, a_backward_operator_has_the_path_of_its_forward_operator);
	tcase_add_test(tc, without_a_call_there_is_none);
	return unit_run(tc, "modules");
}
