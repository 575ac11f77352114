/* SPDX-License-Identifier: Apache-2.0 */
/* The fake GPU itself: that its CUPTI behaves as tests/fake/ASSUMPTIONS says. */
#include "tests/fake/cudart.h"
#include "tests/fake/fake.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the libraries, in a child of the test's own ---- */

static int (*enable)(int), (*disable)(int), (*flush)(uint32_t);
static int (*next)(uint8_t *, size_t, void **), (*dropped)(void *, uint32_t, size_t *);
static int (*subscribe)(void **, void *, void *), (*stamp)(uint64_t *);
static int (*attribute)(int, size_t *, void *), (*runtime_api)(uint32_t, uint8_t);
static typeof(fake_set) *set;
static typeof(fake_fill) *fill;
static typeof(fake_deliver) *deliver;
static typeof(fake_storm) *storm;
static typeof(fake_cupti) *state;
static typeof(fake_kernel) *kernel;
static typeof(cudaLaunchKernel) *launch;
static typeof(cudaMemcpy) *copy;
static typeof(cudaMalloc) *allocate;
static typeof(cudaDeviceSynchronize) *synchronize;

enum { SIZE = 1 << 16, MOST = 4096 };
static struct seen {
	uint32_t kind, correlation, cbid;
	uint64_t start, end;
	char name[64];
} seen[MOST];
static atomic_uint n_seen;
static size_t buffer_size = SIZE;
static uint8_t *given; /* always this one */

static void requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = given ? given : aligned_alloc(64, SIZE);
	*size = buffer_size;
	*most = 0;
}

static void read_record(const uint8_t *r)
{
	struct seen *s = &seen[n_seen++ % MOST];
	const char *name = NULL;

	memcpy(&s->kind, r, 4);
	if (s->kind == 5 || s->kind == 4) {
		memcpy(&s->cbid, r + 4, 4);
		memcpy(&s->start, r + 8, 8);
		memcpy(&s->end, r + 16, 8);
		memcpy(&s->correlation, r + 32, 4);
	} else if (s->kind == 10) {
		memcpy(&s->start, r + 16, 8);
		memcpy(&s->end, r + 24, 8);
		memcpy(&s->correlation, r + 92, 4);
		memcpy(&name, r + 104, sizeof(name));
		snprintf(s->name, sizeof(s->name), "%s", name);
	}
}

static void completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
		      size_t valid)
{
	void *record = NULL;

	(void)context, (void)stream, (void)size;
	while (next(buffer, valid, &record) == 0)
		read_record(record);
	if (!given)
		free(buffer);
}

static void *need(void *library, const char *name)
{
	void *at = dlsym(library, name);

	ck_assert_msg(at != NULL, "no %s", name);
	return at;
}

static void load(const char *version, const char *cudart, const char *cupti)
{
	void *driver = fake_open(version, "libcuda.so.1"), *rt, *c;

	ck_assert_msg(driver != NULL, "%s", dlerror());
	rt = fake_open(version, cudart);
	c = fake_open(version, cupti);
	ck_assert(rt && c);
	set = need(driver, "fake_set");
	kernel = need(driver, "fake_kernel");
	launch = need(rt, "cudaLaunchKernel");
	copy = need(rt, "cudaMemcpy");
	allocate = need(rt, "cudaMalloc");
	synchronize = need(rt, "cudaDeviceSynchronize");
	enable = need(c, "cuptiActivityEnable");
	disable = need(c, "cuptiActivityDisable");
	flush = need(c, "cuptiActivityFlushAll");
	next = need(c, "cuptiActivityGetNextRecord");
	dropped = need(c, "cuptiActivityGetNumDroppedRecords");
	subscribe = need(c, "cuptiSubscribe");
	stamp = need(c, "cuptiGetTimestamp");
	attribute = need(c, "cuptiActivitySetAttribute");
	runtime_api = dlsym(c, "cuptiActivityEnableRuntimeApi");
	fill = need(c, "fake_fill");
	deliver = need(c, "fake_deliver");
	storm = need(c, "fake_storm");
	state = need(c, "fake_cupti");
	ck_assert_int_eq(
		((int (*)(void *, void *))need(c, "cuptiActivityRegisterCallbacks"))(
			requested, completed),
		0);
}

