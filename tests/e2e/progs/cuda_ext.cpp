// SPDX-License-Identifier: Apache-2.0
//
// Operators for torch that work on the CPU and drive a GPU beside it: each launches
// what a CUDA build would launch. Every launch is also written, as a line of JSON, to
// the file that CUDA_TRUTH names: that is what a trace has to show.

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <torch/library.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

// What is used of CUDA and NCCL: no headers of theirs are needed.
extern "C" {
struct dim3 {
	unsigned x, y, z;
};
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct ncclComm *ncclComm_t;
struct ncclUniqueId {
	char internal[128];
};
int cudaMalloc(void **, size_t), cudaFree(void *), cudaMallocHost(void **, size_t);
int cudaMemcpyAsync(void *, const void *, size_t, int, cudaStream_t);
int cudaMemsetAsync(void *, int, size_t, cudaStream_t);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, cudaStream_t);
int cudaStreamCreate(cudaStream_t *), cudaStreamSynchronize(cudaStream_t);
int cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
int cudaEventCreate(cudaEvent_t *), cudaEventRecord(cudaEvent_t, cudaStream_t);
int cudaDeviceSynchronize(), cudaSetDevice(int), cudaGetDevice(int *);
int cudaStreamBeginCapture(cudaStream_t, int), cudaStreamEndCapture(cudaStream_t, cudaGraph_t *);
int cudaGraphInstantiateWithFlags(cudaGraphExec_t *, cudaGraph_t, unsigned long long);
int cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFatBinaryEnd(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *,
			    void *, void *, int *);
int ncclGetUniqueId(ncclUniqueId *) __attribute__((weak));
int ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int) __attribute__((weak));
int ncclAllReduce(const void *, void *, size_t, int, int, ncclComm_t, cudaStream_t)
	__attribute__((weak));
}

namespace
{
enum { HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3 };
enum { COPY = 1, COMM = 2, SIDE = 3 }; // streams; 0 is the default one

// ---- the truth -------------------------------------------------------------------

std::mutex lock;
FILE *truth;

void note(const std::string &text)
{
	std::lock_guard<std::mutex> guard(lock);

	if (!truth && getenv("CUDA_TRUTH"))
		truth = fopen((std::string(getenv("CUDA_TRUTH")) + "." +
			       std::to_string(getpid())).c_str(), "w");
	if (!truth)
		return;
	fprintf(truth, "{%s, \"tid\": %ld}\n", text.c_str(), syscall(SYS_gettid));
	fflush(truth);
}

void note_work(const char *op, const char *call, const char *work, int stream, int device,
	       long amount)
{
	note("\"op\": \"" + std::string(op) + "\", \"call\": \"" + call + "\", \"work\": \"" + work +
	     "\", \"stream\": " + std::to_string(stream) + ", \"device\": " + std::to_string(device) +
	     ", \"amount\": " + std::to_string(amount));
}

// ---- the GPU ---------------------------------------------------------------------

void must(int error, const char *what)
{
	TORCH_CHECK(error == 0, what, ": CUDA error ", error);
}

#define KERNELS(K)                                                                          \
	K(gemm, "_Z4gemmPKfS0_Pfiii") K(bias, "_Z4biasPfPKfi") K(relu, "_Z4reluPfPKfi")        \
	K(relu_back, "_Z9relu_backPfPKfS1_i") K(mean, "_Z4meanPfPKfi")                         \
	K(fill, "_Z4fillPffi") K(sgd, "_Z3sgdPfPKffi") K(scale, "_Z5scalePffi")                 \
	K(longest, "_Z7longestPfi")
// A stub's address is how the runtime knows a kernel.
#define STUB(name, mangled)                                                                 \
	void stub_##name()                                                                     \
	{                                                                                      \
	}
KERNELS(STUB)

struct Kernel {
	void (*stub)();
	const char *name, *mangled;
};
#define ROW(name, mangled) { stub_##name, #name, mangled },
const Kernel kernels[] = { KERNELS(ROW) };

struct Gpu {
	cudaStream_t streams[4] = {};
	cudaEvent_t ready = nullptr;
	void *device = nullptr, *host = nullptr;
	cudaGraphExec_t graph = nullptr;
	ncclComm_t comm = nullptr;
	long sequence = 0;
	static constexpr size_t room = 1 << 22;

