/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/record_inputs.h"
#include "agent/torch/inputs.h"
#include "tests/unit/torch_image.h"
#include "tests/unit/unit.h"

static uint64_t rf[48];
static uint64_t room[512];

static const struct layout *l;

/* Encodes `n` values in layout `_i`; returns the bytes written. */
static size_t encode(const struct abi_value *v, size_t n)
{
	uint8_t *end;

	put_pointer(rf, l->inputs_at, v);
	put_word(rf, l->inputs_at + 8u, n);
	memset(room, 0xee, sizeof(room));
	end = inputs_put((uint8_t *)room, (uint8_t *)room + sizeof(room), rf);
	ck_assert_ptr_nonnull(end);
	ck_assert_uint_eq((uintptr_t)end % 8, 0);
	return (size_t)(end - (uint8_t *)room);
}

static void expect(const struct abi_value *v, size_t n, const void *want, size_t size)
{
	size_t got = encode(v, n), padded = (size / 8 + 1) * 8;

	ck_assert_uint_eq(got, padded);
	ck_assert_mem_eq(room, want, size);
	for (size_t i = size; i < padded; i++)
		ck_assert_uint_eq(((uint8_t *)room)[i], IN_END);
}
#define EXPECT(v, n, ...)                                      \
	do {                                                   \
		static const uint8_t want[] = { __VA_ARGS__ }; \
		expect(v, n, want, sizeof(want));              \
	} while (0)

static struct abi_value tensor(const void *impl)
{
	return (struct abi_value){ .u.p = impl, .tag = 1 };
}

static void setup(int row)
{
	l = &layouts[row];
	image_known(l);
}

START_TEST(a_tensor_shows_type_sizes_and_strides)
{
	setup(_i);
	struct abi_value v =
		tensor(image_tensor(l, 2, (int64_t[]){ 3, 5 }, (int64_t[]){ 5, 1 }, 6));

	EXPECT(&v, 1, IN_TENSOR, 6, 2, 3, 5, 5, 1);
}
END_TEST

START_TEST(a_scalar_tensor_has_no_sizes)
{
	setup(_i);
	struct abi_value v = tensor(image_tensor(l, 0, NULL, NULL, 7));

	EXPECT(&v, 1, IN_TENSOR, 7, 0);
}
END_TEST

START_TEST(more_than_five_dimensions_lie_elsewhere)
{
	setup(_i);
	struct abi_value v = tensor(image_tensor(l, 6, (int64_t[]){ 1, 2, 1, 3, 1, 2 },
						 (int64_t[]){ 12, 6, 6, 2, 2, 1 }, 4));

	EXPECT(&v, 1, IN_TENSOR, 4, 6, 1, 2, 1, 3, 1, 2, 12, 6, 6, 2, 2, 1);
}
END_TEST

START_TEST(big_and_negative_numbers_get_the_width_they_need)
{
	setup(_i);
	struct abi_value v =
		tensor(image_tensor(l, 4, (int64_t[]){ 247, 248, 65536, 1ll << 32 },
				    (int64_t[]){ -1, 0, 1, 256 }, 11));

	EXPECT(&v, 1, IN_TENSOR, 11, 4, 247, 0xf8, 248, 0xfa, 0, 0, 1, 0, 0xfb, 0, 0, 0,
	       0, 1, 0, 0, 0, 0xfb, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 1,
	       0xf9, 0, 1);
}
END_TEST

START_TEST(scalars_keep_their_kind)
{
	setup(_i);
	struct abi_value v[] = {
		{ .u.i = 7, .tag = 5 },
		{ .u.d = 1.5, .tag = 3 },
		{ .u.i = 1, .tag = l->bool_tag },
		{ .u.i = 0, .tag = l->bool_tag },
		{ .u.i = 1, .tag = l->bool_tag - 1u }, /* a symbolic one */
	};

	EXPECT(v, 5, IN_INT, 7, IN_DOUBLE, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, IN_TRUE,
	       IN_FALSE, IN_SYM, 0);
}
END_TEST

