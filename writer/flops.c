/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas by operator: one table. What torch refuses is refused as it does, but that it
 * lets numbers wrap. */
#include "writer/flops.h"
#include "writer/arguments.h"

#include <string.h>

enum way {
	EACH, /* one for each element: at = tensor */
	PRODUCT, /* of matrices: at = left, right */
	BATCHED, /* the same, of as many as the first dimension says */
	PACKED, /* the right one has numbers of 4 bits in larger ones */
	GROUPED, /* either may have a dimension of groups in front */
	TORCH_CONVOLUTION, /* at = input, weight, stride, padding, dilation, groups */
	CONVOLUTION, /* at = input, weight, stride, padding, dilation, transposed or 0 */
	CONVOLUTION_BACK, /* at = gradient, input, weight, transposed, mask */
	ATTENTION, /* at = query; key and value follow */
	ATTENTION_BACK, /* the same; the gradient is argument 0 */
	/* The same with heads behind the sequence; at[1] has the ends of sequences of
	 * different lengths, which a shape does not tell. */
	RAW_ATTENTION,
	RAW_ATTENTION_BACK,
	NOWHERE, /* the shapes do not tell */
};

static const struct flops_row rows[] = {
	{ "aten::mm", PRODUCT, false, { 0, 1 } },
	{ "aten::addmm", PRODUCT, false, { 1, 2 } },
	{ "aten::bmm", BATCHED, false, { 0, 1 } },
	{ "aten::baddbmm", BATCHED, false, { 1, 2 } },
	{ "aten::conv2d", TORCH_CONVOLUTION, false, { 0, 1, 3, 4, 5, 6 } },
	{ "aten::mul", EACH, false, { 0 } },
	{ "aten::add", EACH, false, { 0 } },

	{ "aten::linear", PRODUCT, true, { 0, 1 } },
	{ "aten::mkldnn_linear", PRODUCT, true, { 0, 1 } },
	{ "mkldnn::_linear_pointwise.binary", PRODUCT, true, { 0, 2 } },
	{ "mkldnn::_linear_pointwise", PRODUCT, true, { 0, 1 } },
	{ "mkl::_mkl_linear", PRODUCT, true, { 0, 2 } },
	{ "aten::mv", PRODUCT, true, { 0, 1 } },
	{ "aten::dot", PRODUCT, true, { 0, 1 } },
	{ "aten::vdot", PRODUCT, true, { 0, 1 } },
	{ "aten::addmv", PRODUCT, true, { 1, 2 } },
	{ "aten::addmv_", PRODUCT, true, { 1, 2 } },
	{ "aten::addmm_", PRODUCT, true, { 1, 2 } },
	{ "aten::_addmm_activation", PRODUCT, true, { 1, 2 } },
	{ "aten::addbmm", BATCHED, true, { 1, 2 } },
	{ "aten::addbmm_", BATCHED, true, { 1, 2 } },
	{ "aten::baddbmm_", BATCHED, true, { 1, 2 } },
	{ "aten::_int_mm", PRODUCT, true, { 0, 1 } },
	{ "aten::_scaled_mm", PRODUCT, true, { 0, 1 } },
	{ "aten::_scaled_mm_v2", PRODUCT, true, { 0, 1 } },
	{ "aten::_weight_int8pack_mm", PRODUCT, true, { 0, 1 } },
	{ "aten::_weight_int4pack_mm", PACKED, true, { 0, 1 } },
	{ "aten::_weight_int4pack_mm_for_cpu", PACKED, true, { 0, 1 } },
	{ "aten::_weight_int4pack_mm_with_scales_and_zeros", PACKED, true, { 0, 1 } },
	{ "aten::_grouped_mm", GROUPED, true, { 0, 1 } },
	{ "aten::_scaled_grouped_mm", GROUPED, true, { 0, 1 } },

	{ "aten::convolution", CONVOLUTION, true, { 0, 1, 3, 4, 5, 6 } },
	{ "aten::_convolution", CONVOLUTION, true, { 0, 1, 3, 4, 5, 6 } },
	{ "aten::convolution_overrideable", CONVOLUTION, true, { 0, 1, 3, 4, 5, 6 } },
	{ "aten::mkldnn_convolution", CONVOLUTION, true, { 0, 1, 4, 3, 5, 0 } },
	{ "aten::cudnn_convolution", CONVOLUTION, true, { 0, 1, 3, 2, 4, 0 } },
	{ "aten::cudnn_convolution_relu", CONVOLUTION, true, { 0, 1, 3, 4, 5, 0 } },
	{ "aten::cudnn_convolution_add_relu", CONVOLUTION, true, { 0, 1, 5, 6, 7, 0 } },
	{ "mkldnn::_convolution_pointwise.binary",
	  CONVOLUTION,
	  true,
	  { 0, 2, 5, 4, 6, 0 } },
	{ "mkldnn::_convolution_pointwise", CONVOLUTION, true, { 0, 1, 4, 3, 5, 0 } },
	{ "aten::convolution_backward", CONVOLUTION_BACK, true, { 0, 1, 2, 7, 10 } },
	{ "aten::convolution_backward_overrideable",
	  CONVOLUTION_BACK,
	  true,
	  { 0, 1, 2, 6, 9 } },

	{ "aten::_scaled_dot_product_flash_attention_for_cpu", ATTENTION, true, { 0 } },
	{ "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
	  ATTENTION_BACK,
	  true,
	  { 1 } },
	{ "aten::_scaled_dot_product_flash_attention", ATTENTION, true, { 0 } },
	{ "aten::_scaled_dot_product_flash_attention_backward",
	  ATTENTION_BACK,
	  true,
	  { 1 } },
	{ "aten::_scaled_dot_product_efficient_attention", ATTENTION, true, { 0 } },
	{ "aten::_scaled_dot_product_efficient_attention_backward",
	  ATTENTION_BACK,
	  true,
	  { 1 } },
	{ "aten::_scaled_dot_product_cudnn_attention", ATTENTION, true, { 0 } },
	{ "aten::_scaled_dot_product_cudnn_attention_backward",
	  ATTENTION_BACK,
	  true,
	  { 1 } },
	{ "aten::_scaled_dot_product_fused_attention_overrideable",
	  ATTENTION,
	  true,
	  { 0 } },
	{ "aten::_scaled_dot_product_fused_attention_overrideable_backward",
	  ATTENTION_BACK,
	  true,
	  { 1 } },
	{ "aten::_triton_scaled_dot_attention", ATTENTION, true, { 0 } },
	{ "aten::_flash_attention_forward", RAW_ATTENTION, true, { 0, 3 } },
	{ "aten::_flash_attention_backward", RAW_ATTENTION_BACK, true, { 1, 6 } },
	{ "aten::_efficient_attention_forward", RAW_ATTENTION, true, { 0, 4 } },
	{ "aten::_efficient_attention_backward", RAW_ATTENTION_BACK, true, { 1, 6 } },

	{ "quantized::linear", NOWHERE, true, { 0 } },
	{ "quantized::linear_relu", NOWHERE, true, { 0 } },
	{ "quantized::linear_dynamic", NOWHERE, true, { 0 } },
	{ "quantized::conv1d", NOWHERE, true, { 0 } },
	{ "quantized::conv2d", NOWHERE, true, { 0 } },
	{ "quantized::conv2d_relu", NOWHERE, true, { 0 } },
	{ "quantized::conv3d", NOWHERE, true, { 0 } },
	{ "onednn::qlinear_pointwise", NOWHERE, true, { 0 } },
	{ "aten::_dyn_quant_matmul_4bit", NOWHERE, true, { 0 } },
	{ "aten::_sparse_semi_structured_linear", NOWHERE, true, { 0 } },
	{ "aten::_sparse_semi_structured_mm", NOWHERE, true, { 0 } },
	{ "aten::_cslt_sparse_mm", NOWHERE, true, { 0 } },
	{ "aten::_cudnn_rnn", NOWHERE, true, { 0 } },
	{ "aten::mkldnn_rnn_layer", NOWHERE, true, { 0 } },
	{ "aten::miopen_rnn", NOWHERE, true, { 0 } },
};