	Gpu()
	{
		static struct {
			unsigned magic, version;
			const void *image;
			void *more;
		} wrapper = { 0x466243b1, 1, "", nullptr };
		void **handle = __cudaRegisterFatBinary(&wrapper);

		for (const Kernel &k : kernels)
			__cudaRegisterFunction(handle, (const char *)k.stub, (char *)k.mangled,
					       k.mangled, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
		__cudaRegisterFatBinaryEnd(handle);
		must(cudaMalloc(&device, room), "cudaMalloc");
		must(cudaMallocHost(&host, room), "cudaMallocHost");
		for (int s = 1; s < 4; s++)
			must(cudaStreamCreate(&streams[s]), "cudaStreamCreate");
		must(cudaEventCreate(&ready), "cudaEventCreate");
	}
};

Gpu &gpu()
{
	static Gpu *the = new Gpu; // never torn down, as torch does it

	return *the;
}

void launch(const char *op, const char *name, long blocks, int stream = 0, int device = 0,
	    long shared = 0)
{
	for (const Kernel &k : kernels) {
		if (std::string(k.name) != name)
			continue;
		void *arguments[] = { &gpu().device, nullptr };

		note_work(op, "cudaLaunchKernel", k.name, stream, device, blocks);
		must(cudaLaunchKernel((const void *)k.stub, { (unsigned)blocks, 1, 1 }, { 128, 1, 1 },
				      arguments, shared, device ? nullptr : gpu().streams[stream]),
		     "cudaLaunchKernel");
		return;
	}
	TORCH_CHECK(false, "no kernel ", name);
}

void copy(const char *op, int kind, long bytes, int stream)
{
	Gpu &g = gpu();

	bytes = std::min<long>(bytes, Gpu::room / 2);
	note_work(op, "cudaMemcpyAsync", kind == HostToDevice ? "HtoD" : kind == DeviceToHost ? "DtoH" : "DtoD",
		  stream, 0, bytes);
	must(cudaMemcpyAsync(kind == DeviceToHost ? g.host : g.device,
			     kind == HostToDevice ? g.host : (char *)g.device + Gpu::room / 2, bytes, kind,
			     g.streams[stream]), "cudaMemcpyAsync");
}

void set(const char *op, long bytes, int stream = 0)
{
	note_work(op, "cudaMemsetAsync", "set", stream, 0, bytes);
	must(cudaMemsetAsync(gpu().device, 0, bytes, gpu().streams[stream]), "cudaMemsetAsync");
}

long blocks_of(const at::Tensor &t)
{
	return std::max<long>(1, t.numel() / 128);
}

// ---- operators -------------------------------------------------------------------

at::Tensor upload(const at::Tensor &x)
{
	at::Tensor there = x.clone();

	copy("gpu::upload", HostToDevice, x.nbytes(), COPY);
	note_work("gpu::upload", "cudaEventRecord", "", COPY, 0, 0);
	must(cudaEventRecord(gpu().ready, gpu().streams[COPY]), "cudaEventRecord");
	note_work("gpu::upload", "cudaStreamWaitEvent", "", 0, 0, 0);
	must(cudaStreamWaitEvent(nullptr, gpu().ready, 0), "cudaStreamWaitEvent");
	return there;
}

at::Tensor gemm(const at::Tensor &a, const at::Tensor &b)
{
	at::Tensor product = at::mm(a, b);

	launch("gpu::gemm", "gemm", blocks_of(product), 0, 0, 16384);
	return product;
}

at::Tensor call_gemm(const at::Tensor &a, const at::Tensor &b)
{
	static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("gpu::gemm", "")
				 .typed<at::Tensor(const at::Tensor &, const at::Tensor &)>();
	return op.call(a, b);
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Linear : torch::autograd::Function<Linear> {
	static at::Tensor forward(AutogradContext *context, const at::Tensor &x, const at::Tensor &w)
	{
		at::AutoDispatchBelowADInplaceOrView below;

		context->save_for_backward({ x, w });
		set("gpu::linear", 4096);
		at::Tensor y = call_gemm(x, w.t());
		launch("gpu::linear", "bias", blocks_of(y));
		return y;
	}
	static variable_list backward(AutogradContext *context, variable_list grads)
	{
		auto saved = context->get_saved_variables();

		return { call_gemm(grads[0], saved[1]), call_gemm(grads[0].t(), saved[0]) };
	}
};

struct Relu : torch::autograd::Function<Relu> {
	static at::Tensor forward(AutogradContext *context, const at::Tensor &x)
	{
		at::AutoDispatchBelowADInplaceOrView below;

		context->save_for_backward({ x });
		launch("gpu::relu", "relu", blocks_of(x));
		return at::relu(x);
	}
	static variable_list backward(AutogradContext *context, variable_list grads)
	{
		at::Tensor x = context->get_saved_variables()[0];

		launch("ReluBackward", "relu_back", blocks_of(x));
		return { grads[0] * (x > 0) };
	}
};

struct Mean : torch::autograd::Function<Mean> {
	static at::Tensor forward(AutogradContext *context, const at::Tensor &x)
	{
		at::AutoDispatchBelowADInplaceOrView below;

		context->save_for_backward({ x });
		launch("gpu::mean", "mean", blocks_of(x));
		copy("gpu::mean", DeviceToHost, sizeof(float), 0);
		note_work("gpu::mean", "cudaStreamSynchronize", "", 0, 0, 0);
		must(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
		return x.mean();
	}
	static variable_list backward(AutogradContext *context, variable_list grads)
	{
		at::Tensor x = context->get_saved_variables()[0];

		launch("MeanBackward", "fill", blocks_of(x));
		return { grads[0].expand_as(x) / x.numel() };
	}
};

void sgd(at::Tensor w, const at::Tensor &g, double rate)
{
	launch("gpu::sgd_", "sgd", blocks_of(w));
	w.sub_(g * rate);
}

void all_reduce(at::Tensor t)
{
	Gpu &my = gpu(); // the macro below takes the name g
	const char *rank = getenv("RANK"), *size = getenv("WORLD_SIZE");

	if (!ncclAllReduce)
		return;
	if (!my.comm) {
		ncclUniqueId id = {};

		ncclGetUniqueId(&id);
		must(ncclCommInitRank(&my.comm, size ? atoi(size) : 1, id, rank ? atoi(rank) : 0), "nccl");
	}
	const long number = ++my.sequence;
	const long elements = t.numel();

	RECORD_FUNCTION_WITH_SCOPE(at::RecordScope::USER_SCOPE, "nccl:all_reduce", {});
	{
		std::vector<int64_t> none;

		RECORD_PARAM_COMMS(std::make_tuple((int64_t)number, false),
				   std::make_tuple(std::string("0"), std::string("default_pg")),
				   rank ? atoi(rank) : 0, "allreduce", elements, elements, t.scalar_type(), none,
				   none, 0, 1, size ? atoi(size) : 1);
		note_work("record_param_comms", "nccl", "allreduce", COMM, 0, elements);
		must(ncclAllReduce(my.device, my.device, elements, 7, 0, my.comm,
				   my.streams[COMM]),
		     "ncclAllReduce");
	}
}

// Three kernels, captured once, launched as a graph on a stream of their own.
void replay()
{
	Gpu &g = gpu();

	if (!g.graph) {
		cudaGraph_t captured;

		must(cudaStreamBeginCapture(g.streams[SIDE], 2), "cudaStreamBeginCapture");
		for (int k = 0; k < 3; k++)
			must(cudaLaunchKernel((const void *)stub_scale, { 4u + k, 1, 1 }, { 64, 1, 1 }, nullptr,
					      0, g.streams[SIDE]), "cudaLaunchKernel");
		must(cudaStreamEndCapture(g.streams[SIDE], &captured), "cudaStreamEndCapture");
		must(cudaGraphInstantiateWithFlags(&g.graph, captured, 0), "cudaGraphInstantiate");
	}
	note_work("gpu::replay", "cudaGraphLaunch", "scale", SIDE, 0, 3);
	must(cudaGraphLaunch(g.graph, g.streams[SIDE]), "cudaGraphLaunch");
}

void other_device(int64_t device)
{
	must(cudaSetDevice(device), "cudaSetDevice");
	launch("gpu::other_device", "scale", 16, 0, device);
	must(cudaSetDevice(0), "cudaSetDevice");
}

void scratch(int64_t bytes)
{
	void *p;

	note_work("gpu::scratch", "cudaMalloc", "", 0, 0, bytes);
	must(cudaMalloc(&p, bytes), "cudaMalloc");
	note_work("gpu::scratch", "cudaFree", "", 0, 0, bytes);
	must(cudaFree(p), "cudaFree");
}

// A kernel that is not waited for: grid says how long it takes.
void tail(int64_t blocks)
{
	launch("gpu::tail", "longest", blocks, SIDE);
}

void wait()
{
	note_work("gpu::wait", "cudaDeviceSynchronize", "", 0, 0, 0);
	must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}
} // namespace

extern "C" __attribute__((visibility("default"))) void truth_mark(const char *key, long value)
{
	note("\"" + std::string(key) + "\": " + std::to_string(value));
}

TORCH_LIBRARY(gpu, m)
{
	m.def("upload(Tensor x) -> Tensor", upload);
	m.def("gemm(Tensor a, Tensor b) -> Tensor", gemm);
	m.def("linear(Tensor x, Tensor w) -> Tensor", [](const at::Tensor &x, const at::Tensor &w) {
		return Linear::apply(x, w);
	});
	m.def("relu(Tensor x) -> Tensor", [](const at::Tensor &x) { return Relu::apply(x); });
	m.def("mean(Tensor x) -> Tensor", [](const at::Tensor &x) { return Mean::apply(x); });
	m.def("sgd_(Tensor(a!) w, Tensor g, float rate) -> ()", sgd);
	m.def("all_reduce(Tensor(a!) t) -> ()", all_reduce);
	m.def("replay() -> ()", replay);
	m.def("other_device(int device) -> ()", other_device);
	m.def("scratch(int bytes) -> ()", scratch);
	m.def("tail(int blocks) -> ()", tail);
	m.def("wait() -> ()", wait);
}
