/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assume [NUMBER...] - checks the lines of tests/fake/ASSUMPTIONS by their numbers, each
 * in a process of its own: on the fake GPU all must hold, on a real one this says which
 * do. CUPTI=file is the library, NCCL=file the other, ASSUME_INJECT=file what
 * assume_inject.c makes. Answers in JSON: {"1": "ok", "3": "otherwise: ...",
 * "19": "not tried: ..."}; the exit status is 1 when something is otherwise.
 */
#include "tests/fake/assume.h"

static const char *a1_nested_driver_calls(void)
{
	enable(DRIVER);
	enable(RUNTIME);
	enable(KERNEL);
	go(NULL);
	done();
	for (unsigned i = 0; i < count(DRIVER); i++)
		if (u32(nth(DRIVER, i), 32) == u32(call(211), 32))
			return say("driver call %u has the launch's id",
				   u32(nth(DRIVER, i), 4));
	return call(211)->kind ? NULL : "no launch call";
}

static uint32_t nested_id, outer_id;

static void on_call(void *arg, int domain, uint32_t cbid, const void *data)
{
	uint32_t id;

	(void)arg;
	memcpy(&id, (const char *)data + 64, sizeof(id));
	if (domain == 2 && cbid == 211)
		outer_id = id;
	if (domain == 1 && cbid == 307)
		nested_id = id;
}

static const char *a2_one_id(void)
{
	void *subscriber;

	if (CUPTI("Subscribe")(&subscriber, on_call, NULL))
		return "cannot subscribe";
	CUPTI("EnableCallback")(1, subscriber, 2, 211);
	CUPTI("EnableCallback")(1, subscriber, 1, 307);
	go(NULL);
	return outer_id && outer_id == nested_id
		       ? NULL
		       : say("runtime %u, driver %u", outer_id, nested_id);
}

static const char *a3_ids_need_calls(void)
{
	enable(KERNEL);
	go(NULL);
	done();
	return count(KERNEL) && u32(nth(KERNEL, 0), 92) == 0
		       ? NULL
		       : say("%u kernels, id %u", count(KERNEL), u32(nth(KERNEL, 0), 92));
}

static const char *a4_ids_without_the_call(void)
{
	if (CUPTI("ActivityEnableRuntimeApi")(41, 1))
		return "?before 12.5";
	enable(KERNEL);
	go(NULL);
	done();
	return count(KERNEL) && u32(nth(KERNEL, 0), 92) ? NULL : "id 0";
}

static const char *a5_ids_in_order(void)
{
	enable(RUNTIME);
	go(NULL);
	go(NULL);
	done();
	if (u32(nth(RUNTIME, 0), 32) != 1)
		return say("the first id is %u", u32(nth(RUNTIME, 0), 32));
	for (unsigned i = 1; i < count(RUNTIME); i++)
		if (u32(nth(RUNTIME, i), 32) != u32(nth(RUNTIME, i - 1), 32) + 1)
			return say("after id %u comes %u", u32(nth(RUNTIME, i - 1), 32),
				   u32(nth(RUNTIME, i), 32));
	return NULL;
}

static const char *a6_kernel_then_call(void)
{
	const struct seen *k, *c;

	enable(RUNTIME);
	enable(KERNEL);
	go(NULL);
	done();
	k = nth(KERNEL, 0);
	c = call(211);
	if (!k->kind || !c->kind || k->buffer != c->buffer)
		return "not in one buffer";
	return k < c ? NULL : "the call comes first";
}

static const char *a7_flush_holds_back(void)
{
	unsigned before;

	go(NULL);
	cudaDeviceSynchronize();
	enable(KERNEL);
	enable(RUNTIME);
	go(net.stream);
	cudaDeviceSynchronize();
	go_slowly();
	flush(0);
	before = n_seen;
	done();
	if (count(KERNEL) < 2)
		return say("%u kernels", count(KERNEL));
	return before == 0 ? NULL : say("%u records came with the flush", before);
}