const struct flops_row *flops_find(const char *name, size_t len, const char *overload,
				   size_t overload_len)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *row = rows[i].name;

		if (strncmp(row, name, len) || memchr(name, '\0', len))
			continue;
		if (!row[len])
			return &rows[i];
		if (row[len] == '.' && strlen(row + len + 1) == overload_len &&
		    !memcmp(row + len + 1, overload, overload_len))
			return &rows[i];
	}
	return NULL;
}

bool flops_is_product(const struct flops_row *row)
{
	return row->way != EACH;
}

/* ---- numbers ---- */

static int64_t product_of(const int64_t *numbers, size_t n)
{
	int64_t all = 1;

	for (size_t i = 0; i < n; i++)
		if (!arguments_multiply(&all, numbers[i]))
			return FLOPS_UNKNOWN;
	return all;
}

static const struct argument *tensor_at(const struct arguments *all, unsigned i)
{
	const struct argument *a = &all->at[i];

	return a->tag == IN_TENSOR && a->all >= 0 ? a : NULL;
}

/* ---- products ---- */

enum { UINT8 = 0, INT32 = 3, FLOAT4_X2 = 45 }; /* of c10::ScalarType */

/* How many numbers an element of the right matrix holds; 0: that is not known. */
static int64_t numbers_in(const struct flops_row *row, const struct argument *right)
{
	if (row->way == PACKED)
		return right->dtype == UINT8 ? 2 : right->dtype == INT32 ? 8 : 0;
	return right->dtype == FLOAT4_X2 ? 2 : 1;
}

