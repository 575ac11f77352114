/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client's copy of a record differs in lies where the headers of each release
 * say, in every kind that is looked into.
 */
#include "agent/cupti/client/translate.h"
#include "tests/unit/cupti_bench.h"

static const struct fake_field *fields;
static size_t count;

static void open_headers(int version)
{
	bench_libraries(versions[version]);
	fields = bench.fields(&count);
	ck_assert_uint_gt(count, 300);
}

static bool is(const struct fake_field *f, const char *name)
{
	return !strcmp(f->field, name);
}

static bool is_time(const struct fake_field *f)
{
	static const char *const names[] = { "start",          "end",       "completed",
					     "queued",         "submitted", "timestamp",
					     "deviceTimestamp" };

	for (unsigned i = 0; f->width == 8 && i < sizeof(names) / sizeof(*names); i++)
		if (is(f, names[i]))
			return true;
	return false;
}

static bool has_time(const struct shape *s, uint32_t offset)
{
	for (unsigned i = 0; i < sizeof(s->time); i++)
		if (s->time[i] == offset)
			return true;
	return false;
}

START_TEST(each_field_has_its_place)
{
	open_headers(_i);
	for (size_t i = 0; i < count; i++) {
		const struct fake_field *f = &fields[i];
		const struct shape *s = translate_of(f->kind);
		bool fine = true;

		if (!s) /* OpenACC, counters: handed on as they are */
			continue;
		if (is_time(f))
			fine = has_time(s, f->offset);
		else if (is(f, "correlationId")) /* of overhead the time tells */
			fine = s->correlation ==
			       (f->kind == KIND_OVERHEAD ? 0 : f->offset);
		else if (is(f, "threadId"))
			fine = s->thread == f->offset;
		else if (is(f, "objectKind"))
			fine = s->object == f->offset;
		ck_assert_msg(fine, "%s: %s.%s at %u", versions[_i], f->kind_name,
			      f->field, f->offset);
	}
}
END_TEST

/* Does a field with one of these names lie there? */
static bool named(uint32_t kind, uint32_t offset, bool time, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (fields[i].kind == kind && fields[i].offset == offset &&
		    (time ? is_time(&fields[i]) : is(&fields[i], name)))
			return true;
	return !offset;
}

START_TEST(each_place_has_its_field)
{
	open_headers(VERSIONS - 1);
	for (uint32_t kind = 0; kind < KIND_MOST; kind++) {
		const struct shape *s = translate_of(kind);

		if (!s)
			continue;
		ck_assert_msg(named(kind, s->correlation, false, "correlationId"), "%u",
			      kind);
		ck_assert_msg(named(kind, s->thread, false, "threadId"), "%u", kind);
		ck_assert_msg(named(kind, s->object, false, "objectKind"), "%u", kind);
		for (unsigned i = 0; i < sizeof(s->time); i++)
			ck_assert_msg(named(kind, s->time[i], true, NULL), "%u: %u", kind,
				      s->time[i]);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("shape");

	tcase_add_loop_test(tc, each_field_has_its_place, 0, VERSIONS);
	tcase_add_test(tc, each_place_has_its_field);
	return unit_run(tc, "shapes of records");
}
