/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tee_bench.h"

#include "agent/cupti/flow/round.h"
#include "base/sys.h"

#include <errno.h>
#include <sys/wait.h>

/* Where the program's own profiler asks for more, or less, than we give. */

/* ---- client/copies.c: its buffers ---- */

static struct {
	_Alignas(16) uint8_t mem[64][4096];
	unsigned given, most_seen, buffers;
	size_t size, most, shift;
	int error;
} odd;

static void odd_requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = odd.given < 64 ? odd.mem[odd.given++] + odd.shift : NULL;
	*size = odd.size;
	*most = odd.most;
	errno = odd.error;
}

static void odd_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			  size_t valid)
{
	unsigned n = (unsigned)decode_count(buffer, valid);

	(void)context;
	(void)stream;
	ck_assert_uint_le(valid, size);
	odd.buffers++;
	odd.most_seen = n > odd.most_seen ? n : odd.most_seen;
}

static void odd_client(size_t size, size_t most, size_t shift)
{
	memset(odd.mem, 0xee, sizeof(odd.mem));
	odd.size = size;
	odd.most = most;
	odd.shift = shift;
	bench_start("13.0");
	ck_assert_int_eq(CALL(ActivityRegisterCallbacks)(odd_requested, odd_completed),
			 0);
	ck_assert_int_eq(CALL(ActivityEnable)(KIND_CONCURRENT_KERNEL), 0);
}

START_TEST(no_more_records_than_it_allows)
{
	odd_client(4096, 2, 0);
	launches(6);
	client_stops();
	ck_assert_uint_eq(odd.most_seen, 2);
	ck_assert_uint_eq(odd.buffers, 3);
}
END_TEST

/* A kernel in a buffer of ours that CUPTI has had since the turn that is said. */
static void kernel_in(uint8_t *mem, size_t size)
{
	size_t length = bench.record(mem, KIND_CONCURRENT_KERNEL, 1);
	uint64_t now = moments_now();

	memcpy(mem + LAYOUT_AT_CONCURRENT_KERNEL_start, &now, 8);
	memcpy(mem + LAYOUT_AT_CONCURRENT_KERNEL_end, &now, 8);
	ck_assert(!copies_completed(NULL, 0, mem, size, length));
}

/* What CUPTI held when the client flushed is handed on as it comes back; what it was
 * given later waits for the next flush. */
START_TEST(what_was_out_at_a_flush_comes_at_once)
{
	uint8_t *mem[3];
	size_t size, most;
	unsigned before;

	odd_client(4096, 0, 0);
	for (int i = 0; i < 3; i++) {
		buffers_requested(&mem[i], &size, &most);
		ck_assert_ptr_nonnull(mem[i]);
		if (i == 1)
			copies_late(buffers_turn());
	}
	before = odd.buffers;
	kernel_in(mem[2], size);
	ck_assert_uint_eq(odd.buffers, before);
	kernel_in(mem[1], size);
	ck_assert_uint_eq(odd.buffers, before + 1);
	kernel_in(mem[0], size);
	ck_assert_uint_eq(odd.buffers, before + 2);
	copies_deliver();
	ck_assert_uint_eq(odd.buffers, before + 2);
	ck_assert_uint_eq(odd.most_seen, 2); /* the first went with the second */
}
END_TEST

START_TEST(a_record_that_fits_no_buffer_is_dropped)
{
	size_t dropped = 0;

	odd_client(64, 0, 0);
	launches(3);
	client_stops();
	ck_assert_int_eq(CALL(ActivityGetNumDroppedRecords)(NULL, 0, &dropped), 0);
	ck_assert_uint_eq(dropped, 3);
	for (unsigned i = 0; i < odd.given; i++)
		for (unsigned at = 64; at < 4096; at++)
			ck_assert_uint_eq(odd.mem[i][at], 0xee);
}
END_TEST

START_TEST(a_buffer_that_is_no_good_is_as_none)
{
	odd_client(4096, 0, 4);
	launches(3);
	client_stops();
	ck_assert_uint_eq(odd.buffers, 0);
	ck_assert_uint_eq(odd.mem[0][4], 0xee);
}
END_TEST

