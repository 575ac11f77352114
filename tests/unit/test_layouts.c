/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our tables of CUPTI's records against what the real headers of nine releases say (the
 * compiler computed it: tests/fake/cupti_names.c), and against the real libraries.
 */
#include "agent/cupti/lib/api.h"
#include "tests/fake/fake.h"
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct release {
	const char *name, *library;
	uint32_t number;
	bool answers; /* the real library, without a driver */
} releases[] = {
	{ "11.7", "libcupti.so.11.7", 1107, true },
	{ "11.8", "libcupti.so.11.8", 1108, true },
	{ "12.1", "libcupti.so.12", 1201, true },
	{ "12.4", "libcupti.so.12", 1204, true },
	{ "12.8", "libcupti.so.12", 1208, true },
	{ "13.0", "libcupti.so.13", 1300, true },
	{ "13.1", "libcupti.so.13", 1301, true },
	{ "13.3", "libcupti.so.13", 1303, false },
	{ "13.4", "libcupti.so.13", 1304, false },
};
enum { RELEASES = sizeof(releases) / sizeof(*releases) };

static const uint32_t columns[] = {
#define RELEASE(number, version) number,
#define STRIDES(kind, name, ...)
#define FIELD(kind, field, offset, width)
#include "agent/cupti/lib/layouts.def"
#undef RELEASE
#undef STRIDES
#undef FIELD
};

static const struct {
	uint32_t kind;
	const char *name;
	uint32_t stride[sizeof(columns) / sizeof(*columns)];
} strides[] = {
#define RELEASE(number, version)
#define STRIDES(number, name, ...) { number, #name, { __VA_ARGS__ } },
#define FIELD(kind, field, offset, width)
#include "agent/cupti/lib/layouts.def"
#undef STRIDES
#undef FIELD
};

static const struct {
	const char *kind, *field;
	uint32_t offset, width;
} fields[] = {
#define STRIDES(number, name, ...)
#define FIELD(kind, field, offset, width) { #kind, #field, offset, width },
#include "agent/cupti/lib/layouts.def"
#undef RELEASE
#undef STRIDES
#undef FIELD
};

static unsigned column(const struct release *r)
{
	for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (columns[i] == r->number)
			return i;
	ck_abort_msg("%s is not in the table", r->name);
	return 0;
}

/* The fakes of one release: only their data is asked for. */
struct headers {
	void *library;
	const struct fake_field *field;
	size_t fields;
	const struct fake_constant *constant;
	size_t constants;
};

static struct headers headers(const struct release *r)
{
	struct headers h = { .library = fake_open(r->name, r->library) };
	const struct fake_field *(*all_fields)(size_t *);
	const struct fake_constant *(*all_constants)(size_t *);

	ck_assert_msg(h.library != NULL, "%s: %s", r->name, dlerror());
	*(void **)&all_fields = dlsym(h.library, "fake_fields");
	*(void **)&all_constants = dlsym(h.library, "fake_constants");
	h.field = all_fields(&h.fields);
	h.constant = all_constants(&h.constants);
	ck_assert_uint_gt(h.fields, 300);
	ck_assert_uint_gt(h.constants, 1000);
	return h;
}

static const struct fake_field *find(const struct headers *h, const char *kind,
				     const char *name)
{
	for (size_t i = 0; i < h->fields; i++)
		if (strcmp(h->field[i].kind_name, kind) == 0 &&
		    strcmp(h->field[i].field, name) == 0)
			return &h->field[i];
	return NULL;
}

static uint32_t constant(const struct headers *h, const char *prefix, const char *name,
			 uint32_t otherwise)
{
	char full[128];

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	for (size_t i = 0; i < h->constants; i++)
		if (strcmp(h->constant[i].name, full) == 0)
			return h->constant[i].value;
	return otherwise;
}

static uint32_t stride_of(const char *kind, unsigned c)
{
	for (size_t i = 0; i < sizeof(strides) / sizeof(*strides); i++)
		if (strcmp(strides[i].name, kind) == 0)
			return strides[i].stride[c];
	ck_abort_msg("%s is not in the table", kind);
	return 0;
}

