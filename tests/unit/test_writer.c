/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/record_inputs.h"
#include "agent/core/spool_view.h"
#include "tests/unit/spool_recover.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static bool has(const struct spool_image *m, const char *text)
{
	return strstr(m->text, text) != NULL;
}

/* A window with one of everything, as the golden file shows it. */
static struct spool_image *one_of_each(void)
{
	struct spool_image *m = image_new(1000, 50000);
	uint8_t *blob;
	struct rec_op *op;
	struct rec_memory *mem;

	strcpy(m->head->facts,
	       "rank = \"3\"\nworld_size = \"8\"\ntorch = {\"torch\": \"\"}\n"
	       "torch = {\"torch\": \"2.13.0\"}\n");
	strcpy(m->head->config, "schedule = active=1\nquiet = off\n");
	strcpy(m->config.metadata, "run = \"7\"\nrun = 8\nrank = me\ntraceEvents = no\n");
	m->config.record_shapes = m->config.profile_memory = 1;
	m->info->cost[COST_OP].ticks = 500;
	m->info->cost[COST_OP].samples = 10;
	m->info->rare_ns = 4000;
	m->info->drops[REC_OP] = 2;
	m->info->whys[DROP_CAP] = 2;
	image_thread(m, 4242, 1, "python3");
	image_step(m, 2, 1000, 40000);
	op = image_op(m, "enumerate(DataLoader)#_Single.__next__", 2000, 3000);
	op->r.kind = REC_ANNOTATION;
	op->scope = 7;
	op = image_record(m, REC_OP, sizeof(*op) + 16,
			  image_name(m, "aten::mm", 8, "out"), 4000, 9000);
	op->seq = 5;
	op->r.flags = OP_INPUTS;
	blob = (uint8_t *)(op + 1);
	memcpy(blob, (uint8_t[]){ IN_TENSOR, 6, 2, 4, 8, 8, 1, IN_TRUE }, 8);
	mem = image_record(m, REC_MEMORY, sizeof(*mem), 0, 5000, 0);
	mem->addr = 4096;
	mem->bytes = -512;
	mem->allocated = 1024;
	mem->device_index = -1;
	mem = image_record(m, REC_OOM, sizeof(*mem), 0, 5500, 0);
	mem->bytes = 1 << 30;
	image_thread(m, 4300, 2, "pt_autograd_0");
	image_op(m, "autograd::engine::evaluate_function: MmBackward0", 10000, 20000);
	op = image_op(m, "MmBackward0", 11000, 19000);
	op->seq = 5;
	op->fwd_thread = 1;
	op->scope = 1;
	return m;
}

static void keep_path(const struct cycle_info *info, uint64_t state, int err,
		      const struct writer_result *r, void *path)
{
	(void)info;
	(void)state;
	(void)err;
	strcpy(path, r->path);
}

START_TEST(the_agent_and_recover_write_the_same_bytes)
{
	static char path[4096];
	struct spool_image *m = one_of_each();
	struct writer_result *r = calloc(1, sizeof(*r));
	struct spool_view v;
	char *first;

	config_print(&m->config, m->head->config, sizeof(m->head->config));
	ck_assert_int_eq(spool_view_init(&v, m->base, IMAGE_SIZE), 0);
	ck_assert_int_eq(writer_cycle(&v, m->info, &m->config, r), 0);
	spool_image_read(m, r->path);
	first = m->text;
	m->text = NULL;
	ck_assert_int_eq(unlink(r->path), 0);
	ck_assert_int_eq(
		image_recover(m, &(struct writer_plan){ .done = keep_path, .arg = path }),
		0);
	ck_assert_str_eq(path, r->path);
	spool_image_read(m, path);
	ck_assert_str_eq(first, m->text);
	free(first);
	free(r);
	image_free(m);
}
END_TEST

START_TEST(a_trace_is_the_golden_one)
{
	struct spool_image *m = one_of_each();

	image_write(m);
	ck_assert_uint_eq(m->result.events[REC_OP], 3);
	ck_assert_uint_eq(m->result.drops[REC_OP], 2);
	ck_assert_uint_eq(m->result.steps, 1);
	image_golden(m, "one_of_each.kineto.json");
	image_free(m);
}
END_TEST

START_TEST(the_other_dialect_is_the_golden_one)
{
	struct spool_image *m = one_of_each();

	m->config.dialect = DIALECT_TB043;
	image_write(m);
	image_golden(m, "one_of_each.tb043.json");
	image_free(m);
}
END_TEST

