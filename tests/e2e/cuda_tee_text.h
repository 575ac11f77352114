/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_tee_text - a record of CUPTI's as a line of text, field by field.
 *
 * Threads  one at a time.
 * Memory   static.
 * Errors   none.
 * Units    times are only "T" (there) or "0".
 */
#ifndef TESTS_CUDA_TEE_TEXT_H
#define TESTS_CUDA_TEE_TEXT_H

#include "tests/fake/fake.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct fake_field *fields;
static size_t n_fields;
static uint64_t (*own_clock)(void); /* that times should be of; NULL = CUPTI's */
static _Atomic uint64_t clock_from; /* no time is before it */
static _Atomic unsigned in_time, out_of_time;
static unsigned long lines;
static uint32_t main_pthread, main_thread;

static void text_start(void)
{
	main_pthread = (uint32_t)pthread_self();
	main_thread = (uint32_t)syscall(SYS_gettid);
	fields = fake_fields(&n_fields);
}

static bool is_time(const char *field)
{
	static const char names[] = " start end completed queued submitted timestamp "
				    "deviceTimestamp ";
	char word[64];

	snprintf(word, sizeof(word), " %.60s ", field);
	return strstr(names, word);
}

static void judge_time(uint64_t t)
{
	if (!own_clock || !t)
		return;
	if (t >= clock_from && t <= own_clock())
		in_time++;
	else
		out_of_time++;
}

static void print_number(const struct fake_field *f, uint64_t value)
{
	const char *dot = strrchr(f->field, '.'), *leaf = dot ? dot + 1 : f->field;

	if (is_time(f->field)) {
		printf(" %s=%s", f->field, value ? "T" : "0");
		judge_time(value);
	} else if (!strcmp(leaf, "processId") && value == (uint64_t)getpid()) {
		printf(" %s=own", f->field);
	} else if (!strcmp(leaf, "threadId") && value == main_pthread) {
		printf(" %s=pthread", f->field);
	} else if (!strcmp(leaf, "threadId") && value == main_thread) {
		printf(" %s=system", f->field);
	} else {
		printf(" %s=%llu", f->field, (unsigned long long)value);
	}
}

static void print_record(const uint8_t *r)
{
	uint32_t kind;

	memcpy(&kind, r, 4);
	lines++;
	printf("%u", kind);
	for (size_t i = 0; i < n_fields; i++) {
		const struct fake_field *f = &fields[i];
		uint64_t value = 0;
		const char *text;

		if (f->kind != kind || f->type == 'b' || f->width > 8)
			continue;
		memcpy(&value, r + f->offset, f->width);
		if (f->type == 'p') {
			memcpy(&text, &value, sizeof(text));
			printf(" %s=%s", f->field, text ? text : "-");
		} else {
			print_number(f, value);
		}
	}
	putchar('\n');
}

#endif