static const char *a8_forced_flush_cuts(void)
{
	unsigned n;

	go(NULL);
	cudaDeviceSynchronize();
	enable(KERNEL);
	go_slowly();
	flush(1);
	n = count(KERNEL);
	if (n != 1 || u64(nth(KERNEL, 0), 24))
		return say("%u kernels, end %ju", n, (uintmax_t)u64(nth(KERNEL, 0), 24));
	if (!u64(nth(KERNEL, 0), 16))
		return "start is 0";
	done();
	flush(1);
	return count(KERNEL) == 1 ? NULL : "it came again";
}

static const char *a9_own_thread(void)
{
	enable(RUNTIME);
	go(NULL);
	cudaDeviceSynchronize();
	flush(0);
	if (!n_completed)
		return "FlushAll returned first";
	return complete_thread != tid() ? NULL : "the caller's thread";
}

static const char *a10_full_buffers(void)
{
	buffer_size = 4096;
	enable(KERNEL);
	for (int i = 0; i < 200; i++)
		go(NULL);
	cudaDeviceSynchronize();
	usleep(100000);
	return n_completed ? NULL : "none came without a flush";
}

static const char *a11_requesting_thread(void)
{
	enable(RUNTIME);
	go(NULL);
	return request_thread == tid() ? NULL : "another thread";
}

static const char *a12_dirty_buffers(void)
{
	uint8_t on = 1;
	size_t size = 1;

	CUPTI("ActivitySetAttribute")(5, &size, &on);
	enable(RUNTIME);
	go(NULL);
	done();
	return tail_dirty ? NULL : "cleared";
}

static const char *a13_cleared_buffers(void)
{
	enable(RUNTIME);
	go(NULL);
	done();
	return tail_dirty ? say("%zu bytes are not 0", tail_dirty) : NULL;
}

static const char *a14_null_buffers(void)
{
	size_t dropped = 0;

	if (version() < 27)
		return "?crashes before 12.9";
	null_buffers = true;
	enable(RUNTIME);
	go(NULL);
	done();
	CUPTI("ActivityGetNumDroppedRecords")(NULL, 0, &dropped);
	return dropped ? NULL : "nothing is counted";
}

static const char *a15_drops_are_read_once(void)
{
	size_t dropped = 0, again = 7;

	if (version() < 27)
		return "?no way to make drops";
	null_buffers = true;
	enable(RUNTIME);
	go(NULL);
	done();
	CUPTI("ActivityGetNumDroppedRecords")(NULL, 0, &dropped);
	CUPTI("ActivityGetNumDroppedRecords")(NULL, 0, &again);
	return dropped && !again ? NULL : say("%zu, then %zu", dropped, again);
}

static const char *a16_too_late_for_per_thread(void)
{
	uint8_t on = 1;
	size_t size = 1;
	int r;

	if (version() < 21)
		return "?before 12.3";
	enable(RUNTIME);
	r = CUPTI("ActivitySetAttribute")(9, &size, &on);
	return r == 7 ? NULL : say("returns %d", r);
}

static const char *a17_kernels_one_way(void)
{
	int r;

	enable(KERNEL);
	r = enable(KERNEL_3);
	return r == 14 ? NULL : say("returns %d", r);
}

static const char *a18_lists_are_forgotten(void)
{
	if (CUPTI("ActivityEnableRuntimeApi")(211, 1))
		return "?before 12.5";
	enable(RUNTIME);
	disable(RUNTIME);
	go(NULL);
	done();
	return count(RUNTIME) == 0 ? NULL : say("%u records", count(RUNTIME));
}

static const char *a45_off_while_it_runs(void)
{
	const struct seen *k;

	if (version() >= 26 && version() <= 130000)
		return "?it may hang";
	go(NULL);
	cudaDeviceSynchronize();
	enable(KERNEL);
	enable(RUNTIME);
	go_slowly();
	disable(RUNTIME);
	disable(KERNEL);
	go(NULL);
	done();
	k = nth(KERNEL, 0);
	if (count(KERNEL) != 1 || !u64(k, 16) || u64(k, 24) <= u64(k, 16))
		return say("%u kernels, begin %lu, end %lu", count(KERNEL), u64(k, 16),
			   u64(k, 24));
	return NULL;
}