START_TEST(a_complex_number_lies_behind_its_counts)
{
	static _Alignas(16) uint64_t holder[8];
	double parts[2] = { 2.0, -3.0 };
	struct abi_value v = { .u.p = (uint8_t *)holder, .tag = 4 };

	setup(_i);
	memcpy((uint8_t *)holder + (l->list_at == 16 ? 16 : 32), parts, sizeof(parts));
	EXPECT(&v, 1, IN_COMPLEX, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 8, 0xc0);
}
END_TEST

START_TEST(what_torch_leaves_empty_is_empty)
{
	setup(_i);
	struct abi_value v[] = {
		{ .tag = 0 }, /* None */
		{ .tag = l->bool_tag + 1u }, /* a tuple */
		{ .tag = l->bool_tag + 2u }, /* a string */
		{ .tag = l->bool_tag + 5u }, /* a dictionary */
		{ .tag = l->bool_tag + 9u },
		{ .u.i = 1,
		  .tag = l->bool_tag == 10 ? 6 : 0 }, /* unsigned: not a scalar */
	};

	EXPECT(v, 6, IN_OTHER, IN_OTHER, IN_OTHER, IN_OTHER, IN_OTHER, IN_OTHER);
}
END_TEST

START_TEST(a_tensor_without_value_or_readable_shape_is_undefined)
{
	setup(_i);
	uint8_t *symbolic = image_tensor(l, 1, (int64_t[]){ 2 }, (int64_t[]){ 1 }, 6);
	uint8_t *nested = image_tensor(l, 1, (int64_t[]){ 2 }, (int64_t[]){ 1 }, 6);
	uint8_t *jagged = image_tensor(l, 1, (int64_t[]){ 0 }, (int64_t[]){ 0 }, 6);
	struct abi_value v[] = { tensor(undefined_tensor), tensor(symbolic),
				 tensor(nested), tensor(jagged) };

	symbolic[l->sizes_at + 110] |= 0x10;
	put_pointer(nested, 0, nested_class);
	jagged[l->sizes_at + 110] |= 0x08; /* its Python class knows its sizes */
	put_word(jagged, l->sizes_at + 112u, 1u << 26 | 1);
	EXPECT(v, 4, IN_UNDEFINED, IN_UNDEFINED, IN_UNDEFINED, IN_UNDEFINED);
}
END_TEST

/* torch.export's: its Python class knows its sizes, but so does the tensor. */
START_TEST(a_functional_tensor_has_its_sizes)
{
	setup(_i);
	uint8_t *functional = image_tensor(l, 1, (int64_t[]){ 2 }, (int64_t[]){ 1 }, 6);
	struct abi_value v[] = { tensor(functional) };

	functional[l->sizes_at + 110] |= 0x08;
	put_word(functional, l->sizes_at + 112u, 1ull << 55 | 1u << 15 | 1);
	EXPECT(v, 1, IN_TENSOR, 6, 1, 2, 1);
}
END_TEST

START_TEST(only_strided_tensors_have_strides)
{
	setup(_i);
	uint8_t *sparse = image_tensor(l, 2, (int64_t[]){ 3, 4 }, (int64_t[]){ 4, 1 }, 6);
	uint8_t *opaque = image_tensor(l, 1, (int64_t[]){ 3 }, (int64_t[]){ 1 }, 6);
	uint8_t *backend = image_tensor(l, 1, (int64_t[]){ 3 }, (int64_t[]){ 1 }, 6);
	struct abi_value v[] = { tensor(sparse), tensor(opaque), tensor(backend) };

	put_pointer(sparse, 0, sparse_class);
	put_word(opaque, 0, 0x5000); /* a class of libtorch_cpu's that has no name */
	put_pointer(backend, 0, foreign_class);
	abi.cpu_begin = 0x4000;
	abi.cpu_end = 0x6000;
	EXPECT(v, 3, IN_SPARSE, 6, 2, 3, 4, IN_SPARSE, 6, 1, 3, IN_TENSOR, 6, 1, 3, 1);
}
END_TEST

