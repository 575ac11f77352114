/* SPDX-License-Identifier: Apache-2.0 */
/* How well a GPU was used, and which kernels use tensor cores. */
#include "report/figures/tensor_cores.h"
#include "tests/unit/steps_trace.h"

#include <math.h>

static void kernel(unsigned stream, double ts, double dur, const char *args)
{
	char all[256];

	snprintf(all, sizeof(all), "\"device\":0,\"stream\":%u%s%s", stream,
		 *args ? "," : "", args);
	slice(stream, "kernel", "gemm", ts, dur, all);
}

static void near(double is, double wanted)
{
	ck_assert_msg(fabs(is - wanted) < 1e-12, "%.15g, not %.15g", is, wanted);
}

/* ---- figures ---- */

START_TEST(utilization_is_of_kernels_alone)
{
	step(1, 100, 50);
	step(2, 170, 30);
	kernel(7, 90, 20, ""); /* 10 of it */
	kernel(8, 105, 15, "");
	kernel(7, 160, 20, ""); /* also between the steps */
	kernel(7, 190, 50, ""); /* 10 of it */
	kernel(7, 300, 50, "");
	slice(9, "gpu_memcpy", "Memcpy", 130, 10, "\"device\":0");
	slice(9, "gpu_memset", "Memset", 140, 0, "\"device\":0");
	figure();
	ck_assert_uint_eq(devices.n, 1);
	ck_assert_int_eq(devices.row[0].busy, 50000);
	near(devices.row[0].utilization, 0.5);
	ck_assert_uint_eq(devices.row[0].kernels, 4);
	ck_assert_uint_eq(devices.row[0].copies, 1);
	ck_assert_uint_eq(devices.row[0].sets, 1);
	ck_assert_int_eq(devices.row[0].kernel_time, 55000);
	ck_assert(!devices.row[0].gpu);
}
END_TEST

START_TEST(efficiency_is_at_most_one_at_each_moment)
{
	step(1, 0, 100);
	kernel(7, 10, 40, "\"blocks per SM\":0.5");
	kernel(8, 20, 10, "\"blocks per SM\":0.25");
	kernel(9, 30, 20, "\"blocks per SM\":7");
	kernel(9, 60, 10, "\"blocks per SM\":0");
	kernel(9, 70, 10, "");
	kernel(9, 90, 30, "\"blocks per SM\":0.1");
	figure();
	near(devices.row[0].sm_efficiency, (5 + 7.5 + 20 + 1) / 100.0);
}
END_TEST

START_TEST(occupancy_is_weighted_by_time)
{
	step(1, 0, 100);
	kernel(7, 0, 30, "\"est. achieved occupancy %\":50");
	kernel(8, 0, 10, "\"est. achieved occupancy %\":0");
	kernel(9, 0, 60, "");
	kernel(7, 90, 100, "\"est. achieved occupancy %\":100");
	figure();
	near(devices.row[0].occupancy, (15 + 10) / 50.0);
}
END_TEST

START_TEST(what_no_kernel_says_cannot_be_said)
{
	step(1, 0, 100);
	kernel(7, 0, 30, "");
	kernel(7, 200, 30, "\"blocks per SM\":1,\"est. achieved occupancy %\":50");
	figure();
	near(devices.row[0].utilization, 0.3);
	ck_assert(devices.row[0].sm_efficiency < 0);
	ck_assert(devices.row[0].occupancy < 0);
}
END_TEST

/* Rounding must not stay when all kernels are through. */
START_TEST(any_number_of_blocks_leaves_nothing_behind)
{
	step(1, 0, 100);
	for (int i = 0; i < 30; i++) {
		kernel(7, 0, 10, "\"blocks per SM\":0.1");
		kernel(8, 0, 10, "\"blocks per SM\":1e300");
		kernel(9, 0, 10, "\"blocks per SM\":1e-300");
	}
	kernel(7, 50, 10, "\"blocks per SM\":0.5");
	figure();
	near(devices.row[0].sm_efficiency, 0.15);
}
END_TEST

START_TEST(devices_are_apart_and_in_order)
{
	step(1, 0, 100);
	slice(1, "kernel", "a", 0, 10, "\"device\":3");
	slice(1, "kernel", "a", 0, 20, "\"device\":1");
	slice(2, "kernel", "a", 20, 30, "\"device\":3");
	/* From one device to another: of the process that is the device's. */
	fputs("{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy PtoP\",\"pid\":2,"
	      "\"tid\":7,\"ts\":5,\"dur\":5,\"args\":{\"inDevice\":2}},\n",
	      file);
	fputs("{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy\",\"pid\":4242,"
	      "\"tid\":7,\"ts\":5,\"dur\":5,\"args\":{}},\n",
	      file);
	figure();
	ck_assert_uint_eq(devices.n, 3);
	ck_assert_int_eq(devices.row[0].id, 1);
	near(devices.row[0].utilization, 0.2);
	ck_assert_int_eq(devices.row[1].id, 2);
	ck_assert_uint_eq(devices.row[1].copies, 1);
	near(devices.row[1].utilization, 0);
	ck_assert_int_eq(devices.row[2].id, 3);
	near(devices.row[2].utilization, 0.4);
}
END_TEST