#include "tests/fake/assume_launch.h"

#include "tests/fake/assume_clients.h"

static const struct check {
	unsigned number;
	const char *(*run)(void);
} checks[] = {
	{ 1, a1_nested_driver_calls },
	{ 2, a2_one_id },
	{ 3, a3_ids_need_calls },
	{ 4, a4_ids_without_the_call },
	{ 5, a5_ids_in_order },
	{ 6, a6_kernel_then_call },
	{ 7, a7_flush_holds_back },
	{ 8, a8_forced_flush_cuts },
	{ 9, a9_own_thread },
	{ 10, a10_full_buffers },
	{ 11, a11_requesting_thread },
	{ 12, a12_dirty_buffers },
	{ 13, a13_cleared_buffers },
	{ 14, a14_null_buffers },
	{ 15, a15_drops_are_read_once },
	{ 16, a16_too_late_for_per_thread },
	{ 17, a17_kernels_one_way },
	{ 18, a18_lists_are_forgotten },
	{ 19, a19_peer_copies },
	{ 20, a20_whole_graphs },
	{ 21, a21_graph_nodes },
	{ 22, a22_parallel_branches },
	{ 23, a23_stream_ids },
	{ 24, a24_contexts },
	{ 25, a25_dumps },
	{ 26, a26_injection },
	{ 28, a28_fork },
	{ 27, a27_exit_handlers },
	{ 29, a29_clock },
	{ 30, a30_own_clock },
	{ 31, a31_one_subscriber },
	{ 32, a32_a_second_client },
	{ 33, a33_finalize },
	{ 34, a34_lazy_loading },
	{ 35, a35_names_stay },
	{ 36, a36_external_ids },
	{ 37, a37_stream_waits },
	{ 38, a38_queries },
	{ 39, a39_new_launch },
	{ 40, a40_last_error },
	{ 41, a41_get_kernel },
	{ 42, a42_synchronous_copies },
	{ 43, a43_collectives },
	{ 44, a44_event_times },
	{ 45, a45_off_while_it_runs },
};

/* In a child: start, run, tell through the pipe. */
static void child(const struct check *c, int out)
{
	const char *path = getenv("CUPTI"), *found;

	alarm(30);
	if (c->number == 26 && getenv("ASSUME_INJECT"))
		setenv("CUDA_INJECTION64_PATH", getenv("ASSUME_INJECT"), 1);
	driver_library = dlopen("libcuda.so.1", RTLD_NOW);
	cupti_library = dlopen(path ? path : "libcupti.so", RTLD_NOW);
	if (!driver_library || !cupti_library) {
		dprintf(out, "?%s", dlerror());
		_exit(0);
	}
	register_kernels();
	tell = out;
	if (c->number != 26) /* there the driver is to be the first to call */
		CUPTI("ActivityRegisterCallbacks")(requested, completed);
	missing = NULL;
	found = c->run();
	dprintf(out, "%s", missing ? say("?no %s", missing) : found ? found : "ok");
	_exit(0);
}

static bool run(const struct check *c, bool first)
{
	char text[512] = "";
	int ends[2], status;
	ssize_t n;
	pid_t pid;

	if (pipe(ends) != 0)
		return false;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child(c, ends[1]);
	close(ends[1]);
	n = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	waitpid(pid, &status, 0);
	if (n <= 0)
		snprintf(text, sizeof(text), "the process ended with status %d", status);
	printf("%s\"%u\": \"%s%s\"", first ? "{" : ",\n ", c->number,
	       text[0] == '?'            ? "not tried: "
	       : strcmp(text, "ok") == 0 ? ""
					 : "otherwise: ",
	       text + (text[0] == '?'));
	return text[0] == '?' || strcmp(text, "ok") == 0;
}

int main(int argc, char **argv)
{
	bool first = true, good = true;

	for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++) {
		bool wanted = argc == 1;

		for (int a = 1; a < argc; a++)
			wanted = wanted || (unsigned)atoi(argv[a]) == checks[i].number;
		if (!wanted)
			continue;
		good = run(&checks[i], first) && good;
		first = false;
	}
	printf("}\n");
	return !good;
}
