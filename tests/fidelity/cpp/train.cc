// SPDX-License-Identifier: Apache-2.0
// train - libtorch without Python: a network, two optimizers, threads, exceptions.
//
// With FIDELITY_OUT it writes torch's own trace to <folder>/<pid>.json, as harness.py
// does: through Kineto where it is built in, else from the events of the older profiler.
#include <torch/torch.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <torch/csrc/autograd/profiler_legacy.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <unistd.h>

namespace prof = torch::autograd::profiler;
namespace impl = torch::profiler::impl;

static std::string shapes_text(const std::vector<std::vector<int64_t>> &shapes)
{
	std::string text = "[";
	for (auto &shape : shapes) {
		text += text.size() > 1 ? ", [" : "[";
		for (size_t i = 0; i < shape.size(); i++)
			text += (i ? ", " : "") + std::to_string(shape[i]);
		text += "]";
	}
	return text + "]";
}

// Begins and ends of the older profiler, paired by handle.
static void write_legacy(const std::string &path)
{
	auto lists = prof::disableProfilerLegacy();
	std::ofstream out(path);
	const char *comma = "";

	out << "{\"legacy\": 1, \"traceEvents\": [";
	for (auto &list : lists) {
		std::map<uint64_t, double> ends;
		for (auto &event : list)
			if (event.kindStr() == "pop")
				ends[event.handle()] = event.cpuUs();
		for (auto &event : list) {
			if (event.kindStr() != "push")
				continue;
			bool user = event.scope() == static_cast<uint8_t>(at::RecordScope::USER_SCOPE);
			out << comma << "{\"ph\": \"X\", \"cat\": \"" << (user ? "user_annotation" : "cpu_op")
			    << "\", \"name\": \"" << event.name() << "\", \"pid\": " << getpid()
			    << ", \"tid\": " << event.threadId() << ", \"ts\": " << std::fixed << event.cpuUs()
			    << ", \"dur\": " << ends[event.handle()] - event.cpuUs()
			    << ", \"args\": {\"Input Dims\": " << shapes_text(event.shapes());
			if (event.sequenceNr() >= 0)
				out << ", \"Sequence number\": " << event.sequenceNr()
				    << ", \"Fwd thread id\": " << event.fwdThreadId();
			out << "}}";
			comma = ",\n";
		}
	}
	out << "]}\n";
}

template <typename F> static void profiled(F run)
{
	const char *folder = getenv("FIDELITY_OUT");
	bool kineto = TORCH_VERSION_MAJOR >= 2;	// Debian builds 1.13 without it
	impl::ProfilerConfig config(kineto ? impl::ProfilerState::KINETO : impl::ProfilerState::CPU,
				    true, true);
	std::string path = std::string(folder ? folder : "") + "/" + std::to_string(getpid()) + ".json";

	if (folder && kineto) {
		prof::prepareProfiler(config, { impl::ActivityType::CPU });
		prof::enableProfiler(config, { impl::ActivityType::CPU });
	} else if (folder) {
		prof::enableProfilerLegacy(config);
	}
	{ RECORD_USER_SCOPE("fidelity::begin"); }
	run();
	{ RECORD_USER_SCOPE("fidelity::end"); }
	if (folder && kineto)
		prof::disableProfiler()->save(path);
	else if (folder)
		write_legacy(path);
}

static void train()
{
	auto net = torch::nn::Sequential(torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3)),
					 torch::nn::ReLU(), torch::nn::Flatten(),
					 torch::nn::Linear(4 * 36, 5));
	torch::optim::SGD sgd(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
	torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(1e-3));
	for (int i = 0; i < 4; i++) {
		RECORD_USER_SCOPE("update");
		auto x = torch::randn({ 3, 1, 8, 8 });
		auto loss = torch::nn::functional::cross_entropy(net->forward(x),
								 torch::randint(5, { 3 }));
		sgd.zero_grad();
		loss.backward();
		if (i % 2)
			adam.step();
		else
			sgd.step();
		printf("%.4f\n", loss.item<double>());
	}
	try {
		torch::mm(torch::ones({ 2, 3 }), torch::ones({ 2, 3 }));
	} catch (const c10::Error &) {
		puts("thrown");
	}
	torch::einsum("ij,jk->ik", { torch::ones({ 2, 3 }), torch::ones({ 3, 4 }) }).sum();
	at::parallel_for(0, 4, 1, [](int64_t, int64_t) {});
}

int main()
{
	torch::manual_seed(0);
	torch::set_num_threads(1);
	profiled(train);
	return 0;
}