/* ... and where one is not, the record ends before its place: the length tells. */
START_TEST(fields_lie_where_the_headers_say)
{
	const struct release *r = &releases[_i];
	struct headers h = headers(r);
	unsigned c = column(r), seen = 0;

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const struct fake_field *f = find(&h, fields[i].kind, fields[i].field);

		ck_assert_msg((stride_of(fields[i].kind, c) >=
			       fields[i].offset + fields[i].width) == (f != NULL),
			      "%s: %s.%s is there or not", r->name, fields[i].kind,
			      fields[i].field);
		if (!f)
			continue;
		seen++;
		ck_assert_msg(f->offset == fields[i].offset, "%s: %s.%s lies at %u",
			      r->name, fields[i].kind, fields[i].field, f->offset);
		ck_assert_msg(f->width == fields[i].width, "%s: %s.%s has %u bytes",
			      r->name, fields[i].kind, fields[i].field, f->width);
	}
	ck_assert_uint_gt(seen, 100);
}
END_TEST

START_TEST(records_are_as_long_as_the_headers_say)
{
	const struct release *r = &releases[_i];
	struct headers h = headers(r);
	unsigned c = column(r);

	for (size_t i = 0; i < sizeof(strides) / sizeof(*strides); i++) {
		const struct fake_field *f = find(&h, strides[i].name, "kind");
		uint32_t real = f ? f->stride : 0;

		ck_assert_msg(real == strides[i].stride[c],
			      "%s: a record of %s has %u bytes, our table says %u",
			      r->name, strides[i].name, real, strides[i].stride[c]);
		if (f)
			ck_assert_uint_eq(f->kind, strides[i].kind);
	}
}
END_TEST

START_TEST(numbers_are_those_of_the_headers)
{
	const struct release *r = &releases[_i];
	struct headers h = headers(r);

#define IS(name, value)   ck_assert_uint_eq(constant(&h, "CUPTI_", #name, value), value)
#define MUST(name, value) ck_assert_uint_eq(constant(&h, "CUPTI_", #name, ~0u), value)
	for (size_t i = 0; i < sizeof(strides) / sizeof(*strides); i++)
		ck_assert_uint_eq(constant(&h, "CUPTI_ACTIVITY_KIND_", strides[i].name,
					   strides[i].kind),
				  strides[i].kind);
#include "tests/unit/layout_numbers.h"
}
END_TEST

/* The one under test walks: prints its strides, or dies, in a child. */
static void walk(const char *path, FILE *out)
{
	static uint8_t scratch[8192] __attribute__((aligned(64)));
	void *library = dlopen(path, RTLD_NOW);
	int (*next)(uint8_t *, size_t, void **);

	if (!library)
		_exit(1);
	*(void **)&next = dlsym(library, "cuptiActivityGetNextRecord");
	for (uint64_t kind = 1; kind < 64; kind++) {
		void *first = NULL, *second;

		for (size_t at = 0; at < sizeof(scratch); at += 8)
			memcpy(scratch + at, &kind, 8);
		if (next(scratch, sizeof(scratch), &first) != 0)
			continue;
		second = first;
		if (next(scratch, sizeof(scratch), &second) == 0)
			fprintf(out, "%u %td\n", (unsigned)kind,
				(char *)second - (char *)first);
	}
	fflush(out);
	_exit(0);
}

START_TEST(real_libraries_step_as_the_table_says)
{
	const struct release *r = &releases[_i];
	const char *build = getenv("BUILD") ? getenv("BUILD") : "build";
	unsigned c = column(r), kind, stride, got = 0;
	char path[512];
	int ends[2], status;
	pid_t child;
	FILE *in;

	if (!r->answers)
		return; /* 13.3 and later say 999 to everything without a driver */
	snprintf(path, sizeof(path), "%s/cupti/%s/lib/%s", build, r->name, r->library);
	ck_assert_int_eq(pipe(ends), 0);
	child = fork();
	if (child == 0)
		walk(path, fdopen(ends[1], "w"));
	close(ends[1]);
	in = fdopen(ends[0], "r");
	while (fscanf(in, "%u %u", &kind, &stride) == 2)
		for (size_t i = 0; i < sizeof(strides) / sizeof(*strides); i++)
			if (strides[i].kind == kind) {
				got++;
				ck_assert_msg(strides[i].stride[c] == stride,
					      "%s steps over %s by %u", path,
					      strides[i].name, stride);
			}
	fclose(in);
	waitpid(child, &status, 0);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %d",
		      path, status);
	ck_assert_uint_gt(got, 20);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("layouts");

	tcase_add_loop_test(tc, fields_lie_where_the_headers_say, 0, RELEASES);
	tcase_add_loop_test(tc, records_are_as_long_as_the_headers_say, 0, RELEASES);
	tcase_add_loop_test(tc, numbers_are_those_of_the_headers, 0, RELEASES);
	tcase_add_loop_test(tc, real_libraries_step_as_the_table_says, 0, RELEASES);
	return unit_run(tc, "layouts");
}
