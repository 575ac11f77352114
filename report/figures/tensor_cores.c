/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of kernels' names that only those with tensor cores have, as far as is known. */
#include "report/figures/tensor_cores.h"

#include <string.h>

/* The plugin's list. */
static const char *const known_to_plugin[] = {
	"h884",
	"s884",
	"h1688",
	"s1688",
	"hmma",
	"i8816",
	"16816",
	"dgrad_1x1_stride_2x2",
	"first_layer_wgrad_kernel",
	"conv1x1",
	"conv2d_c1_k1",
	"direct_group",
	"xmma_implicit_gemm",
	"xmma_sparse_conv",
	"xmma_warp_specialized_implicit_gemm",
	"xmma_gemm",
	"xmma_sparse_gemm",
	"c1688",
	NULL,
};

/* What it does not know: libraries since Ampere. */
static const char *const newer[] = {
	/* cuBLAS and cuDNN: the shape of a tensor instruction, or a group of warps, which
	 * only Hopper's instructions need. */
	"nvjet_",
	"_tensor16x8x",
	"_tensor8x8x",
	"_warpgroupsize",
	"wgmma",
	"tcgen05",
	"native_sdpa_sm",
	/* CUTLASS by hand and by template: SM90 is "Gmma", SM100 "Umma". */
	"tensorop",
	"TensorOp",
	"gmma",
	"Gmma",
	"GMMA",
	"Umma",
	"UMMA",
	"SM100_MMA",
	/* Attention. Kernels beside these prepare sums and copy. */
	"flash_fwd_kernel",
	"flash_fwd_splitkv_kernel",
	"flash_bwd_dq_dk_dv",
	"FlashAttnFwdSm",
	"FlashAttnBwdSm",
	"fmha_v2_flash_attention_fp16",
	"fmha_v2_flash_attention_bf16",
	"fmha_cutlassF_f16",
	"fmha_cutlassF_bf16",
	"fmha_cutlassB_f16",
	"fmha_cutlassB_bf16",
	NULL,
};

/* Multiplications by ordinary cores in kernels of the same families, and GPUs that have
 * no others. */
static const char *const ordinary[] = {
	"simt", "Simt", "ffma", "dfma", "hfma", "_sm50", "_sm60", "_sm61", NULL,
};

static bool contains_one(const char *name, const char *const *parts)
{
	while (*parts && !strstr(name, *parts))
		parts++;
	return *parts;
}

bool tensor_cores_used(const char *kernel)
{
	return (contains_one(kernel, known_to_plugin) || contains_one(kernel, newer)) &&
	       !contains_one(kernel, ordinary);
}
