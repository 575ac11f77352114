/* SPDX-License-Identifier: Apache-2.0 */
/* Our occupancy against NVIDIA's calculator where its header is installed, and against
 * numbers that were got from it where it is not. */
#include "tests/unit/unit.h"
#include "writer/gpu/occupancy.h"

#if __has_include("/usr/local/cuda/include/cuda_occupancy.h")
#define HAVE_CALCULATOR
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include "/usr/local/cuda/include/cuda_occupancy.h"
#pragma GCC diagnostic pop
#endif

static struct rec_device h100(void)
{
	return (struct rec_device){ .major = 9,
				    .sms = 132,
				    .threads_per_block = 1024,
				    .threads_per_sm = 2048,
				    .warp = 32,
				    .registers_per_block = 65536,
				    .registers_per_sm = 65536,
				    .shared_per_block = 49152,
				    .shared_per_sm = 233472,
				    .shared_optin = 232448,
				    .shared_reserved = 1024 };
}

START_TEST(known_kernels_have_known_numbers)
{
	static const struct {
		struct occupancy_kernel k;
		int active;
		unsigned limits;
	} cases[] = {
		{ { 256, 32, 0, 0, false }, 8, OCCUPANCY_WARPS | OCCUPANCY_REGISTERS },
		{ { 128, 168, 0, 49152, false }, 3, OCCUPANCY_REGISTERS },
		{ { 128, 168, 0, 49153, false }, 0, OCCUPANCY_SHARED },
		{ { 384, 168, 1024, 196608, false }, 0, OCCUPANCY_SHARED },
		{ { 128, 168, 0, 49153, true }, 3, OCCUPANCY_REGISTERS },
		{ { 384, 168, 1024, 196608, true },
		  1,
		  OCCUPANCY_REGISTERS | OCCUPANCY_SHARED },
		{ { 2048, 16, 0, 0, false }, 0, OCCUPANCY_WARPS },
		{ { 32, 16, 0, 0, false }, 32, OCCUPANCY_BLOCKS },
	};
	struct rec_device d = h100();

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct occupancy o;

		ck_assert(occupancy_get(&d, &cases[i].k, &o));
		ck_assert_msg(o.active == cases[i].active && o.limits == cases[i].limits,
			      "case %zu: %d blocks, limits %u", i, o.active, o.limits);
	}
}
END_TEST

START_TEST(unknown_devices_and_kernels_have_none)
{
	struct occupancy_kernel k = { 256, 32, 0, 0, false };
	struct rec_device d = h100();
	struct occupancy o;

	d.major = 13;
	ck_assert(!occupancy_get(&d, &k, &o));
	d.major = 4;
	ck_assert(!occupancy_get(&d, &k, &o));
	d = h100();
	d.shared_per_sm = 0;
	ck_assert(!occupancy_get(&d, &k, &o));
	d = h100();
	k.threads = 0;
	ck_assert(!occupancy_get(&d, &k, &o));
	k = (struct occupancy_kernel){ UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
				       true };
	ck_assert(!occupancy_get(&d, &k, &o));
}
END_TEST

#ifdef HAVE_CALCULATOR
static uint64_t chance = 88172645463325252ull;

static uint32_t below(uint32_t n)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (uint32_t)(chance % n);
}

static cudaOccDeviceProp theirs_of(const struct rec_device *d)
{
	return (cudaOccDeviceProp){
		.computeMajor = d->major,
		.computeMinor = d->minor,
		.maxThreadsPerBlock = (int)d->threads_per_block,
		.maxThreadsPerMultiprocessor = (int)d->threads_per_sm,
		.regsPerBlock = (int)d->registers_per_block,
		.regsPerMultiprocessor = (int)d->registers_per_sm,
		.warpSize = (int)d->warp,
		.sharedMemPerBlock = d->shared_per_block,
		.sharedMemPerMultiprocessor = d->shared_per_sm,
		.numSms = (int)d->sms,
		.sharedMemPerBlockOptin = d->shared_optin,
		.reservedSharedMemPerBlock = d->shared_reserved,
	};
}