/* Rows of the left one by the elements of the right one. */
static int64_t of_product(const struct flops_row *row, const struct arguments *all)
{
	const struct argument *left = tensor_at(all, row->at[0]);
	const struct argument *right = tensor_at(all, row->at[1]);
	int64_t numbers, batch;

	if (!left || !right || !(numbers = numbers_in(row, right)))
		return FLOPS_UNKNOWN;
	batch = row->way == BATCHED ? left->at[0] : 1;
	if (!left->n || !left->last || !batch)
		return 0;
	return product_of(
		(int64_t[]){ left->all / left->last / batch, right->all, numbers, 2 }, 4);
}

/* Groups share the rows, the columns or what is summed over, unless both matrices have
 * them as a dimension. */
static int64_t of_groups(const struct flops_row *row, const struct arguments *all)
{
	const struct argument *left = tensor_at(all, row->at[0]);
	const struct argument *right = tensor_at(all, row->at[1]);

	if (!left || !right || left->n < 2 || left->n > 3 || right->n < 2 || right->n > 3)
		return FLOPS_UNKNOWN;
	return product_of((int64_t[]){ left->at[left->n - 2], left->last, right->last,
				       left->n + right->n == 6 ? left->at[0] : 1,
				       numbers_in(row, right), 2 },
			  6);
}

/* ---- convolutions ---- */

/* A list of one number is for all dimensions. */
static bool number_for(const struct argument *list, int64_t dims, int64_t i, int64_t *n)
{
	if (list->tag != IN_SCALARS || (list->n != 1 && list->n != dims))
		return false;
	*n = list->at[list->n == 1 ? 0 : i];
	return *n >= 0;
}

/* Places of the kernel along dimension `i`. */
static bool places_along(const struct flops_row *row, const struct arguments *all,
			 int64_t i, int64_t *places)
{
	const struct argument *input = &all->at[row->at[0]],
			      *weight = &all->at[row->at[1]];
	int64_t stride, padding, dilation, room = input->at[i + 2], kernel;

	if (!number_for(&all->at[row->at[2]], input->n - 2, i, &stride) ||
	    !number_for(&all->at[row->at[3]], input->n - 2, i, &padding) ||
	    !number_for(&all->at[row->at[4]], input->n - 2, i, &dilation))
		return false;
	kernel = weight->at[i + 2] - 1;
	if (!stride || kernel < 0 || !arguments_multiply(&kernel, dilation) ||
	    !arguments_multiply(&padding, 2) ||
	    __builtin_add_overflow(room, padding, &room) ||
	    __builtin_sub_overflow(room, kernel, &room) || room < 1)
		return false;
	*places = (room - 1) / stride + 1;
	return true;
}

/* By the places of the kernel, of which each is a product of the weight's size. */
static int64_t of_places(const struct flops_row *row, const struct arguments *all,
			 const struct argument *sized)
{
	const struct argument *input = tensor_at(all, row->at[0]);
	const struct argument *weight = tensor_at(all, row->at[1]);
	int64_t n;

	if (!input || !weight || input->n != weight->n || input->n < 3 ||
	    input->n > ARGUMENT_KEPT)
		return FLOPS_UNKNOWN;
	n = input->at[0];
	for (int64_t i = 0; i + 2 < input->n; i++) {
		int64_t places = sized ? sized->at[i + 2] : 0;

		if ((!sized && !places_along(row, all, i, &places)) ||
		    !arguments_multiply(&n, places))
			return FLOPS_UNKNOWN;
	}
	return product_of((int64_t[]){ n, weight->all, 2 }, 3);
}

static int64_t of_convolution(const struct flops_row *row, const struct arguments *all)
{
	const struct argument *transposed = row->at[5] ? &all->at[row->at[5]] : NULL;

	if (transposed && transposed->tag == IN_TRUE)
		return of_places(row, all, tensor_at(all, row->at[0]));
	if (transposed && transposed->tag != IN_FALSE)
		return FLOPS_UNKNOWN;
	return of_places(row, all, NULL);
}