START_TEST(a_device_has_its_description)
{
	rewind(file);
	fputs("{\"deviceProperties\":[{\"id\":1,\"name\":\"A\"},{\"id\":0,\"name\":\"B\"},"
	      "{\"id\":1,\"name\":\"C\"}],\"traceEvents\":[",
	      file);
	step(1, 0, 100);
	slice(1, "kernel", "a", 0, 10, "\"device\":1");
	slice(1, "kernel", "a", 0, 10, "\"device\":2");
	figure();
	ck_assert_str_eq(texts_get(&model.texts, devices.row[0].gpu->name), "A");
	ck_assert(!devices.row[1].gpu);
}
END_TEST

START_TEST(a_step_of_no_length_has_no_share)
{
	step(1, 50, 0);
	kernel(7, 50, 0, "\"blocks per SM\":1");
	figure();
	ck_assert_uint_eq(devices.n, 1);
	ck_assert(devices.row[0].utilization < 0 && devices.row[0].sm_efficiency < 0);
}
END_TEST

START_TEST(time_on_tensor_cores_is_part_of_kernel_time)
{
	step(1, 0, 100);
	slice(1, "kernel", "nvjet_hsh_128x256", -5, 15, "\"device\":0");
	slice(1, "kernel", "nvjet_hsh_128x256", 20, 15, "\"device\":0");
	slice(1, "kernel", "cutlass_80_simt_sgemm", 40, 15, "\"device\":0");
	slice(1, "kernel", "nvjet_hsh_128x256", 90, 15, "\"device\":0");
	figure();
	ck_assert_int_eq(devices.row[0].tensor_cores, 25000);
	ck_assert_int_eq(devices.row[0].kernel_time, 40000);
}
END_TEST

/* ---- names ---- */

START_TEST(kernels_with_tensor_cores)
{
	static const char *const names[] = {
		"volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn",
		"turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_nn",
		"ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn",
		"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4>",
		"sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize64x64x64_stage3",
		"sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_"
		"tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel",
		"sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
		"tilesize64x64x64_warpgroupsize1x1x1_g1_strided_execute_kernel__5x_cudnn",
		"nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN",
		"cutlass3x_sm100_tensorop_s128x128x16gemm_bf16",
		"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<"
		"cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4>>>",
		"void cutlass::device_kernel<cutlass::gemm::MainloopSm100TmaUmmaWarp"
		"Specialized<4>>",
		"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7",
		"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>",
		"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<traits>",
		"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ck_assert_msg(tensor_cores_used(names[i]), "%s", names[i]);
}
END_TEST

START_TEST(kernels_without_tensor_cores)
{
	static const char *const names[] = {
		"",
		"ampere_sgemm_128x64_nn",
		"volta_sgemm_32x128_tn",
		"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x64_8x5_nn_align1>",
		"void cutlass::Kernel<cutlass::arch::OpClassSimt, MmaTensorOp>",
		"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_stage3_"
		"warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas",
		"sm80_xmma_fprop_implicit_gemm_indexed_f32f32_f32f32_f32_nhwckrsc_nchw_"
		"tilesize128x128x8_stage3_warpsize2x2x1_g1_ffma_aligna4_execute_kernel",
		"fmha_cutlassF_f32_aligned_64x64_rf_sm75(Params)",
		"fmha_cutlassF_f16_aligned_64x64_rf_sm50(Params)",
		"void flash_bwd_dot_do_o_kernel<true, traits>",
		"void flash_fwd_splitkv_combine_kernel<traits>",
		"void at::native::vectorized_elementwise_kernel<4>",
		"void gamma_beta_backward(float*)",
		"triton_poi_fused_add_relu_0",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		ck_assert_msg(!tensor_cores_used(names[i]), "%s", names[i]);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("report_devices");

	tcase_add_checked_fixture(tc, begin, done);
	tcase_add_test(tc, utilization_is_of_kernels_alone);
	tcase_add_test(tc, efficiency_is_at_most_one_at_each_moment);
	tcase_add_test(tc, occupancy_is_weighted_by_time);
	tcase_add_test(tc, what_no_kernel_says_cannot_be_said);
	tcase_add_test(tc, any_number_of_blocks_leaves_nothing_behind);
	tcase_add_test(tc, devices_are_apart_and_in_order);
	tcase_add_test(tc, a_device_has_its_description);
	tcase_add_test(tc, a_step_of_no_length_has_no_share);
	tcase_add_test(tc, time_on_tensor_cores_is_part_of_kernel_time);
	tcase_add_test(tc, kernels_with_tensor_cores);
	tcase_add_test(tc, kernels_without_tensor_cores);
	return unit_run(tc, "report_devices");
}
