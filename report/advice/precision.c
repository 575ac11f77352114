/* SPDX-License-Identifier: Apache-2.0 */
/* Could matrix products and convolutions use tensor cores, and do not? */
#include "base/text.h"
#include "report/advice/blame.h"
#include "report/advice/lineage.h"
#include "report/advice/phrase.h"
#include "report/advice/rules.h"
#include "report/advice/thresholds.h"
#include "report/figures/median.h"

#include <stdlib.h>

/* The operators that TensorBoard's plugin calls eligible. */
static bool is_eligible(const char *name)
{
	static const char *const names[] = { "aten::_convolution",
					     "aten::conv1d",
					     "aten::conv2d",
					     "aten::conv3d",
					     "aten::conv_tbc",
					     "aten::conv_transpose1d",
					     "aten::conv_transpose2d",
					     "aten::conv_transpose3d",
					     "aten::convolution",
					     "aten::cudnn_convolution",
					     "aten::cudnn_convolution_transpose",
					     "aten::convolution_backward",
					     "aten::cudnn_convolution_backward",
					     "aten::cudnn_convolution_backward_input",
					     "aten::cudnn_convolution_backward_weight",
					     "aten::cudnn_convolution_transpose_backward",
					     "aten::prelu",
					     "aten::addmm",
					     "aten::addmm_",
					     "aten::addmv",
					     "aten::addr",
					     "aten::matmul",
					     "aten::mm",
					     "aten::mv",
					     "aten::linear",
					     "aten::addbmm",
					     "aten::baddbmm",
					     "aten::bmm",
					     "aten::chain_matmul",
					     "aten::linalg_multi_dot",
					     "aten::_thnn_fused_lstm_cell",
					     "aten::_thnn_fused_gru_cell",
					     "aten::lstm_cell",
					     "aten::gru_cell",
					     "aten::rnn_tanh_cell",
					     "aten::rnn_relu_cell",
					     NULL };

	return text_is_in(name, names);
}

/* The list ends with NULL, so that it grows without a count to keep. */
static bool has_any(const char *name, const char *const *words)
{
	while (*words && !text_has(name, *words))
		words++;
	return *words;
}

/* By the kernel's name: such an operator launches additions and copies, too, and what is
 * no fp32 is no case for these rules. */
static bool is_product(const char *kernel, bool by_op)
{
	static const char *const never[] = {
		"elementwise", "reduce_kernel", "fill",     "convert",  "dgemm", "zgemm",
		"cgemm",       "igemm",         "f64",      "<double",  "half",  "Half",
		"fp16",        "bf16",          "BFloat16", "bfloat16", NULL
	};
	static const char *const yes[] = { "gemm",  "conv",  "cutlass",  "xmma",
					   "dgrad", "wgrad", "winograd", NULL };

	return !has_any(kernel, never) && (by_op || has_any(kernel, yes));
}

/* Would a shorter kernel i have let anything begin earlier? Either the next work was
 * launched before its end, or the host waited for it. What the file does not say counts.
 */
static bool is_waited_for(const struct facts *f, size_t i)
{
	const struct piece *p = &f->work[i];
	uint32_t call = i + 1 < f->work_n ? f->work[i + 1].call : NO_ROW, in;

	if (f->host == NO_ROW || (i + 1 < f->work_n && call == NO_ROW) ||
	    (call != NO_ROW && f->m->slices[call].end < p->end))
		return true;
	in = facts_around(f, f->host, p->end - 1);
	return in != NO_ROW && f->m->slices[in].kind == SLICE_CALL &&
	       f->m->slices[in].end - f->m->slices[in].begin >
		       LAUNCH_LAG_US * INT64_C(1000);
}

struct products {
	struct blame blame;
	double all, eligible; /* of kernels' time */
};

/* f->time becomes the eligible time of each step that something waits for, once where
 * several GPUs or streams have it at the same time. False: no memory. */