START_TEST(lists_are_told_apart_by_their_element_type)
{
	setup(_i);
	struct abi_value t[] = { tensor(image_tensor(l, 1, (int64_t[]){ 2 },
						     (int64_t[]){ 1 }, 6)),
				 tensor(undefined_tensor) };
	struct abi_value n[] = { { .u.i = 1, .tag = 5 }, { .u.i = 2, .tag = 5 } };
	uint32_t list = l->bool_tag + 4u;
	struct abi_value v[] = {
		{ .u.p = image_list(l, t, 2, tensor_type), .tag = list },
		{ .u.p = image_list(l, t, 1, other_type), .tag = list }, /* Tensor?[] */
		{ .u.p = image_list(l, n, 2, other_type), .tag = list },
		{ .u.p = image_list(l, NULL, 0, tensor_type), .tag = list },
		{ .u.p = image_list(l, NULL, 0, other_type), .tag = list },
	};

	EXPECT(v, 5, IN_TENSORS, IN_TENSOR, 6, 1, 2, 1, IN_UNDEFINED, IN_END, IN_OTHER,
	       IN_SCALARS, IN_INT, 1, IN_INT, 2, IN_END, IN_TENSORS, IN_END, IN_SCALARS,
	       IN_END);
}
END_TEST

START_TEST(long_lists_are_left_out_as_torch_does)
{
	setup(_i);
	struct abi_value one = tensor(image_tensor(l, 0, NULL, NULL, 6)), t[31], n[31];
	uint32_t list = l->bool_tag + 4u;
	uint8_t want[2 + 60 + 3 + 3];
	size_t at = 0;

	for (int i = 0; i < 31; i++) {
		t[i] = one;
		n[i] = (struct abi_value){ .u.i = i, .tag = 5 };
	}
	struct abi_value v[] = {
		{ .u.p = image_list(l, n, 30, other_type), .tag = list },
		{ .u.p = image_list(l, n, 31, other_type), .tag = list },
		{ .u.p = image_list(l, t, 31, tensor_type), .tag = list },
	};

	want[at++] = IN_SCALARS;
	for (uint8_t i = 0; i < 30; i++) {
		want[at++] = IN_INT;
		want[at++] = i;
	}
	want[at++] = IN_END;
	want[at++] = IN_OTHER;
	want[at++] = IN_TENSORS;
	want[at++] = IN_END;
	expect(v, 3, want, at);
}
END_TEST

/* Every room that is too small says so, and nothing is written behind it. */
START_TEST(too_little_room_is_refused_without_a_trace)
{
	setup(_i);
	struct abi_value t[] = { tensor(image_tensor(l, 3, (int64_t[]){ 300, 4, 70000 },
						     (int64_t[]){ 280000, 70000, 1 },
						     6)) };
	struct abi_value v[] = {
		t[0],
		{ .u.d = 0.5, .tag = 3 },
		{ .u.p = image_list(l, t, 1, tensor_type), .tag = l->bool_tag + 4u },
	};
	size_t full = encode(v, 3), refused = 0;

	for (size_t size = 0; size < full; size += 8) {
		memset(room, 0xee, sizeof(room));
		refused += !inputs_put((uint8_t *)room, (uint8_t *)room + size, rf);
		for (size_t i = size; i < sizeof(room); i++)
			if (((uint8_t *)room)[i] != 0xee)
				ck_abort_msg("byte %zu behind a room of %zu", i, size);
	}
	ck_assert_uint_eq(refused, full / 8);
}
END_TEST

/* A hundred bytes are left: too few for it, and nothing behind them is touched. */
static void nothing_is_touched(const struct abi_value *v)
{
	const size_t left = 104;

	put_pointer(rf, l->inputs_at, v);
	put_word(rf, l->inputs_at + 8u, 1);
	memset(room, 0xee, sizeof(room));
	ck_assert_ptr_null(inputs_put((uint8_t *)room, (uint8_t *)room + left, rf));
	for (size_t i = left; i < sizeof(room); i++)
		ck_assert_msg(((uint8_t *)room)[i] == 0xee, "byte %zu", i);
}