static void load_13(void)
{
	load("13.0", "libcudart.so.13", "libcupti.so.13");
}

static int go(const char *name, int times)
{
	dim3 one = { 1, 1, 1 };
	int r = 0;

	for (int i = 0; i < times && r == 0; i++)
		r = launch(kernel(name, NULL), one, one, NULL, 0, NULL);
	return r;
}

static unsigned count(uint32_t kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_seen && i < MOST; i++)
		n += seen[i].kind == kind;
	return n;
}

static struct seen *first(uint32_t kind)
{
	for (unsigned i = 0; i < n_seen && i < MOST; i++)
		if (seen[i].kind == kind)
			return &seen[i];
	ck_abort_msg("no record of kind %u", kind);
	return NULL;
}

/* ---- */

START_TEST(a_flush_leaves_what_has_not_ended)
{
	load_13();
	set("FAKE_KERNEL_NS", "50000000");
	enable(10);
	ck_assert_int_eq(go("a", 1), 0);
	ck_assert_int_eq(flush(0), 0);
	ck_assert_uint_eq(n_seen, 0);
	synchronize();
	ck_assert_int_eq(flush(0), 0);
	ck_assert_uint_eq(count(10), 1);
	ck_assert_uint_eq(seen[0].end - seen[0].start, 50000000);
	ck_assert_str_eq(seen[0].name, "a");
}
END_TEST

START_TEST(a_forced_flush_cuts)
{
	load_13();
	set("FAKE_KERNEL_NS", "50000000");
	enable(10);
	go("a", 1);
	ck_assert_int_eq(flush(1), 0);
	ck_assert_uint_eq(count(10), 1);
	ck_assert_uint_ne(seen[0].start, 0);
	ck_assert_uint_eq(seen[0].end, 0);
	synchronize();
	flush(1);
	ck_assert_uint_eq(count(10), 1);
}
END_TEST

START_TEST(a_call_and_its_kernel_have_one_id)
{
	load_13();
	set("FAKE_CORRELATION", "4294967295");
	enable(5);
	enable(4);
	enable(10);
	ck_assert_int_eq(go("a", 2), 0);
	synchronize();
	flush(0);
	ck_assert_uint_eq(count(4), 0); /* nested */
	ck_assert_uint_eq(count(5), 3);
	ck_assert_uint_eq(count(10), 2);
	ck_assert_uint_eq(first(10)->correlation, UINT32_MAX);
	ck_assert_uint_eq(first(5)->correlation, UINT32_MAX);
	ck_assert_uint_eq(first(5)->cbid, 211);
	for (unsigned i = 0; i < n_seen; i++)
		ck_assert_uint_ne(seen[i].correlation, 0); /* left out by the wrap */
}
END_TEST

START_TEST(a_list_of_calls_is_kept)
{
	static void *memory;

	load_13();
	ck_assert_int_eq(runtime_api(211, 1), 0);
	enable(10);
	go("a", 1);
	allocate(&memory, 100);
	synchronize();
	flush(0);
	ck_assert_uint_eq(count(5), 1);
	ck_assert_uint_eq(first(5)->cbid, 211);
	enable(5);
	disable(5);
	go("a", 1);
	synchronize();
	flush(0);
	ck_assert_uint_eq(count(5), 1);
	ck_assert_uint_eq(count(10), 2);
}
END_TEST

START_TEST(errors_drops_and_odd_times_to_order)
{
	size_t n = 9;
	void *subscriber;

	load_13();
	set("FAKE_ERROR", "cuptiActivityEnable/10=35*1,cudaLaunchKernel=700*1");
	ck_assert_int_eq(enable(10), 35);
	ck_assert_int_eq(enable(10), 0);
	ck_assert_int_eq(go("a", 1), 700);
	set("FAKE_OWNER", "nsys");
	ck_assert_int_eq(subscribe(&subscriber, (void *)completed, NULL), 39);
	set("FAKE_DROP_EVERY", "2");
	go("a", 4);
	set("FAKE_DROP_EVERY", NULL);
	ck_assert_int_eq(dropped(NULL, 0, &n), 0);
	ck_assert_uint_eq(n, 2);
	dropped(NULL, 0, &n);
	ck_assert_uint_eq(n, 0);
	set("FAKE_ZERO_EVERY", "1");
	go("b", 1);
	synchronize();
	flush(0);
	ck_assert_uint_eq(count(10), 3);
	ck_assert_uint_eq(seen[2].start, 0);
}
END_TEST

