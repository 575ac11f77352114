#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GPU jobs of the advice bench, thirteen with a planted problem and three healthy ones.

    gpu_traces.py NAME FOLDER    writes the trace, or the traces of all ranks, into the folder
"""
import os
import sys

from gpu_job import Job

STEPS = range(10, 16)
BF16 = ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_"
        "execute_segment_k_off_kernel__5x_cublas")
FP32 = "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_tn_align1>(cutlass_80_simt_sgemm_256x128_8x4_tn_align1::Params)"
GELU = ("void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, "
        "at::native::GeluType)::{lambda()#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)")
NORM = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, float, float const*)"
ADAM = ("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
        "TensorListMetadata<4>, at::native::FusedAdamMathFunctor<float, 4> >")
ADD = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >"
       "(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)")
SMALL = {"Input Dims": [[64], [64]], "Input type": ["float", "float"]}


def product(job, us, kernel=BF16, kind="c10::BFloat16", **args):
    shapes = {"Input Dims": [[8192, 4096], [4096, 4096]], "Input type": [kind, kind]}
    with job.op("aten::linear", us=4), job.op("aten::mm", us=10, **shapes):
        job.launch(kernel, us, grid=(1056, 1, 1), **args)


def elementwise(job, us, kernel=GELU, name="aten::gelu"):
    with job.op(name, us=8):
        job.launch(kernel, us, grid=(4096, 1, 1))


def layers(job, count=12, us=600, kernel=BF16, kind="c10::BFloat16"):
    for _ in range(count):
        product(job, us, kernel, kind)
        elementwise(job, us / 12)
        with job.op("aten::layer_norm", us=8):
            job.launch(NORM, us / 15, grid=(2048, 1, 1))


def optimizer(job, us=300):
    with job.op("Optimizer.step#AdamW.step", us=60, cat="user_annotation"):
        for _ in range(4):
            with job.op("aten::_fused_adamw_", us=20):
                job.launch(ADAM, us, grid=(1320, 1, 1))


def train(job, number, us=600, before=None, inside=None, kernel=BF16, kind="c10::BFloat16", batch=40.0):
    """A step: next batch, copy, forward, backward, optimizer; the host is ahead of the device."""
    with job.step(number):
        job.next_batch(batch)
        if before:
            before()
        else:
            with job.op("aten::to", us=6), job.op("aten::copy_", us=6):
                job.copy("HtoD (Pinned -> Device)", 8 << 20, 24.0)
        layers(job, us=us, kernel=kernel, kind=kind)
        if inside:
            inside()
        with job.backward():
            layers(job, us=2 * us, kernel=kernel, kind=kind)
        optimizer(job)
        job.keep_ahead(14000)


def six(story, **options):
    job = Job(**options)
    for number in STEPS:
        story(job, number)
    return [job]


# ---- planted ----

def gpu_pageable_copy():
    """Batches of 400 MB are copied from pageable memory, and the host and the GPU wait for it."""
    def story(job, number):
        def before():
            with job.op("aten::to", us=6), job.op("aten::copy_", us=6):
                job.copy("HtoD (Pageable -> Device)", 160 << 20, 6.0, pinned=False)
        train(job, number, before=before, us=400)
    return six(story)


def gpu_item_each_layer():
    """The norm of each layer's output is logged with .item(): the GPU runs dry each time."""
    def story(job, number):
        with job.step(number):
            job.next_batch(40)
            for _ in range(40):
                product(job, 120)
                elementwise(job, 20)
                with job.op("aten::item", us=4), job.op("aten::_local_scalar_dense", us=4):
                    job.copy("DtoH (Device -> Pageable)", 4, 0.002)
                    job.wait()
                job.work(140)
            optimizer(job, us=100)
    return six(story)


def gpu_boolean_mask():
    """Tokens are chosen with a boolean mask: nonzero has to ask the GPU how many there are."""
    def story(job, number):
        with job.step(number):
            job.next_batch(30)
            for _ in range(32):
                product(job, 180)
                with job.op("aten::index", us=12), job.op("aten::nonzero", us=10):
                    job.launch("void at_cuda_detail::cub::DeviceReduceSingleTileKernel<bool>()", 4)
                    job.copy("DtoH (Device -> Pageable)", 8, 0.002)
                    job.wait()
                    job.launch("void at::native::write_indices<long>(long*, at::native::TensorDims<long>, int, int)", 4)
                job.work(110)
            optimizer(job, us=80)
    return six(story)


