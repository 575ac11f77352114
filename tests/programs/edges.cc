// SPDX-License-Identifier: Apache-2.0
// edges - operators at the edges of windows, made by hand through libtorch.
//
// An "operator" is a RecordFunction with a name and nothing in it (`dispatched` has
// libtorch's own), so that a test knows exactly what must be in the file.  Steps are made with proflaunch_step().
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <condition_variable>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" void proflaunch_step(void) __attribute__((weak));

namespace {

void step()
{
	if (proflaunch_step)
		proflaunch_step();
}

// Begins where it is made, ends where end() is called or it goes out of scope.
struct op {
	at::RecordFunction record{ at::RecordScope::FUNCTION };
	explicit op(const char *name)
	{
		if (record.isActive())
			record.before(name);
	}
	void end()
	{
		record.end();
	}
};

void nap(int ms)
{
	usleep(ms * 1000);
}

// Open at a seal, ended in the next window, open at the end of the program.
int open_ops(long)
{
	auto crossing = std::make_unique<op>("from 0 to 1");
	{ op inner("inside 0"); nap(2); }
	step();
	nap(2);
	crossing->end();
	{ op inner("inside 1"); }
	op *never = new op("open at exit");
	{ op inner("inside never"); }
	(void)never;
	exit(0);
}

// Begun while idle, ended in a window; begun in a window, ended when idle again.
int before(long)
{
	auto early = std::make_unique<op>("begun before");
	step();
	{ op inner("inside 1"); }
	early->end();
	auto late = std::make_unique<op>("ended after");
	step();
	nap(2);
	late->end();
	{ op inner("inside 2"); }
	step();
	return 0;
}

// Begun in this thread, ended in another; and others around it here.
int crossing(long)
{
	for (int i = 0; i < 5; i++) {
		auto travels = std::make_shared<op>("travels");
		{ op here("here"); nap(1); }
		std::thread([travels] {
			op there("there");
			nap(5);
			travels->end();
		}).join();
		{ op after("after"); }
	}
	step();
	return 0;
}

// Steps with one operator each, as fast as they go.
int steps(long n)
{
	for (long i = 0; i < n; i++) {
		{ op inner("each"); }
		step();
	}
	return 0;
}

// Ends in the middle of a step.
int partial(long n)
{
	for (long i = 0; i < n; i++) {
		{ op inner("each"); nap(1); }
		if (i < n - 1)
			step();
	}
	return 0;
}

// n threads at once, 10 operators each.
int threads(long n)
{
	pthread_barrier_t together;
	std::vector<pthread_t> all(n);
	pthread_attr_t small;
	pthread_barrier_init(&together, nullptr, n);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 256 * 1024);
	for (auto &one : all) {
		if (pthread_create(&one, &small, [](void *barrier) -> void * {
			pthread_barrier_wait(static_cast<pthread_barrier_t *>(barrier));
			for (int i = 0; i < 10; i++)
				op inner("in a thread");
			pthread_barrier_wait(static_cast<pthread_barrier_t *>(barrier));
			return nullptr;
		}, &together)) {
			fprintf(stderr, "too few threads on this machine\n");
			_exit(77);
		}
	}
	for (auto one : all)
		pthread_join(one, nullptr);
	step();
	return 0;
}

// n threads, one after the other, one operator each.
int short_threads(long n)
{
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	for (long i = 0; i < n; i++) {
		pthread_t one;
		if (pthread_create(&one, &small, [](void *) -> void * {
			op inner("in a thread");
			return nullptr;
		}, nullptr))
			return 1;
		pthread_join(one, nullptr);
	}
	step();
	return 0;
}

std::atomic<bool> hold{ false };
std::atomic<long> made{ 0 };

void stopped(int)
{
	for (int i = 0; i < 8000 && hold; i++)
		usleep(50);
}

// A thread is stopped by a signal wherever it is, often in the middle of emitting, and
// windows end meanwhile.
int halted(long n)
{
	std::atomic<bool> done{ false };
	signal(SIGUSR1, stopped);
	std::thread busy([&done] {
		while (!done) {
			op inner("busy");
			made++;
		}
	});
	for (long i = 0; i < n; i++) {
		usleep(250);
		hold = true;
		pthread_kill(busy.native_handle(), SIGUSR1);
		nap(1);
		step();
		step();
		nap(1);
		hold = false;
	}
	done = true;
	busy.join();
	return 0;
}

// Ends inside nested operators, by n: exit, _exit, quick_exit, abort, an exception.
int leave(long how)
{
	op outer("outer");
	op inner("inner");
	puts("leaving");
	fflush(stdout);
	switch (how) {
	case 0: exit(3);
	case 1: _exit(4);
	case 2: quick_exit(5);
	case 3: abort();
	case 4: throw std::runtime_error("out of an operator");
	case 5: raise(SIGKILL);
	}
	return 6;
}

// Exceptions through operators, caught further out.
int throwing(long n)
{
	long caught = 0;
	for (long i = 0; i < n; i++) {
		try {
			op outer("outer");
			op inner("inner");
			throw std::runtime_error("through");
		} catch (const std::exception &) {
			caught++;
		}
	}
	printf("%ld\n", caught);
	return 0;
}

// Prints after each operator how many are done, for a test that kills it.
int counting(long n)
{
	for (long i = 0; i < n; i++) {
		char line[32];
		{ op inner("counted"); }
		int len = snprintf(line, sizeof(line), "%ld\n", i + 1);
		if (write(1, line, len) != len)
			return 1;
		if (i % 1000 == 999)
			step();
	}
	return 0;
}

// For `make journeys`, which only wants what is called here: its log (tests/lint/journeys.c)
// begins anew, and takes nothing more.
void journey(bool begins)
{
	const char *folder = getenv("JOURNEYS");
	const uint64_t word = !begins;
	int fd = folder ? open((folder + ("/" + std::to_string(getpid())) + ".agent").c_str(), O_WRONLY) : -1;

	if (fd >= 0 && pwrite(fd, &word, sizeof(word), begins ? 0 : sizeof(word)) != sizeof(word))
		abort();
	if (fd >= 0)
		close(fd);
}

// n operators as fast as they go, in one window.
int many(long n)
{
	journey(true);
	for (long i = 0; i < n; i++)
		op inner("one of many");
	journey(false);
	printf("%ld\n", n);
	step();
	return 0;
}

// n operators of libtorch's own, one event each.
int dispatched(long n)
{
	at::Tensor x = at::zeros({ 1 });

	journey(true);
	for (long i = 0; i < n; i++)
		x.neg_();
	journey(false);
	return 0;
}

// Steps with nothing in them.
int boundaries(long n)
{
	step();
	journey(true);
	for (long i = 0; i < n; i++)
		step();
	journey(false);
	return 0;
}

const struct {
	const char *name;
	int (*run)(long n);
} modes[] = {
	{ "open", open_ops }, { "before", before }, { "crossing", crossing },
	{ "steps", steps }, { "partial", partial }, { "threads", threads },
	{ "short", short_threads }, { "halted", halted }, { "leave", leave },
	{ "throwing", throwing }, { "counting", counting }, { "many", many },
	{ "dispatched", dispatched }, { "boundaries", boundaries },
};

}

int main(int argc, char **argv)
{
	for (auto &mode : modes)
		if (argc > 1 && !strcmp(argv[1], mode.name))
			return mode.run(argc > 2 ? atol(argv[2]) : 1);
	fprintf(stderr, "edges MODE [N]\n");
	return 2;
}
