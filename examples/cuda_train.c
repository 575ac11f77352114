/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fit a straight line through noisy points with gradient descent, on a GPU.
 *
 *	cc -O2 -o cuda_train examples/cuda_train.c -lcudart
 *	proflaunch --marker 'kernel:*update*' --schedule wait=2,active=4,repeat=1 --
 *./cuda_train
 *
 * An ordinary CUDA program: it knows nothing of profilers. There is no .cu file and no
 * nvcc, so that it builds wherever libcudart lies: the kernels are PTX, registered with
 * the runtime in the way nvcc's own stubs do it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_include) && __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#else
struct dim3 {
	unsigned x, y, z;
};
typedef struct dim3 dim3;
typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
extern cudaError_t cudaMalloc(void **p, size_t n), cudaMallocHost(void **p, size_t n);
extern cudaError_t cudaFree(void *p), cudaFreeHost(void *p);
extern cudaError_t cudaStreamCreate(cudaStream_t *s), cudaStreamDestroy(cudaStream_t s);
extern cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, int kind,
				   cudaStream_t s);
extern cudaError_t cudaMemsetAsync(void *p, int value, size_t n, cudaStream_t s);
extern cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block,
				    void **args, size_t shared, cudaStream_t s);
extern cudaError_t cudaStreamSynchronize(cudaStream_t s), cudaDeviceSynchronize(void);
extern const char *cudaGetErrorString(cudaError_t error);
#endif
extern void **__cudaRegisterFatBinary(void *wrapper);
extern void __cudaRegisterFatBinaryEnd(void **handle);
extern void __cudaUnregisterFatBinary(void **handle);
extern void __cudaRegisterFunction(void **handle, const char *stub, char *device_name,
				   const char *name, int threads, void *tid, void *bid,
				   void *block, void *grid, int *warp);

/* ---- the kernels ------------------------------------------------------------ */

/* i in %r1; leaves when i >= n (the parameter `n`). */
#define INDEX                                                                 \
	".reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<9>; .reg .f32 %f<9>;\n" \
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n" \
	"mad.lo.s32 %r1, %r2, %r3, %r4; ld.param.u32 %r5, [n];\n"             \
	"setp.ge.s32 %p, %r1, %r5; @%p ret;\n"
#define POINTER(d, name) \
	"ld.param.u64 " d ", [" name "]; cvta.to.global.u64 " d ", " d ";\n"
#define ELEMENT(d) "mad.wide.s32 " d ", %r1, 4, " d ";\n"

#define FORWARD  "_Z7forwardPKfS0_S0_PfS1_i"
#define BACKWARD "_Z8backwardPKfS0_Pfi"
#define UPDATE   "_Z6updatePfPKffi"

static const char ptx[] =
	".version 6.4\n.target sm_52\n.address_size 64\n"
	/* e[i] = w[0] x[i] + w[1] - y[i]; loss += e[i]^2 */
	".visible .entry " FORWARD "(.param .u64 x, .param .u64 y, .param .u64 w,\n"
	" .param .u64 e, .param .u64 loss, .param .u32 n)\n{\n" INDEX POINTER(
		"%d1", "x") POINTER("%d2", "y") POINTER("%d3", "w") POINTER("%d4", "e")
		POINTER("%d5", "loss") ELEMENT("%d1") ELEMENT("%d2") ELEMENT(
			"%d4") "ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d2];\n"
			       "ld.global.f32 %f3, [%d3]; ld.global.f32 %f4, [%d3+4];\n"
			       "fma.rn.f32 %f5, %f3, %f1, %f4; sub.f32 %f6, %f5, %f2;\n"
			       "st.global.f32 [%d4], %f6; mul.f32 %f7, %f6, %f6;\n"
			       "red.global.add.f32 [%d5], %f7; ret;\n}\n"
			       /* g[0] += e[i] x[i]; g[1] += e[i] */
			       ".visible .entry " BACKWARD
			       "(.param .u64 x, .param .u64 e, .param .u64 g,\n"
			       " .param .u32 n)\n{\n" INDEX POINTER("%d1", "x") POINTER(
				       "%d2", "e") POINTER("%d3", "g") ELEMENT("%d1")
				       ELEMENT("%d2") "ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d2]; mul.f32 %f3, %f1, %f2;\n"
						      "red.global.add.f32 [%d3], %f3; red.global.add.f32 [%d3+4], %f2; ret;\n}\n"
						      /* w[i] -= rate g[i] */
						      ".visible .entry " UPDATE
						      "(.param .u64 w, .param .u64 g, .param .f32 rate,\n"
						      " .param .u32 n)\n{\n" INDEX POINTER(
							      "%d1", "w") POINTER("%d2",
										  "g")
							      ELEMENT("%d1") ELEMENT(
								      "%d2") "ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d2]; ld.param.f32 %f3, [rate];\n"
									     "neg.f32 %f4, %f3; fma.rn.f32 %f5, %f4, %f2, %f1; st.global.f32 [%d1], %f5; ret;\n}\n";

/* A stub's address is how the runtime knows a kernel. */
static void forward(void)
{
}

static void backward(void)
{
}

static void update(void)
{
}

/* What nvcc puts into .nv_fatbin: a header, then one entry, here PTX as it is. */
static struct {
	struct {
		uint32_t magic;
		uint16_t version, header;
		uint64_t bytes;
	} file;
	struct {
		uint16_t kind, version; /* 1: PTX */
		uint32_t header;
		uint64_t bytes;
		uint32_t compressed, options;
		uint16_t minor, major;
		uint32_t arch, name, name_length;
		uint64_t flags, zero, plain;
	} entry;
	char text[(sizeof(ptx) + 7) / 8 * 8];
} image __attribute__((aligned(8)));