static void compare(const struct rec_device *d, const struct occupancy_kernel *k)
{
	cudaOccDeviceProp prop = theirs_of(d);
	cudaOccFuncAttributes f = {
		.maxThreadsPerBlock = INT_MAX,
		.numRegs = (int)k->registers,
		.sharedSizeBytes = k->static_shared,
		.partitionedGCConfig = PARTITIONED_GC_OFF,
		.shmemLimitConfig =
			k->opt_in ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT,
		.maxDynamicSharedSizeBytes = k->opt_in ? k->dynamic_shared : 0,
	};
	cudaOccDeviceState state = { .carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT };
	cudaOccResult want = { 0 };
	struct occupancy o;
	bool fine = cudaOccMaxActiveBlocksPerMultiprocessor(
			    &want, &prop, &f, &state, (int)k->threads,
			    k->dynamic_shared) == CUDA_OCC_SUCCESS;

	ck_assert_msg(occupancy_get(d, k, &o) == fine, "cc %u.%u: theirs is %d", d->major,
		      d->minor, fine);
	if (!fine)
		return;
	ck_assert_msg(o.active == want.activeBlocksPerMultiprocessor &&
			      o.limits == want.limitingFactors &&
			      o.by_registers == want.blockLimitRegs &&
			      o.by_shared == want.blockLimitSharedMem &&
			      o.by_warps == want.blockLimitWarps &&
			      o.by_blocks == want.blockLimitBlocks &&
			      o.by_barriers == want.blockLimitBarriers &&
			      o.registers == want.allocatedRegistersPerBlock &&
			      o.shared == (int)want.allocatedSharedMemPerBlock,
		      "cc %u.%u, %u threads, %u registers, %u + %u bytes, opt in %d: "
		      "%d blocks for %d, limits %u for %u",
		      d->major, d->minor, k->threads, k->registers, k->static_shared,
		      k->dynamic_shared, k->opt_in, o.active,
		      want.activeBlocksPerMultiprocessor, o.limits, want.limitingFactors);
}
#endif

START_TEST(it_is_what_the_calculator_says)
{
#ifdef HAVE_CALCULATOR
	static const uint16_t cc[] = { 50,  52,  53,  60,  61,  62,  70,  72,  75,
				       80,  86,  87,  89,  90,  100, 101, 102, 103,
				       110, 111, 120, 121, 122, 130, 20,  40 };
	static const uint32_t shared_per_sm[] = { 65536, 98304, 102400, 167936, 233472 };

	for (unsigned i = 0; i < 200000; i++) {
		unsigned v = cc[below(sizeof(cc) / sizeof(*cc))];
		struct rec_device d = h100();
		struct occupancy_kernel k = {
			.threads = 1 + below(1100),
			.registers = below(260),
			.static_shared = below(2) ? 0 : below(50000),
			.dynamic_shared = below(2) ? below(4096) : below(240000),
			.opt_in = below(2),
		};

		d.major = (uint16_t)(v / 10);
		d.minor = (uint16_t)(v % 10);
		d.shared_per_sm = shared_per_sm[below(5)];
		d.shared_optin = d.shared_per_sm - 1024;
		d.shared_reserved = d.major >= 8 ? 1024 : 0;
		d.threads_per_sm = below(2) ? 2048 : 1536;
		if (below(8) == 0)
			k.threads = 32 * (1 + below(32));
		compare(&d, &k);
	}
#else
	printf("skip: no cuda_occupancy.h\n");
#endif
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("occupancy");

	tcase_add_test(tc, known_kernels_have_known_numbers);
	tcase_add_test(tc, unknown_devices_and_kernels_have_none);
	tcase_add_test(tc, it_is_what_the_calculator_says);
	return unit_run(tc, "writer occupancy");
}
