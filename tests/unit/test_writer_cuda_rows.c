/* SPDX-License-Identifier: Apache-2.0 */
/* Windows put together by chance: whatever the GPU did, every row nests. */
#include "tests/unit/cuda_image.h"

#define MOST 20000

static uint64_t chance = 88172645463325252ull;

static uint64_t below(uint64_t n)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return chance % n;
}

/* ---- what a reader sees ---- */

struct shown {
	int pid;
	unsigned long tid;
	uint64_t begin, end;
	size_t place;
	const char *line;
};
static struct shown shown[MOST];
static size_t count;

static int compare(const void *left, const void *right)
{
	const struct shown *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

static void collect(const struct spool_image *m)
{
	count = 0;
	for (const char *at = strstr(m->text, "\"traceEvents\""); at;
	     at = strchr(at + 1, '\n')) {
		struct shown *s = &shown[count];
		const char *line = at + 1;

		if (strncmp(line, "{\"ph\":\"X\"", 9) != 0 ||
		    !strncmp(line, "{\"ph\":\"X\",\"cat\":\"Trace\"", 23))
			continue;
		ck_assert_uint_lt(count, MOST - 1);
		s->line = line;
		s->place = count++;
		s->pid = atoi(strstr(line, "\"pid\":") + 6);
		s->tid = strtoul(strstr(line, "\"tid\":") + 6, NULL, 10);
		s->begin = image_ns(strstr(line, "\"ts\":") + 5);
		s->end = s->begin + image_ns(strstr(line, "\"dur\":") + 6);
	}
	qsort(shown, count, sizeof(*shown), compare);
}

/* Readers take a point at an end for nested, too. */
static bool is_inside(const struct shown *s, const struct shown *parent)
{
	return s->end < parent->end || (s->begin == s->end && s->end == parent->end);
}

/* On nanoseconds, with one of them free at each end and between neighbours. */
static void check_nesting(unsigned window)
{
	size_t stack[64], depth = 0;

	for (size_t i = 0; i < count; i++) {
		const struct shown *s = &shown[i];

		if (i && (shown[i - 1].pid != s->pid || shown[i - 1].tid != s->tid))
			depth = 0;
		while (depth && shown[stack[depth - 1]].end < s->begin)
			depth--;
		ck_assert_msg(!depth || is_inside(s, &shown[stack[depth - 1]]),
			      "window %u: %.200s\nis not inside %.200s", window, s->line,
			      shown[stack[depth - 1]].line);
		ck_assert_uint_lt(depth, 64);
		stack[depth++] = i;
	}
}

static unsigned of(const char *cat)
{
	char want[64];
	unsigned n = 0;

	fmt(want, sizeof(want), "\"cat\":\"%s\"", cat);
	for (size_t i = 0; i < count; i++)
		n += !strncmp(shown[i].line + 10, want, strlen(want));
	return n;
}

static unsigned arrows(const struct spool_image *m, const char *side)
{
	unsigned n = 0;

	for (const char *at = m->text; (at = strstr(at, side)); at++)
		n++;
	return n;
}

/* ---- windows ---- */

/* Slices in each other, and calls that lie anywhere. */
static uint64_t put_slices(struct spool_image *m, uint64_t begin, uint64_t end,
			   unsigned depth)
{
	uint64_t at = begin + below(50);

	while (at + 100 < end && below(8)) {
		uint64_t stop = at + 50 + below((end - at) / 2);
		struct rec_op *op;

		if (stop > end)
			stop = end;
		op = image_op(m, "op", at, stop);
		if (!below(3))
			op->r.kind = REC_ANNOTATION;
		if (depth < 6 && below(2))
			put_slices(m, at + below(3), stop, depth + 1);
		at = stop + below(100);
	}
	return at;
}

static unsigned put_work(struct spool_image *m, uint32_t tid, uint32_t *id, uint64_t *gpu)
{
	uint64_t at = 1000 + below(2000);
	unsigned n = 0;

	while (at < 90000) {
		uint64_t length = below(300), stream = 7 + below(3);
		struct rec_call *c = cuda_call(m, "launch", ++*id, at, at + length);

		c->tid = tid;
		gpu[stream] += below(3) ? 0 : below(400);
		if (gpu[stream] < at || !below(10))
			gpu[stream] = at + below(2000);
		length = below(4) ? below(500) : below(3);
		cuda_kernel(m, "k", *id, (uint32_t)stream, gpu[stream],
			    gpu[stream] + length, 0)
			->g.device = (uint8_t)below(2);
		if (below(20))
			gpu[stream] += length;
		at += 50 + below(600);
		n++;
	}
	return n;
}

START_TEST(every_row_nests)
{
	for (unsigned window = 0; window < 40; window++) {
		struct spool_image *m = cuda_image(1000, 100000, below(200));
		unsigned calls = 0, kernels = 0;
		uint64_t gpu[16] = { 0 };
		uint32_t id = 0;

		for (uint32_t tid = 100; tid < 100 + window % 4; tid++) {
			image_thread(m, tid, tid, "thread");
			put_slices(m, 1000, 95000, 0);
		}
		for (uint32_t tid = 99; tid < 103; tid++)
			calls += put_work(m, tid, &id, gpu);
		m->config.dialect = window % 2;
		image_write(m);
		collect(m);
		check_nesting(window);
		kernels = of("kernel");
		ck_assert_uint_eq(kernels, calls);
		ck_assert_uint_eq(of(window % 2 ? "Runtime" : "cuda_runtime"), calls);
		ck_assert_uint_eq(arrows(m, "{\"ph\":\"s\""), arrows(m, "{\"ph\":\"f\""));
		image_free(m);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("rows");

	tcase_add_test(tc, every_row_nests);
	return unit_run(tc, "writer cuda rows");
}