START_TEST(its_errno_is_its_own)
{
	odd.error = EIO;
	errno = ENOENT;
	odd_client(4096, 0, 0);
	ck_assert_uint_gt(odd.given, 0);
	errno = ENOENT;
	ck_assert_int_eq(CALL(ActivityFlushAll)(0), 0);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(CALL(ActivityEnable)(KIND_RUNTIME), 0);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* A record as the client would get it. */
static uint8_t copy[256];

static void keep_kernel(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
	(void)context;
	(void)stream;
	(void)size;
	if (valid >= 208 && layout_read(buffer, 4) == KIND_CONCURRENT_KERNEL)
		memcpy(copy, buffer, 208);
}

START_TEST(fields_that_it_did_not_ask_for_are_empty)
{
	bench_spool();
	bench.config.cuda_latency = true;
	bench_libraries("13.0");
	bench_begin_session();
	odd.size = 4096;
	ck_assert_int_eq(CALL(ActivityRegisterCallbacks)(odd_requested, keep_kernel), 0);
	ck_assert_int_eq(CALL(ActivityEnable)(KIND_CONCURRENT_KERNEL), 0);
	if (_i)
		ck_assert_int_eq(CALL(ActivityEnableLatencyTimestamps)(1), 0);
	launches(1);
	client_stops();
	ck_assert_uint_eq(layout_read(copy, 4), 10);
	ck_assert_int_eq(LAYOUT_GET(copy, CONCURRENT_KERNEL, queued) != 0, _i);
}
END_TEST

START_TEST(our_own_calls_are_nobody_elses)
{
	bench_start("13.0");
	client_starts();
	while (!round_thread())
		usleep(1000);
	round_consumer(sys_tid()); /* as if this thread were ours */
	launches(3);
	client_stops();
	ck_assert_uint_eq(it.kernels, 3);
	ck_assert_uint_eq(it.calls, 0);
}
END_TEST

START_TEST(what_it_is_told_of_losses_counts_for_us)
{
	size_t dropped = 0;

	bench_start("13.0");
	client_starts();
	bench.fake_set("FAKE_DROP_EVERY", "2");
	launches(20);
	client_stops();
	ck_assert_int_eq(CALL(ActivityGetNumDroppedRecords)(NULL, 0, &dropped), 0);
	ck_assert_uint_ge(dropped, 19);
	ck_assert_uint_eq(copies_dropped(0), dropped);
	ck_assert_uint_eq(copies_dropped(0), 0);
}
END_TEST

/* ---- client/calls.c, client/callbacks.c, client/real.c ---- */

START_TEST(a_kernel_kind_that_is_refused_keeps_nobody_away)
{
	struct cycle_info *info;

	bench_start("13.0");
	bench.fake_set("FAKE_ERROR", "cuptiActivityEnable/3=21");
	ck_assert_int_eq(CALL(ActivityEnable)(KIND_KERNEL), 21);
	bench.fake_set("FAKE_ERROR", NULL);
	ck_assert(!retreat_blocked());
	info = bench_open();
	for (int ms = 0; ms < 4000 && !kinds_ours_on(); ms++)
		usleep(1000);
	launches(3);
	bench_seal(info, true);
	ck_assert(bench_settles(info, 5000));
	ck_assert_uint_eq(bench_records(info, REC_KERNEL), 3);
}
END_TEST

START_TEST(a_kind_that_is_refused_is_not_on)
{
	bench_start("13.0");
	bench.fake_set("FAKE_ERROR", "cuptiActivityEnable/2=21");
	ck_assert_int_eq(CALL(ActivityEnable)(KIND_MEMSET), 21);
	ck_assert(!wants_on(KIND_MEMSET));
}
END_TEST

/* What reaches CUPTI there fails. */
START_TEST(our_latencies_stay_when_it_wants_none)
{
	bench_spool();
	bench.config.cuda_latency = true;
	bench_libraries("13.0");
	bench_begin_session();
	bench.fake_set("FAKE_ERROR", "cuptiActivityEnableLatencyTimestamps=35");
	ck_assert_int_eq(CALL(ActivityEnableLatencyTimestamps)(0), 0);
	ck_assert_int_eq(CALL(ActivityEnableLatencyTimestamps)(1), 35);
}
END_TEST

START_TEST(each_context_keeps_us_away)
{
	void *context = &context;

	bench_start("13.0");
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(CALL(ActivityEnableContext)(context, KIND_MEMSET), 0);
	ck_assert_int_eq(CALL(ActivityDisableContext)(context, KIND_MEMSET), 0);
	ck_assert(retreat_blocked());
	ck_assert_int_eq(CALL(ActivityDisableContext)(context, KIND_MEMSET), 0);
	ck_assert(!retreat_blocked());
}
END_TEST

static unsigned called;

static void callback(void *arg, int domain, uint32_t cbid, const void *data)
{
	(void)arg;
	(void)domain;
	(void)cbid;
	(void)data;
	called++;
}

START_TEST(it_is_called_for_what_it_has_on)
{
	void *handle;

	bench_start("13.0");
	ck_assert_int_eq(CALL(Subscribe)(&handle, callback, NULL), 0);
	ck_assert_int_eq(CALL(EnableCallback)(1, handle, DOMAIN_RUNTIME, 211), 0);
	client_callback(DOMAIN_RUNTIME, 211, NULL);
	client_callback(DOMAIN_RUNTIME, 212, NULL);
	client_callback(DOMAIN_DRIVER, 211, NULL);
	ck_assert_uint_eq(called, 1);
	ck_assert_int_eq(CALL(EnableCallback)(0, handle, DOMAIN_RUNTIME, 211), 0);
	client_callback(DOMAIN_RUNTIME, 211, NULL);
	ck_assert_uint_eq(called, 1);
}
END_TEST

static unsigned logged(const char *path, const char *line)
{
	char text[256];
	unsigned n = 0;
	FILE *f = fopen(path, "r");

	while (f && fgets(text, sizeof(text), f))
		n += !strncmp(text, line, strlen(line));
	if (f)
		fclose(f);
	return n;
}

/* Both go through the same switches. */
START_TEST(what_is_ours_is_switched_on_again)
{
	char path[] = "/tmp/test_tee_XXXXXX";
	int fd = mkstemp(path);
	void *handle;
	unsigned before;

	bench_start("13.0");
	ck_assert_int_eq(CALL(Subscribe)(&handle, callback, NULL), 0);
	bench.fake_set("FAKE_LOG", path);
	ck_assert_int_eq(CALL(EnableDomain)(1, handle, DOMAIN_RUNTIME), 0);
	before = logged(path, "cuptiEnableCallback");
	ck_assert_int_eq(CALL(EnableDomain)(0, handle, DOMAIN_RUNTIME), 0);
	bench.fake_set("FAKE_LOG", NULL);
	ck_assert_uint_gt(logged(path, "cuptiEnableCallback"), before);
	close(fd);
	unlink(path);
}
END_TEST

/* Somewhere in the look-up another thread of the program forks. */
static int child_status = -1;
static bool forks;

void *dlopen(const char *path, int flags)
{
	typeof(dlopen) *real = dlsym(RTLD_NEXT, "dlopen");

	if (forks) {
		pid_t child = fork();

		forks = false;
		if (!child) {
			int type;

			alarm(10);
			real_fork_child();
			CALL(GetThreadIdType)(&type);
			_exit(0);
		}
		waitpid(child, &child_status, 0);
	}
	return real(path, flags);
}

START_TEST(a_child_of_a_look_up_has_no_lock)
{
	int type;

	without_us("13.0");
	forks = true;
	CALL(GetThreadIdType)(&type);
	ck_assert(!forks);
	ck_assert_int_eq(child_status, 0);
}
END_TEST

/* Two are mapped: the one that the caller is linked to (or is) is meant. */
START_TEST(each_caller_has_its_own_library)
{
	void *first = fake_open("12.4", "libcupti.so.12"), *of[2];
	bool ours;

	bench_libraries("13.0");
	ck_assert_ptr_nonnull(first);
	of[0] = bench_symbol(bench.cupti, "cuptiGetVersion");
	of[1] = bench_symbol(first, "cuptiGetVersion");
	ck_assert_ptr_ne(of[0], of[1]);
	for (unsigned i = 0; i < 2; i++)
		ck_assert_ptr_eq(real_of(YIELD_cuptiGetVersion, of[i], &ours), of[i]);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("tee, edges");

	tcase_add_checked_fixture(tc, enter, NULL);
	tcase_add_test(tc, no_more_records_than_it_allows);
	tcase_add_test(tc, what_was_out_at_a_flush_comes_at_once);
	tcase_add_test(tc, a_record_that_fits_no_buffer_is_dropped);
	tcase_add_test(tc, a_buffer_that_is_no_good_is_as_none);
	tcase_add_test(tc, its_errno_is_its_own);
	tcase_add_loop_test(tc, fields_that_it_did_not_ask_for_are_empty, 0, 2);
	tcase_add_test(tc, our_own_calls_are_nobody_elses);
	tcase_add_test(tc, what_it_is_told_of_losses_counts_for_us);
	tcase_add_test(tc, a_kernel_kind_that_is_refused_keeps_nobody_away);
	tcase_add_test(tc, a_kind_that_is_refused_is_not_on);
	tcase_add_test(tc, our_latencies_stay_when_it_wants_none);
	tcase_add_test(tc, each_context_keeps_us_away);
	tcase_add_test(tc, it_is_called_for_what_it_has_on);
	tcase_add_test(tc, what_is_ours_is_switched_on_again);
	tcase_add_test(tc, a_child_of_a_look_up_has_no_lock);
	tcase_add_test(tc, each_caller_has_its_own_library);
	return unit_run(tc, "tee, edges");
}