START_TEST(gzip_holds_the_same_text)
{
	struct spool_image *m = image_new(1000, 100000000);
	char *plain, *back;
	char command[4200];
	FILE *gz;
	size_t len;

	image_thread(m, 7, 1, "main");
	for (unsigned i = 0; i < 10000; i++) /* several members */
		image_op(m, "aten::add", 1000 + i * 100, 1050 + i * 100);
	image_write(m);
	plain = strdup(m->text);
	*strstr(plain, "traceName") = '\0';
	m->config.format = FORMAT_JSON_GZ;
	image_write(m);
	ck_assert_uint_lt(m->result.bytes, strlen(plain) / 5);
	ck_assert_ptr_nonnull(strstr(m->result.path, "123456789.pt.trace.json.gz"));
	back = calloc(1, strlen(plain) + 1000);
	fmt(command, sizeof(command), "gzip -dc '%s'", m->result.path);
	gz = popen(command, "r");
	len = fread(back, 1, strlen(plain) + 900, gz);
	ck_assert_int_eq(pclose(gz), 0);
	ck_assert_uint_gt(len, strlen(plain));
	ck_assert(!memcmp(back, plain, strlen(plain)));
	free(plain);
	free(back);
	image_free(m);
}
END_TEST

START_TEST(dead_threads_share_a_chunk_and_a_row)
{
	struct spool_image *m = image_new(1000, 100000);
	unsigned rows = 0;

	/* Three short lives in one chunk; the first and the last have the same id. */
	image_thread(m, 71, 1, "one");
	image_op(m, "a", 2000, 3000);
	image_thread(m, 72, 2, "two");
	image_op(m, "b", 2500, 3500);
	image_thread(m, 71, 3, "three");
	image_op(m, "c", 4000, 5000);
	image_chunk(m);
	image_thread(m, 72, 2, "two");
	image_op(m, "d", 6000, 7000);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "a", 0).tid, 71);
	ck_assert_uint_eq(image_find(m, "b", 0).tid, 72);
	ck_assert_uint_eq(image_find(m, "c", 0).tid, 71);
	ck_assert_uint_eq(image_find(m, "d", 0).tid, 72);
	for (const char *at = m->text; (at = strstr(at, "\"thread_name\"")); at++)
		rows++;
	ck_assert_uint_eq(rows, 2);
	ck_assert(has(m, "thread 71 (three)"));
	image_free(m);
}
END_TEST

START_TEST(an_empty_cycle_makes_no_file)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_write(m);
	ck_assert_str_eq(m->result.path, "");
	ck_assert_int_ne(access(m->config.logdir, F_OK), 0);
	image_free(m);
}
END_TEST

/* The marks of steps, and: nothing; what was lost; tracks of the heap; an operator. */
START_TEST(steps_alone_make_no_file)
{
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_step(m, 0, 2000, 3000);
	image_step(m, 1, 3000, 4000);
	switch (_i) {
	case 1:
		atomic_store(&m->info->drops[REC_OP], 1);
		break;
	case 2:
		m->config.malloc = MALLOC_ALL;
		image_counters(m, 2500, 4096);
		break;
	case 3:
		image_op(m, "a", 2000, 3000);
		break;
	}
	image_write(m);
	ck_assert_int_eq(!*m->result.path, _i == 0);
	ck_assert_int_eq(access(m->config.logdir, F_OK) != 0, _i == 0);
	ck_assert_uint_eq(m->result.events[REC_STEP], 2);
	image_free(m);
}
END_TEST

START_TEST(another_file_is_never_replaced)
{
	struct spool_image *m = image_new(1000, 100000);
	char first[4096];
	struct stat before, after;

	strcpy(m->head->facts, "file = \"same\"\n");
	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	image_write(m);
	strcpy(first, m->result.path);
	ck_assert_ptr_nonnull(strstr(first, "/log/same.pt.trace.json"));
	/* The same once more: recover after a kill between rename and its note. */
	m->result.path[0] = '\0'; /* it stays for both that follow */
	image_write(m);
	ck_assert_str_eq(m->result.path, first);
	stat(first, &before);
	image_op(m, "b", 4000, 5000);
	m->head->pid++; /* with the same name at the same nanosecond */
	m->result.path[0] = '\0';
	image_write(m);
	ck_assert_ptr_nonnull(
		strstr(m->result.path, "/log/same.1700000000123456789.pt.trace.json"));
	stat(first, &after);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_int_eq(before.st_size, after.st_size);
	image_free(m);
}
END_TEST

START_TEST(a_follower_writes_to_children)
{
	struct spool_image *m = image_new(1000, 100000);

	m->info->flags = CYCLE_CHILD;
	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	image_write(m);
	ck_assert_ptr_nonnull(strstr(m->result.path,
				     "/log/children/node1_4242.1700000000123456789.pt"));
	image_free(m);
}
END_TEST