def gpu_small_batch():
    """A deep network with a batch of one: thousands of kernels of three microseconds."""
    def story(job, number):
        with job.step(number):
            job.next_batch(30)
            for _ in range(700):
                with job.op("aten::linear", us=6), job.op("aten::addmm", us=8):
                    job.launch(BF16, 3.2, grid=(4, 1, 1))
                with job.op("aten::relu", us=6):
                    job.launch(GELU, 1.8, grid=(2, 1, 1))
            optimizer(job, us=10)
            job.wait("cudaDeviceSynchronize")
    return six(story)


def gpu_float32():
    """Matrix products in float32 without TF32, on a GPU whose tensor cores stand idle."""
    return six(lambda job, number: train(job, number, kernel=FP32, kind="float", us=2500))


def gpu_empty_cache():
    """torch.cuda.empty_cache() in each step: the memory is asked of the driver again and again."""
    def story(job, number):
        def inside():
            job.wait("cudaDeviceSynchronize")
            for _ in range(20):
                job.call("cudaFree", us=450)
            for _ in range(20):
                with job.op("aten::empty", us=5):
                    job.call("cudaMalloc", us=380)
                    job.memory(1 << 20, address=180000000000)
                    job.memory(-(1 << 20), address=180000000000)
        train(job, number, inside=inside, us=300)
    return six(story)


def gpu_fragmented():
    """Sizes change from step to step: a third of the GPU lies idle in pieces that fit nothing."""
    def story(job, number):
        job.reserved = 74 << 30
        job.allocated = 20 << 30

        def inside():
            sizes = [(300 + 37 * part + 11 * number) << 20 for part in range(30)]
            for part, size in enumerate(sizes):
                with job.op("aten::empty", us=5):
                    job.memory(size, address=170000000000 + 4096 * part)
            for _ in range(2):
                with job.op("aten::empty", us=5):
                    job.wait("cudaDeviceSynchronize")
                    for _ in range(4):
                        job.call("cudaFree", us=900)
                    job.call("cudaMalloc", us=1200)
            for part, size in enumerate(sizes):
                job.memory(-size, address=170000000000 + 4096 * part)
        train(job, number, inside=inside, us=500)
    return six(story)


def nccl(job, us, name="AllReduce_Sum_bf16_RING_LL", after=0.0, size=4 << 20, stream=20):
    args = {"Collective name": "allreduce", "In msg nelems": size, "Out msg nelems": size, "dtype": "BFloat16",
            "Group size": job.world, "Process Group Name": "0", "Process Group Description": "default_pg",
            "Process Group Ranks": str(list(range(job.world)))}
    with job.op("c10d::allreduce_", us=12), job.op("record_param_comms", us=8, **args):
        return job.launch(f"ncclDevKernel_{name}(ncclDevKernelArgsStorage<4096ul>)", us, stream=stream,
                          grid=(24, 1, 1), after=after, **args)


def gpu_exposed_allreduce():
    """Gradients are averaged after the whole of backward, in one piece, and nothing else runs meanwhile."""
    def story(job, number):
        with job.step(number):
            job.next_batch(40)
            layers(job, us=300)
            with job.backward():
                layers(job, us=600)
            end = nccl(job, 9000, after=job.free[7], size=512 << 20)
            job.free[7] = end
            optimizer(job)
            job.keep_ahead(9000)
    return six(story, rank=0, world=8)


def gpu_straggler():
    """Four ranks; the third one computes 40 % longer, and the others wait in the collective for it."""
    jobs = [Job(rank=rank, world=4) for rank in range(4)]
    for number in STEPS:
        for job in jobs:
            with job.step(number):
                job.next_batch(40)
                slow = 1.4 if job.rank == 2 else 1.0
                layers(job, us=300 * slow)
                with job.backward():
                    layers(job, us=600 * slow)
                begin = job.free[7]
                meet = 1000.0 + (number - 9) * 19800.0
                end = nccl(job, max(400.0, meet - begin), after=begin)
                job.free[7] = end
                optimizer(job, us=200)
                job.keep_ahead(600)
    return jobs