static struct {
	uint32_t magic, version;
	const void *image;
	void *more;
} wrapper = { 0x466243b1, 1, &image, NULL };

static void **register_kernels(void)
{
	memcpy(image.text, ptx, sizeof(ptx));
	image.file.magic = 0xba55ed50;
	image.file.version = 1;
	image.file.header = sizeof(image.file);
	image.file.bytes = sizeof(image) - sizeof(image.file);
	image.entry.kind = 1;
	image.entry.version = 0x101;
	image.entry.header = sizeof(image.entry);
	image.entry.bytes = sizeof(image.text);
	image.entry.options = sizeof(image.entry);
	image.entry.minor = 4;
	image.entry.major = 6;
	image.entry.arch = 52;
	image.entry.flags = 0x11; /* 64 bits, Linux */

	void **handle = __cudaRegisterFatBinary(&wrapper);
	const struct {
		void (*stub)(void);
		const char *name;
	} kernels[] = { { forward, FORWARD },
			{ backward, BACKWARD },
			{ update, UPDATE } };

	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++)
		__cudaRegisterFunction(handle, (const char *)kernels[k].stub,
				       (char *)kernels[k].name, kernels[k].name, -1, NULL,
				       NULL, NULL, NULL, NULL);
	__cudaRegisterFatBinaryEnd(handle);
	return handle;
}

/* ---- the training ----------------------------------------------------------- */

#define POINTS  65536
#define THREADS 256

static void must(cudaError_t error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "cuda_train: %s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

static struct {
	float *x, *y; /* pinned: one batch */
	float *seen; /* pinned: the loss, then the weights */
	float *dx, *dy, *error; /* on the GPU, as all below */
	float *loss, *weights, *gradient;
	cudaStream_t stream;
} net;

static void start(void)
{
	const size_t batch = POINTS * sizeof(float);

	must(cudaMallocHost((void **)&net.x, batch), "cudaMallocHost");
	must(cudaMallocHost((void **)&net.y, batch), "cudaMallocHost");
	must(cudaMallocHost((void **)&net.seen, 3 * sizeof(float)), "cudaMallocHost");
	must(cudaMalloc((void **)&net.dx, batch), "cudaMalloc");
	must(cudaMalloc((void **)&net.dy, batch), "cudaMalloc");
	must(cudaMalloc((void **)&net.error, batch), "cudaMalloc");
	must(cudaMalloc((void **)&net.loss, sizeof(float)), "cudaMalloc");
	must(cudaMalloc((void **)&net.weights, 2 * sizeof(float)), "cudaMalloc");
	must(cudaMalloc((void **)&net.gradient, 2 * sizeof(float)), "cudaMalloc");
	must(cudaStreamCreate(&net.stream), "cudaStreamCreate");
	must(cudaMemsetAsync(net.weights, 0, 2 * sizeof(float), net.stream),
	     "cudaMemsetAsync");
	memset(net.seen, 0, 3 * sizeof(float));
}

static void launch(void (*kernel)(void), int threads, void **args)
{
	const dim3 grid = { (unsigned)(threads + THREADS - 1) / THREADS, 1, 1 };
	const dim3 block = { threads < THREADS ? 32 : THREADS, 1, 1 };

	must(cudaLaunchKernel((const void *)kernel, grid, block, args, 0, net.stream),
	     "cudaLaunchKernel");
}

static void step(void)
{
	const size_t batch = POINTS * sizeof(float);
	float rate = 0.5f / POINTS;
	int points = POINTS, weights = 2;

	for (int i = 0; i < POINTS; i++) {
		net.x[i] = (float)rand() / RAND_MAX * 2 - 1;
		net.y[i] = 3 * net.x[i] + 2 + 0.1f * ((float)rand() / RAND_MAX - 0.5f);
	}
	must(cudaMemcpyAsync(net.dx, net.x, batch, cudaMemcpyHostToDevice, net.stream),
	     "copy");
	must(cudaMemcpyAsync(net.dy, net.y, batch, cudaMemcpyHostToDevice, net.stream),
	     "copy");
	must(cudaMemsetAsync(net.loss, 0, sizeof(float), net.stream), "set");
	must(cudaMemsetAsync(net.gradient, 0, 2 * sizeof(float), net.stream), "set");
	launch(forward, POINTS,
	       (void *[]){ &net.dx, &net.dy, &net.weights, &net.error, &net.loss,
			   &points });
	launch(backward, POINTS,
	       (void *[]){ &net.dx, &net.error, &net.gradient, &points });
	launch(update, 2, (void *[]){ &net.weights, &net.gradient, &rate, &weights });
	must(cudaMemcpyAsync(net.seen, net.loss, sizeof(float), cudaMemcpyDeviceToHost,
			     net.stream),
	     "copy");
	must(cudaMemcpyAsync(net.seen + 1, net.weights, 2 * sizeof(float),
			     cudaMemcpyDeviceToHost, net.stream),
	     "copy");
	must(cudaStreamSynchronize(net.stream), "cudaStreamSynchronize");
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 20;
	void **handle = register_kernels();

	start();
	for (int i = 0; i < steps; i++) {
		step();
		if (i % 5 == 4)
			printf("step %d: loss %.4f, y = %.2f x + %.2f\n", i + 1,
			       net.seen[0] / POINTS, net.seen[1], net.seen[2]);
	}
	must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	cudaStreamDestroy(net.stream);
	cudaFree(net.dx);
	cudaFree(net.dy);
	cudaFree(net.error);
	cudaFree(net.loss);
	cudaFree(net.weights);
	cudaFree(net.gradient);
	cudaFreeHost(net.x);
	cudaFreeHost(net.y);
	cudaFreeHost(net.seen);
	__cudaUnregisterFatBinary(handle);
	return 0;
}