START_TEST(a_thousand_dimensions_do_not_fit_a_hundred_bytes)
{
	static int64_t far[2000];
	uint8_t *t;

	setup(_i);
	t = image_tensor(l, 0, NULL, NULL, 6);
	put_word(t, l->sizes_at, 1000);
	put_pointer(t, l->sizes_at + 8u, far);
	struct abi_value v = tensor(t);

	nothing_is_touched(&v);
}
END_TEST

START_TEST(thirty_scalars_do_not_fit_a_hundred_bytes)
{
	static struct abi_value n[30];

	setup(_i);
	for (int i = 0; i < 30; i++)
		n[i] = (struct abi_value){ .u.d = 0.1, .tag = 3 };
	struct abi_value v = { .u.p = image_list(l, n, 30, other_type),
			       .tag = l->bool_tag + 4u };

	nothing_is_touched(&v);
}
END_TEST

/* What torch does not have is memory that is somebody else's by now. */
START_TEST(no_tensor_has_so_many_dimensions)
{
	uint8_t *t;

	setup(_i);
	t = image_tensor(l, 0, NULL, NULL, 6);
	put_word(t, l->sizes_at, 1ull << 63);
	put_pointer(t, l->sizes_at + 8u, t);
	struct abi_value v = tensor(t);

	EXPECT(&v, 1, IN_UNDEFINED);
	put_word(t, l->sizes_at, 1025);
	EXPECT(&v, 1, IN_UNDEFINED);
}
END_TEST

START_TEST(nothing_is_read_before_calibration)
{
	setup(_i);
	abi.values = ABI_OFF;
	ck_assert_uint_eq(encode((void *)16, 99), 8);
	ck_assert_uint_eq(room[0], 0);
	abi.values = ABI_UNKNOWN;
	ck_assert_uint_eq(encode((void *)16, 99), 8);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("every layout");

	tcase_add_loop_test(tc, a_tensor_shows_type_sizes_and_strides, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_scalar_tensor_has_no_sizes, 0, LAYOUTS);
	tcase_add_loop_test(tc, more_than_five_dimensions_lie_elsewhere, 0, LAYOUTS);
	tcase_add_loop_test(tc, big_and_negative_numbers_get_the_width_they_need, 0,
			    LAYOUTS);
	tcase_add_loop_test(tc, scalars_keep_their_kind, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_complex_number_lies_behind_its_counts, 0, LAYOUTS);
	tcase_add_loop_test(tc, what_torch_leaves_empty_is_empty, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_tensor_without_value_or_readable_shape_is_undefined, 0,
			    LAYOUTS);
	tcase_add_loop_test(tc, a_functional_tensor_has_its_sizes, 0, LAYOUTS);
	tcase_add_loop_test(tc, only_strided_tensors_have_strides, 0, LAYOUTS);
	tcase_add_loop_test(tc, lists_are_told_apart_by_their_element_type, 0, LAYOUTS);
	tcase_add_loop_test(tc, long_lists_are_left_out_as_torch_does, 0, LAYOUTS);
	tcase_add_loop_test(tc, too_little_room_is_refused_without_a_trace, 0, LAYOUTS);
	tcase_add_loop_test(tc, a_thousand_dimensions_do_not_fit_a_hundred_bytes, 0,
			    LAYOUTS);
	tcase_add_loop_test(tc, thirty_scalars_do_not_fit_a_hundred_bytes, 0, LAYOUTS);
	tcase_add_loop_test(tc, no_tensor_has_so_many_dimensions, 0, LAYOUTS);
	tcase_add_loop_test(tc, nothing_is_read_before_calibration, 0, LAYOUTS);
	return unit_run(tc, "inputs");
}