def gpu_starved():
    """The DataLoader's two workers cannot keep up: the GPU waits for data more than half of the time."""
    def story(job, number):
        with job.step(number):
            job.next_batch(21000, workers=2)
            with job.op("aten::to", us=6), job.op("aten::copy_", us=6):
                job.copy("HtoD (Pinned -> Device)", 32 << 20, 24.0)
            layers(job, us=300)
            with job.backward():
                layers(job, us=600)
            optimizer(job)
            job.wait("cudaDeviceSynchronize")
    return six(story)


def gpu_python_between():
    """Between the layers Python builds masks out of lists: no operator, no kernel, for milliseconds."""
    def story(job, number):
        with job.step(number):
            job.next_batch(40)
            for _ in range(12):
                job.work(1500)
                with job.op("aten::to", us=6), job.op("aten::copy_", us=6):
                    job.copy("HtoD (Pinned -> Device)", 1 << 16, 12.0)
                product(job, 350)
                elementwise(job, 60)
            with job.backward():
                layers(job, us=250)
            optimizer(job)
            job.wait("cudaDeviceSynchronize")
    return six(story)


def gpu_memory_grows():
    """Each step keeps 600 MB of activations in a list of losses."""
    def story(job, number):
        def inside():
            for part in range(6):
                job.memory(100 << 20, address=150000000000 + 4096 * (8 * number + part))
            for _ in range(10):
                job.memory(64 << 20, address=160000000000)
                job.memory(-(64 << 20), address=160000000000)
        train(job, number, inside=inside)
    return six(story)


def gpu_optimizer_loop():
    """An optimizer without foreach or fused: four kernels of two microseconds for each of 400 tensors."""
    def story(job, number):
        with job.step(number):
            job.next_batch(40)
            layers(job, count=6, us=250)
            with job.backward():
                layers(job, count=6, us=400)
            with job.op("Optimizer.step#AdamW.step", us=60, cat="user_annotation"):
                for _ in range(400):
                    for name in ("aten::mul_", "aten::lerp_", "aten::addcmul_", "aten::addcdiv_"):
                        with job.op(name, us=7, **SMALL):
                            job.launch(ADD, 2.0, grid=(4, 1, 1))
            job.wait("cudaDeviceSynchronize")
    return six(story)


# ---- healthy ----

def gpu_good_bf16():
    """A language model in bfloat16 with pinned, early batches: the GPU is never idle."""
    return six(train)


def gpu_good_overlap():
    """Data parallel training whose collectives run beside backward, in buckets."""
    def story(job, number):
        with job.step(number):
            job.next_batch(40)
            layers(job, us=600)
            with job.backward():
                for _ in range(6):
                    layers(job, count=2, us=1200)
                    last = nccl(job, 1500, after=job.free[7] - 1500)
            job.free[7] = max(job.free[7], last)
            optimizer(job)
            job.keep_ahead(14000)
    return six(story, rank=0, world=8)


def gpu_good_graph():
    """A server that replays a CUDA graph for each batch and waits for its answers."""
    def story(job, number):
        with job.step(number):
            with job.op("aten::copy_", us=10):
                job.copy("HtoD (Pinned -> Device)", 1 << 20, 20.0)
            launch = job.call("cudaGraphLaunch", us=30)
            for _ in range(24):
                job.on_device("kernel", BF16, 420, 7, launch, grid=[1056, 1, 1], block=[384, 1, 1],
                              **{"blocks per SM": 8.0, "warps per SM": 96.0, "shared memory": 0,
                                 "registers per thread": 168, "est. achieved occupancy %": 19})
            with job.op("aten::copy_", us=10):
                job.copy("DtoH (Device -> Pinned)", 1 << 16, 12.0)
            job.wait()
    return six(story)


def main():
    name, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    for job in globals()[name]():
        rank = f".rank{job.rank}" if job.world > 1 else ""
        job.write(os.path.join(folder, f"node1_{job.pid}{rank}.1700000000000000000.pt.trace.json"))


if __name__ == "__main__":
    main()
