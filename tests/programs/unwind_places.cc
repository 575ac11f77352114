/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places [LOOPS] - says peer_here from below other people's code: the C and C++ libraries,
 * exceptions on their way, libtorch and its threads. With LOOPS exceptions are then thrown
 * so often, under peer_arm(); and the terminate handler leaves with exit status 3.
 */
#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <ftw.h>
#include <pthread.h>
#include <search.h>
#include <ucontext.h>

extern "C" void peer_here(const char *name) __attribute__((weak));
extern "C" void peer_arm() __attribute__((weak));

/* Once for each name. */
static void here(const char *name)
{
	static auto &known = *new std::set<std::string>; /* atexit comes after its end */
	static std::mutex lock;
	bool first;

	{
		std::lock_guard<std::mutex> guard(lock);
		first = known.insert(name).second;
	}
	if (first && peer_here)
		peer_here(name);
}

/* ---- exceptions ---- */

struct Leaving {
	const char *name;
	~Leaving()
	{
		here(name);
	}
};

struct Thrown : std::runtime_error {
	Thrown() : std::runtime_error("thrown")
	{
		here("exception made");
	}
	~Thrown() override
	{
		here("exception gone");
	}
};

static __attribute__((noinline)) int throws(int depth)
{
	Leaving leaving{ depth == 5 ? "destructor, first frame" : "destructor, last frame" };

	if (depth == 5)
		throw Thrown();
	volatile int sum = throws(depth + 1);
	return sum + 1;
}

static void catches()
{
	try {
		throws(0);
	} catch (const Thrown &) {
		here("catch");
		try {
			throw;
		} catch (const std::runtime_error &) {
			here("catch again");
		}
	}
	try {
		at::ones({ 2, 2 }).matmul(at::ones({ 3, 3 }));
	} catch (const c10::Error &) {
		here("catch of libtorch's");
	}
	try {
		std::async(std::launch::async, [] { throws(3); }).get();
	} catch (const std::exception &) {
		here("catch of another thread's");
	}
}

[[noreturn]] static void on_terminate()
{
	here("terminate");
	std::exit(3);
}

static void nobody_catches() noexcept
{
	throws(4);
}

/* ---- the C library ---- */

static int compare(const void *a, const void *b)
{
	here(*static_cast<const int *>(a) < 10 ? "qsort" : "bsearch");
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static int compare_tree(const void *a, const void *b)
{
	here("tsearch");
	return static_cast<const char *>(a) - static_cast<const char *>(b);
}

static int each_file(const char *, const struct stat *, int, struct FTW *)
{
	here("nftw");
	return 1;
}

static ucontext_t back, coroutine;

static void in_coroutine()
{
	here("coroutine");
	swapcontext(&coroutine, &back);
}

static void on_signal(int)
{
	here("signal handler");
}

static void on_stack_of_its_own(int)
{
	here("signal stack");
}

static void signals()
{
	static char room[1 << 16];
	struct sigaction sa {};
	stack_t ss{};

	sa.sa_handler = on_signal;
	sigaction(SIGUSR1, &sa, nullptr);
	raise(SIGUSR1);
	ss.ss_sp = room;
	ss.ss_size = sizeof(room);
	sigaltstack(&ss, nullptr);
	sa.sa_handler = on_stack_of_its_own;
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &sa, nullptr);
	raise(SIGUSR1);
}

static void c_library(const char *plugin)
{
	static char stack[1 << 16];
	static char nodes[2];
	int numbers[] = { 3, 1, 2 }, key = 10;
	void *root = nullptr;

	qsort(numbers, 3, sizeof(int), compare);
	bsearch(&key, numbers, 3, sizeof(int), compare);
	tsearch(&nodes[0], &root, compare_tree);
	tsearch(&nodes[1], &root, compare_tree);
	twalk(root, [](const void *, VISIT, int) { here("twalk"); });
	nftw("/usr/lib", each_file, 4, 0);
	dlclose(dlopen(plugin, RTLD_NOW));
	signals();
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = stack;
	coroutine.uc_stack.ss_size = sizeof(stack);
	makecontext(&coroutine, in_coroutine, 0);
	swapcontext(&back, &coroutine);
}

static void threads()
{
	static pthread_key_t key;
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_t t;

	pthread_key_create(&key, [](void *) { here("end of a thread's key"); });
	pthread_create(
		&t, nullptr,
		[](void *arg) -> void * {
			here("pthread");
			pthread_setspecific(key, &key);
			pthread_once(&once, [] { here("pthread_once"); });
			Leaving leaving{ "pthread_exit" };
			pthread_exit(arg);
		},
		nullptr);
	pthread_join(t, nullptr);
	std::thread([] {
		thread_local Leaving leaving{ "thread_local" };
		here(leaving.name[0] ? "std::thread" : "");
	}).join();
}

static void cxx_library()
{
	std::vector<int> many(100);
	std::function<void(int)> f = [](int) { here("std::function"); };

	for (int i = 0; i < 100; i++)
		many[i] = i * 37 % 100;
	std::stable_sort(many.begin(), many.end(), [](int a, int b) {
		here("std::stable_sort");
		return a < b;
	});
	std::for_each(many.begin(), many.end(), f);
	std::shared_ptr<int>(new int, [](int *p) {
		here("shared_ptr's deleter");
		delete p;
	});
}

/* ---- libtorch ---- */

struct Twice : torch::autograd::Function<Twice> {
	static at::Tensor forward(torch::autograd::AutogradContext *, at::Tensor x)
	{
		here("autograd, forward");
		return x * 2;
	}
	static torch::autograd::tensor_list backward(torch::autograd::AutogradContext *,
						     torch::autograd::tensor_list grads)
	{
		here("autograd, backward");
		return { grads[0] * 2 };
	}
};

static void libtorch()
{
	static float numbers[4] = { 1, 2, 3, 4 };
	at::Tensor w = at::ones({ 4 }).set_requires_grad(true);

	at::addGlobalCallback(at::RecordFunctionCallback(
		[](const at::RecordFunction &) -> std::unique_ptr<at::ObserverContext> {
			here("RecordFunction, begin");
			return nullptr;
		},
		[](const at::RecordFunction &, at::ObserverContext *) {
			here("RecordFunction, end");
		}));
	at::from_blob(numbers, { 4 }, [](void *) { here("from_blob"); }).mul_(2).sort();
	w.register_hook([](at::Tensor grad) {
		here("hook of a gradient");
		return grad;
	});
	std::thread([w] { Twice::apply(w).sum().backward(); }).join();
	at::set_num_threads(2);
	at::parallel_for(0, 1000, 1, [](int64_t from, int64_t) {
		here(from ? "parallel_for, another's" : "parallel_for, first");
	});
	at::launch([] { here("at::launch"); });
	at::conv2d(at::randn({ 4, 3, 32, 32 }), at::randn({ 8, 3, 3, 3 }));
}

int main(int argc, char **argv)
{
	std::string plugin = std::string(argv[0]) + "-plugin.so";

	std::atexit([] { here("atexit"); });
	c_library(plugin.c_str());
	threads();
	cxx_library();
	catches();
	libtorch();
	std::printf("done\n");
	if (argc > 1) {
		if (peer_arm)
			peer_arm();
		for (int i = std::atoi(argv[1]); i > 0; i--)
			catches();
		std::set_terminate(on_terminate);
		nobody_catches();
	}
	return 0;
}