START_TEST(clocks_can_be_skewed)
{
	struct timespec t;
	uint64_t ns;

	load_13();
	set("FAKE_SKEW_NS", "-5000000000");
	ck_assert_int_eq(stamp(&ns), 0);
	clock_gettime(CLOCK_REALTIME, &t);
	ck_assert_uint_eq((uint64_t)t.tv_sec - ns / 1000000000u - 5 <= 1, 1);
}
END_TEST

START_TEST(many_threads_ask_at_once)
{
	struct fake_cupti s;

	load_13();
	storm(64, 10);
	state(&s);
	ck_assert_uint_eq(s.requested, 64);
	ck_assert_uint_eq(s.buffers_out, 64);
	deliver();
	state(&s);
	ck_assert_uint_eq(s.buffers_out, 0);
	ck_assert_uint_eq(count(10), 640);
}
END_TEST

START_TEST(records_have_every_field)
{
	load_13();
	ck_assert_int_eq(fill(10, 7), 0);
	ck_assert_int_eq(fill(60, 7), 21);
	deliver();
	ck_assert_uint_eq(first(10)->correlation,
			  (uint32_t)fake_value(10, "correlationId", 7));
	ck_assert_str_eq(first(10)->name, "10.name.7");
}
END_TEST

START_TEST(old_ones_lack_what_is_new)
{
	uint8_t on = 1;
	size_t size = 1;

	load("11.7", "libcudart.so.11.0", "libcupti.so.11.7");
	ck_assert_ptr_null(runtime_api);
	ck_assert_int_eq(attribute(5, &size, &on), 0);
	ck_assert_int_eq(attribute(9, &size, &on), 1);
	ck_assert_int_eq(enable(52), 21);
	enable(10);
	ck_assert_int_eq(enable(3), 14);
}
END_TEST

START_TEST(a_buffer_given_twice_is_noticed)
{
	load_13();
	given = aligned_alloc(64, SIZE);
	storm(2, 1);
}
END_TEST

START_TEST(a_child_of_fork_must_not_call)
{
	int status;
	pid_t child;

	load_13();
	enable(10);
	go("a", 1);
	child = fork();
	if (child == 0) {
		freopen("/dev/null", "w", stderr);
		signal(SIGABRT, SIG_DFL);
		flush(0);
		_exit(0);
	}
	waitpid(child, &status, 0);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}
END_TEST

START_TEST(copies_copy)
{
	char from[] = "fake", to[8] = "";
	void *memory;

	load_13();
	ck_assert_int_eq(allocate(&memory, 100), 0);
	copy(memory, from, 5, cudaMemcpyHostToDevice);
	copy(to, memory, 5, cudaMemcpyDeviceToHost);
	ck_assert_str_eq(to, "fake");
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("fake");

	tcase_add_test(tc, a_flush_leaves_what_has_not_ended);
	tcase_add_test(tc, a_forced_flush_cuts);
	tcase_add_test(tc, a_call_and_its_kernel_have_one_id);
	tcase_add_test(tc, a_list_of_calls_is_kept);
	tcase_add_test(tc, errors_drops_and_odd_times_to_order);
	tcase_add_test(tc, clocks_can_be_skewed);
	tcase_add_test(tc, many_threads_ask_at_once);
	tcase_add_test(tc, records_have_every_field);
	tcase_add_test(tc, old_ones_lack_what_is_new);
	tcase_add_test_raise_signal(tc, a_buffer_given_twice_is_noticed, SIGABRT);
	tcase_add_test(tc, a_child_of_fork_must_not_call);
	tcase_add_test(tc, copies_copy);
	return unit_run(tc, "fake");
}