START_TEST(a_full_disk_leaves_no_part)
{
	struct spool_image *m = image_new(1000, 100000);
	struct rlimit was, small = { 100, RLIM_INFINITY };
	struct spool_view v;
	char part[4096];
	int err;

	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	image_write(m);
	unlink(m->result.path);
	fmt(part, sizeof(part), "%s.part", m->result.path);
	spool_view_init(&v, m->base, IMAGE_SIZE);
	getrlimit(RLIMIT_FSIZE, &was);
	small.rlim_max = was.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	err = writer_cycle(&v, m->info, &m->config, &m->result);
	setrlimit(RLIMIT_FSIZE, &was);
	ck_assert_int_eq(err, -EFBIG);
	ck_assert_int_ne(access(part, F_OK), 0);
	image_free(m);
}
END_TEST

/* Every value in every place of a record and a chunk header: nothing may be read
 * outside the image (run it under AddressSanitizer), and the file must stay valid. */
START_TEST(damaged_records_end_their_chunk)
{
	static const uint64_t values[] = {
		0, 1, 0x7fffffff, 0xffffffff, 1ull << 63, ~0ull
	};
	struct spool_image *m = image_new(1000, 100000);
	uint64_t *word, was;
	size_t words;

	image_thread(m, 7, 1, "main");
	image_op(m, "before", 2000, 3000);
	word = (uint64_t *)image_op(m, "hit", 4000, 5000);
	words = sizeof(struct rec_op) / 8;
	image_op(m, "behind", 6000, 7000);
	for (size_t i = 0; i < words; i++) {
		for (size_t k = 0; k < sizeof(values) / 8; k++) {
			was = word[i];
			word[i] = values[k];
			image_write(m);
			ck_assert_ptr_nonnull(image_event(m, "before", 0));
			unlink(m->result.path);
			word[i] = was;
		}
	}
	for (size_t i = 0; i < sizeof(struct chunk) / 8; i++) {
		word = (uint64_t *)m->data + i;
		for (size_t k = 0; k < sizeof(values) / 8; k++) {
			was = *word;
			*word = values[k];
			image_write(m);
			*word = was;
		}
	}
	image_free(m);
}
END_TEST

static void count_files(const struct cycle_info *info, uint64_t state, int err,
			const struct writer_result *r, void *arg)
{
	(void)info;
	(void)state;
	(void)err;
	*(unsigned *)arg += r->path[0] != '\0';
}

START_TEST(recover_writes_what_is_not_written)
{
	static const struct {
		enum cycle_state state;
		unsigned files;
	} cases[] = { { CYCLE_OPEN, 1 },      { CYCLE_SEALED, 1 }, { CYCLE_WRITTEN, 0 },
		      { CYCLE_DISCARDED, 0 }, { CYCLE_QUIET, 1 },  { CYCLE_BROKEN, 1 },
		      { CYCLE_NONE, 0 } };
	struct spool_image *m = image_new(1000, 100000);

	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	config_print(&m->config, m->head->config, sizeof(m->head->config));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned files = 0;

		m->info->state = cases[i].state;
		ck_assert_int_eq(
			image_recover(m, &(struct writer_plan){ .done = count_files,
								.arg = &files }),
			0);
		ck_assert_uint_eq(files, cases[i].files);
	}
	image_free(m);
}
END_TEST

/* Nothing ends a window in which the process was killed: what began last is in it. */
START_TEST(what_began_last_before_a_kill_is_there)
{
	struct spool_image *m = image_new(1000, 0);

	image_thread(m, 7, 1, "main");
	image_op(m, "a", 2000, 3000);
	image_op(m, "last", 4000, 0);
	image_write(m);
	ck_assert_uint_eq(image_find(m, "last", 0).begin, 4000);
	image_free(m);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("writer");

	tcase_add_test(tc, the_agent_and_recover_write_the_same_bytes);
	tcase_add_test(tc, a_trace_is_the_golden_one);
	tcase_add_test(tc, the_other_dialect_is_the_golden_one);
	tcase_add_test(tc, gzip_holds_the_same_text);
	tcase_add_test(tc, dead_threads_share_a_chunk_and_a_row);
	tcase_add_test(tc, an_empty_cycle_makes_no_file);
	tcase_add_loop_test(tc, steps_alone_make_no_file, 0, 4);
	tcase_add_test(tc, another_file_is_never_replaced);
	tcase_add_test(tc, a_follower_writes_to_children);
	tcase_add_test(tc, a_full_disk_leaves_no_part);
	tcase_add_test(tc, damaged_records_end_their_chunk);
	tcase_add_test(tc, recover_writes_what_is_not_written);
	tcase_add_test(tc, what_began_last_before_a_kill_is_there);
	return unit_run(tc, "writer");
}