static bool find_products(struct facts *f, struct products *to,
			  const unsigned char *of_op)
{
	struct spans waited = { 0 };
	bool fine = true;

	for (size_t i = 0; fine && i < f->work_n; i++) {
		const struct piece *p = &f->work[i];
		const struct slice *s = &f->m->slices[p->slice];
		uint32_t op = launches_op(&f->ops, s);
		long step = facts_step(f, p->begin);

		if (s->sort != SORT_KERNEL || p->talk || step < 0)
			continue;
		to->all += (double)(p->end - p->begin);
		if (!is_product(slice_name(f->m, p->slice), op != NO_ROW && of_op[op]))
			continue;
		to->eligible += (double)(p->end - p->begin);
		blame_add(&to->blame, p->slice, p->end - p->begin);
		fine = !is_waited_for(f, i) || spans_add(&waited, p->begin, p->end);
	}
	spans_join(&waited);
	facts_measure(f, &waited);
	spans_free(&waited);
	return fine;
}

/* The GPU that did the first work is meant; the file's first one stands in for it. */
static const struct gpu *gpu_of(const struct facts *f)
{
	uint32_t work = f->work_n ? f->m->slices[f->work[0].slice].work : NO_ROW;

	for (size_t i = 0; work != NO_ROW && i < f->m->gpus_n; i++)
		if (f->m->gpus[i].id == f->m->works[work].device)
			return &f->m->gpus[i];
	return f->m->gpus_n ? &f->m->gpus[0] : NULL;
}

/* One such kernel is enough: the program has them enabled then. */
static bool uses_tensor_cores(const struct facts *f)
{
	for (size_t i = 0; i < f->e->kernels->n; i++)
		if (f->e->kernels->row[i].tensor_cores)
			return true;
	return false;
}

/* Older GPUs have no TF32: they are told of 16 bits only. */
static void say_products(struct facts *f, struct advice *a, const struct products *p,
			 const struct gpu *gpu)
{
	ADVICE_SAY(a->title, gpu->major >= TF32_MAJOR ? "Matrix products run in full fp32"
						      : "Tensor cores are not used");
	ADVICE_SAY(
		a->seen,
		"%s of kernels a step are matrix products and convolutions (%u %% of kernel "
		"time), none of them uses tensor cores, which the GPU has",
		phrase_time(facts_time(p->eligible / (double)f->n)),
		phrase_percent(p->eligible, p->all));
	ADVICE_SAY(
		a->why,
		"Tensor cores compute such products several times faster, with fewer digits.");
	if (gpu->major >= TF32_MAJOR)
		ADVICE_SAY(
			a->act,
			"torch.set_float32_matmul_precision(\"high\") allows TF32; "
			"torch.autocast(\"cuda\", dtype=torch.bfloat16) computes in 16 bits");
	else
		ADVICE_SAY(a->act, "torch.autocast(\"cuda\", dtype=torch.float16) with "
				   "torch.amp.GradScaler");
	ADVICE_SAY(a->where, "%s", blame_place(&p->blame));
}

/* Half of the time is claimed, which is a careful guess for tensor cores. */
static bool look_at(struct facts *f, struct advice *a, const struct gpu *gpu)
{
	struct products p = { .all = 0 };
	unsigned char *of_op = lineage_make(f->m, is_eligible);
	bool fine = of_op && blame_start(&p.blame, f);

	if (fine) {
		fine = find_products(f, &p, of_op);
		a->gain = median_of(f->time, f->n) / 2;
		if (a->gain && p.eligible * 100 >= p.all * ELIGIBLE_PERCENT)
			say_products(f, a, &p, gpu);
		blame_free(&p.blame);
	}
	free(of_op);
	return fine;
}

bool precision_fp32(struct facts *f, struct advice *a)
{
	const struct gpu *gpu = gpu_of(f);

	return !gpu || gpu->major < TF32_MAJOR || uses_tensor_cores(f) ||
	       look_at(f, a, gpu);
}

bool precision_amp(struct facts *f, struct advice *a)
{
	const struct gpu *gpu = gpu_of(f);

	return !gpu || gpu->major < TENSOR_MAJOR || gpu->major >= TF32_MAJOR ||
	       uses_tensor_cores(f) || look_at(f, a, gpu);
}