/* torch takes no list of one number, and the channels of the input by the groups. */
static int64_t of_torch_convolution(const struct flops_row *row,
				    const struct arguments *all)
{
	const struct argument *input = tensor_at(all, row->at[0]);
	const struct argument *weight = tensor_at(all, row->at[1]);
	const struct argument *groups = &all->at[row->at[5]];
	int64_t high, wide, n;

	if (!input || !weight || input->n != 4 || weight->n != 4)
		return FLOPS_UNKNOWN;
	for (unsigned i = 2; i < 5; i++)
		if (all->at[row->at[i]].n != 2)
			return FLOPS_UNKNOWN;
	if (groups->tag != IN_INT || groups->last <= 0 ||
	    !places_along(row, all, 0, &high) || !places_along(row, all, 1, &wide))
		return FLOPS_UNKNOWN;
	n = product_of((int64_t[]){ 2, input->at[0], high, wide, weight->at[2],
				    weight->at[3], input->at[1], weight->at[0] },
		       8);
	return n < 0 ? n : n / groups->last;
}

/* Each gradient but the bias's, if it is asked for, is as much as the convolution. */
static int64_t of_convolution_back(const struct flops_row *row,
				   const struct arguments *all)
{
	const struct flops_row forward = { .at = { row->at[1], row->at[2] } };
	const struct argument *gradient = tensor_at(all, row->at[0]);
	const struct argument *input = tensor_at(all, row->at[1]);
	const struct argument *transposed = &all->at[row->at[3]];
	const struct argument *mask = &all->at[row->at[4]];
	int64_t n;

	if (!gradient || !input || gradient->n != input->n || mask->tag != IN_SCALARS ||
	    mask->n != 3 || (transposed->tag != IN_TRUE && transposed->tag != IN_FALSE))
		return FLOPS_UNKNOWN;
	n = of_places(&forward, all, transposed->tag == IN_TRUE ? input : gradient);
	return n < 0 ? n : product_of((int64_t[]){ n, !!mask->at[0] + !!mask->at[1] }, 2);
}

/* ---- attention ---- */

/* Backward has the forward's first product again, and two for each of both. */
static int64_t of_attention(const struct flops_row *row, const struct arguments *all)
{
	bool back = row->way == ATTENTION_BACK || row->way == RAW_ATTENTION_BACK;
	bool raw = row->way == RAW_ATTENTION || row->way == RAW_ATTENTION_BACK;
	unsigned head = raw ? 2 : 1, place = raw ? 1 : 2;
	const struct argument *query = tensor_at(all, row->at[0]);
	const struct argument *key = tensor_at(all, row->at[0] + 1u);
	const struct argument *value = tensor_at(all, row->at[0] + 2u);
	int64_t sizes, values;

	if (!query || !key || !value || query->n != 4 || key->n != 4 || value->n != 4)
		return FLOPS_UNKNOWN;
	if (raw && all->at[row->at[1]].tag != IN_OTHER &&
	    all->at[row->at[1]].tag != IN_UNDEFINED)
		return FLOPS_UNKNOWN;
	if (key->at[0] != query->at[0] || value->at[0] != query->at[0] ||
	    key->last != query->last || key->at[place] != value->at[place])
		return FLOPS_UNKNOWN;
	sizes = query->last;
	values = value->last;
	if (!arguments_multiply(&sizes, back ? 3 : 1) ||
	    !arguments_multiply(&values, back ? 2 : 1) ||
	    __builtin_add_overflow(sizes, values, &sizes))
		return FLOPS_UNKNOWN;
	return product_of((int64_t[]){ query->at[0], query->at[head], query->at[place],
				       key->at[place], sizes, 2 },
			  6);
}

int64_t flops_of(const struct flops_row *row, const uint8_t *inputs, size_t len)
{
	struct arguments all;
	const struct argument *tensor;

	if (row->way == NOWHERE || !arguments_read(&all, inputs, len))
		return FLOPS_UNKNOWN;
	switch ((enum way)row->way) {
	case EACH:
		tensor = tensor_at(&all, row->at[0]);
		return tensor ? tensor->all : FLOPS_UNKNOWN;
	case PRODUCT:
	case BATCHED:
	case PACKED:
		return of_product(row, &all);
	case GROUPED:
		return of_groups(row, &all);
	case TORCH_CONVOLUTION:
		return of_torch_convolution(row, &all);
	case CONVOLUTION:
		return of_convolution(row, &all);
	case CONVOLUTION_BACK:
		return of_convolution_back(row, &all);
	default:
		return of_attention(row, &all);
	}
}
